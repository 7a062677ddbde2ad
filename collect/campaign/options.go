package campaign

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"time"

	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/sample"
)

// Cadence of measurement.md section 11 and bounds of draining.
const (
	DefaultPageEvery   = 500 * time.Millisecond // engine pages
	DefaultSampleEvery = 2 * time.Second        // GPU, cgroup and host
	drainBound         = 120 * time.Second      // longest wait until an engine is idle
	blindDrainWait     = 5 * time.Second        // wait where the engine does not say whether it is idle
	countBound         = 2 * time.Second        // wait until an idle engine has counted its last requests
)

// Errors a caller branches on.
var (
	// ErrCutoffPassed: the plan's absolute request cutoff lies in the past.
	ErrCutoffPassed = errors.New("the plan's request cutoff has passed")
	// ErrRunExists: the run directory is there already.
	ErrRunExists = errors.New("the run directory exists")
	// ErrUsage: the options do not fit the plan.
	ErrUsage = errors.New("wrong option")
	// ErrUnreachable: the first arm's endpoint does not answer.
	ErrUnreachable = errors.New("the endpoint does not answer")
	// ErrWrongModel: the first arm's endpoint serves another model than the plan.
	ErrWrongModel = errors.New("the endpoint serves another model")
	// ErrPlanChanged: the run to resume was begun with another plan.
	ErrPlanChanged = errors.New("the run was begun with another plan")
	// ErrArmChanged: the engine of an arm to resume is not the one it began with.
	ErrArmChanged = errors.New("the arm is not the one the run began with")
)

// Options say what to run and where.
type Options struct {
	Plan     *plan.Plan
	Dir      string            // run directory, made by Run
	BaseURLs map[string]string // by arm; the plan's own where absent
	Token    string            // bearer token, "" for none
	Version  string            // of the collector, for lock and run.json

	OnlyArm  string // run the cells of this arm only; "" for all
	CellGlob string // run the cells whose id matches; "" for all

	RestartClock bool          // dispatch now, beside the frozen clock; a run that is resumed keeps its clock
	SampleEvery  time.Duration // replaces both cadences; 0 keeps the plan's

	// SelfCheck measures this host's client error bar before the lock; nil leaves
	// it out. When it fails the campaign goes on, and run.json holds the reason.
	SelfCheck func(context.Context) ([]record.SelfCheck, error)

	// Resume goes on with the run in Dir: it recovers what a kill left behind,
	// keeps finished cells, and runs an unfinished one again as a new attempt. A
	// folder in which nothing was begun is collected from the start.
	Resume bool
	// Smoke asks each arm for one plain answer, one JSON answer and one tool call
	// before its first cell.
	Smoke bool
	// StopsBlockNothing journals what the stop rules decide about cells and blocks
	// none of them, for tests of single faults. Cutoff and interrupt still end
	// dispatch. It is recorded as a deviation.
	StopsBlockNothing bool
	// Containers name the container of an arm's engine, asked for over the Docker
	// Engine API socket; an arm without one is "not visible".
	Containers   map[string]string
	DockerSocket string // "" for DefaultDockerSocket
	// EngineLogs name the file an arm's engine writes its log to. Lines that say
	// what it can hold, or how it works, are kept; no others are.
	EngineLogs map[string]string
	// Lifecycle loads and restores engines; nil waits until an operator has.
	Lifecycle Lifecycle

	// DrainBound is the longest wait until an engine is idle; 0 is the 120 s of
	// measurement.md section 11.
	DrainBound time.Duration
	// GPU reads the GPUs; nil opens the driver of this host. It is closed when the
	// run ends.
	GPU sample.GPU

	proc       string // mount point of procfs, "" for /proc; for tests
	cgroupBase string // stands before the mount points of control groups; for tests

	Progress Progress
	Log      *slog.Logger
	Now      func() time.Time // wall clock; nil is time.Now
	Clock    func() Reading   // all clocks in one look; nil reads the system's, with Now as the wall clock
}

// Progress hears what happens while a campaign runs. Its methods are called
// from several goroutines and must not block.
type Progress interface {
	// CellStarted: the cell is number position (from 1) of total.
	CellStarted(c plan.Cell, position, total int)
	// RequestEnded: one request of the cell is over, however it ended.
	RequestEnded(c plan.Cell, ended record.Request)
	// CellEnded: the cell is over in that run state.
	CellEnded(c plan.Cell, state RunState)
	// Estimated: what the finished cells say about the others.
	Estimated(e Estimate)
	// Waiting: the campaign waits for what text says.
	Waiting(text string)
}

func (o Options) withDefaults() (Options, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Clock == nil {
		o.Clock = clockOf(o.Now)
	}
	if o.DrainBound == 0 {
		o.DrainBound = drainBound
	}
	if o.proc == "" {
		o.proc = "/proc"
	}
	if o.DockerSocket == "" {
		o.DockerSocket = DefaultDockerSocket
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = silent{}
	}
	if _, err := path.Match(o.CellGlob, ""); err != nil {
		return o, fmt.Errorf("%w: --cells %q is not a pattern: %w", ErrUsage, o.CellGlob, err)
	}
	if len(o.selected()) == 0 {
		return o, fmt.Errorf("%w: no cell of the plan matches --arm %q --cells %q; `assay plan show` lists them", ErrUsage, o.OnlyArm, o.CellGlob)
	}
	for flag, byArm := range map[string]map[string]string{"--base-url": o.BaseURLs, "--docker": o.Containers, "--engine-log": o.EngineLogs} {
		for arm := range byArm {
			if !slices.Contains(o.Plan.Arms(), arm) {
				return o, fmt.Errorf("%w: %s names arm %q, which the plan does not have", ErrUsage, flag, arm)
			}
		}
	}
	return o, nil
}

// openGPU is what reads the GPUs.
func (o Options) openGPU() sample.GPU {
	if o.GPU != nil {
		return o.GPU
	}
	return sample.OpenGPU()
}

// selected lists the cells to run, in plan order.
func (o Options) selected() []plan.Cell {
	var cells []plan.Cell
	for _, c := range o.Plan.Cells {
		match, _ := path.Match(o.CellGlob, c.ID) // checked by withDefaults
		if (o.OnlyArm == "" || o.OnlyArm == c.Arm) && (o.CellGlob == "" || match) {
			cells = append(cells, c)
		}
	}
	return cells
}

// baseURL is where the arm's requests go.
func (o Options) baseURL(c plan.Cell) string {
	if url, ok := o.BaseURLs[c.Arm]; ok {
		return url
	}
	return c.Request.BaseURL
}

// cadence returns the intervals of engine pages and of the other samples.
func (o Options) cadence() (pages, samples time.Duration) {
	if o.SampleEvery > 0 {
		return o.SampleEvery, o.SampleEvery
	}
	return DefaultPageEvery, DefaultSampleEvery
}

// deviations lists what is set otherwise than the plan says.
func (o Options) deviations() []string {
	list := []string{}
	if o.RestartClock {
		list = append(list, "--restart-clock: the dispatch clock starts at the lock, not at the plan's time")
	}
	if o.SampleEvery > 0 {
		list = append(list, fmt.Sprintf("--sample-every %s: replaces 0.5 s for engine pages and 2 s for GPU, cgroup and host", o.SampleEvery))
	}
	if len(o.BaseURLs) > 0 {
		list = append(list, "--base-url: endpoints replace those of the plan")
	}
	if o.OnlyArm != "" {
		list = append(list, "--arm "+o.OnlyArm+": the cells of other arms were not run")
	}
	if o.StopsBlockNothing {
		list = append(list, "stop rules block nothing: their decisions are journalled only")
	}
	if o.CellGlob != "" {
		list = append(list, "--cells "+o.CellGlob+": other cells were not run")
	}
	return list
}

type silent struct{}

func (silent) CellStarted(plan.Cell, int, int)        {}
func (silent) RequestEnded(plan.Cell, record.Request) {}
func (silent) CellEnded(plan.Cell, RunState)          {}
func (silent) Estimated(Estimate)                     {}
func (silent) Waiting(string)                         {}
