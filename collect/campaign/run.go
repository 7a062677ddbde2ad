package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"assay/collect/engine"
	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/sample"
	"assay/collect/stream"
)

// Summary counts what a campaign came to.
type Summary struct {
	Planned, Selected int // cells of the plan, and of them those that were to run
	States            map[RunState]int
	Requests          int64 // planned requests of the selected cells
	Dispatched        int64
	Stops             []Stop
	Interrupted       bool
}

// Complete reports whether every cell of the plan ran to its end.
func (s Summary) Complete() bool { return s.States[StateComplete] == s.Planned }

// run is a campaign under way.
type run struct {
	Options
	digest  string
	kind    string // measured, or simulated when the first arm's engine says so
	anchor  record.Anchor
	clock   record.Clock
	journal *record.Journal
	readers *readers

	selfCheck       []record.SelfCheck
	selfCheckNotRun string // why there is none
}

// Run collects a whole campaign into a new run directory. It returns an error
// only when it could not run or could not store what it saw; a campaign that
// stopped itself is a Summary.
func Run(ctx context.Context, o Options) (summary Summary, err error) {
	o, err = o.withDefaults()
	if err != nil {
		return summary, err
	}
	// Asked twice: a passed cutoff must be found before anything is sent, and a
	// restarted clock starts at the lock.
	if _, err := dispatchClock(o.Plan, o.Now(), o.RestartClock); err != nil {
		return summary, err
	}
	r := &run{Options: o, digest: o.Plan.Digest(), anchor: record.NewAnchor()}
	if err := r.reach(ctx, o.selected()[0], r.anchor); err != nil {
		return summary, err
	}
	r.kind = r.kindOf(ctx, o.selected()[0])
	r.checkSelf(ctx)
	lockedAt := o.Now()
	if r.clock, err = dispatchClock(o.Plan, lockedAt, o.RestartClock); err != nil {
		return summary, err
	}
	if err := r.open(lockedAt); err != nil {
		return summary, err
	}
	r.readers = &readers{gpu: sample.OpenGPU(), host: sample.NewHost("/proc"), cgroup: sample.NewCgroup("/sys/fs/cgroup", "")}
	defer func() { err = errors.Join(err, r.readers.gpu.Close(), r.journal.Close()) }()
	return r.cells(ctx)
}

// reach asks the first arm for its models before anything is written, so that
// a wrong address costs nothing.
func (o Options) reach(ctx context.Context, c plan.Cell, anchor record.Anchor) error {
	client, err := o.client(c)
	if err != nil {
		return err
	}
	answer := client.Ask(ctx, anchor, phaseBefore, "/v1/models")
	if answer.HTTPStatus == nil {
		return fmt.Errorf("%w: arm %s, /v1/models: %s; start its engine, or name another with --base-url %s=URL",
			ErrUnreachable, c.Arm, answer.Error, c.Arm)
	}
	return nil
}

// kindOf asks the arm's engine whether it is a simulated one.
func (r *run) kindOf(ctx context.Context, c plan.Cell) string {
	client, err := r.client(c)
	if err == nil && engine.SimulatedAnswer(client.Ask(ctx, r.anchor, phaseBefore, "/version").Body) {
		return "simulated"
	}
	return "measured"
}

// checkSelf measures the client's own error bar while nothing else runs.
func (r *run) checkSelf(ctx context.Context) {
	if r.SelfCheck == nil {
		r.selfCheckNotRun = "switched off"
		return
	}
	r.Progress.Waiting("the self-check of this host's client")
	var err error
	if r.selfCheck, err = r.SelfCheck(ctx); err != nil {
		r.selfCheckNotRun = err.Error()
		r.Log.Warn("the self-check did not run; run.json says so", "reason", err)
	}
}

// client asks the engine of the cell's arm beside the measured load.
func (o Options) client(c plan.Cell) (*engine.Client, error) {
	client, err := engine.NewClient(engine.ClientOptions{BaseURL: o.baseURL(c), Token: o.Token})
	if err != nil {
		return nil, fmt.Errorf("%w: arm %s: %w", ErrUsage, c.Arm, err)
	}
	return client, nil
}

// open makes the run directory: plan, lock, run.json and journal are on disk
// when it returns.
func (r *run) open(lockedAt time.Time) error {
	if entries, err := os.ReadDir(r.Dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%w: %s is not empty; name a folder that does not exist yet with -o", ErrRunExists, r.Dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is not a folder; name another with -o", ErrRunExists, r.Dir)
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	lockedNs, lockedUnix := r.anchor.At(lockedAt)
	lock, err := plan.NewLock(r.Plan, lockedUnix, r.Version)
	if err != nil {
		return err
	}
	if err := errors.Join(r.put(record.PlanName, r.Plan.Bytes), r.put(record.LockName, lock.Encode())); err != nil {
		return err
	}
	if err := record.WriteRun(r.Dir, r.describe()); err != nil {
		return err
	}
	if r.journal, err = record.OpenJournal(r.Dir); err != nil {
		return err
	}
	return r.journal.Write(record.Entry{Kind: record.EntryLock, UnixNs: lockedUnix, MonoNs: lockedNs, Detail: r.digest})
}

func (r *run) put(name string, content []byte) error {
	return record.WriteFile(filepath.Join(r.Dir, name), func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// describe is run.json. Endpoints are numbered in arm order; addresses and the
// host's name are not kept.
func (r *run) describe() record.Run {
	pages, samples := r.cadence()
	stamps, why := stream.KernelStampsAvailable()
	description := record.Run{
		CampaignID: r.Plan.CampaignID, PlanSHA256: r.digest, Collector: r.Version,
		Kind: r.kind, HostAlias: "host-a", AnchorUnixNs: r.anchor.UnixNs(), Clock: r.clock,
		Arms: []record.RunArm{}, Deviations: r.deviations(),
		Settings: map[string]string{
			"page_every_ns": strconv.FormatInt(int64(pages), 10), "sample_every_ns": strconv.FormatInt(int64(samples), 10),
			"kernel_stamps": strconv.FormatBool(stamps),
		},
		SelfCheck: r.selfCheck, SelfCheckNotRun: r.selfCheckNotRun,
	}
	if !stamps {
		description.Settings["kernel_stamps_reason"] = why
	}
	for i, arm := range r.Plan.Arms() {
		description.Arms = append(description.Arms, record.RunArm{
			Arm: arm, Endpoint: fmt.Sprintf("endpoint-%d", i+1), Loopback: r.loopback(arm),
		})
	}
	return description
}

func (r *run) loopback(arm string) bool {
	for _, c := range r.Plan.Cells {
		if c.Arm == arm {
			e, err := plan.ParseEndpoint(r.baseURL(c))
			return err == nil && e.Loopback()
		}
	}
	return false
}

// cells runs the selected cells in plan order and applies the stop rules
// before and after each.
func (r *run) cells(ctx context.Context) (Summary, error) {
	selected := r.selected()
	summary := Summary{Planned: len(r.Plan.Cells), Selected: len(selected), States: map[RunState]int{}}
	for _, c := range selected {
		summary.Requests += c.Requests
	}
	if err := r.note(record.EntryDispatch, ""); err != nil {
		return summary, err
	}
	blocked := map[string]bool{}
	answered := map[string]*atomic.Bool{}
	for i, c := range selected {
		if blocked[c.ID] {
			continue
		}
		if answered[c.Arm] == nil {
			answered[c.Arm] = &atomic.Bool{}
			r.awaitArm(ctx, c)
		}
		stops := stopsBetween(c, selected[i:], ctx.Err() != nil, r.Now().UnixNano() >= r.clock.CutoffUnixNs)
		if len(stops) == 0 {
			r.Progress.CellStarted(c, i+1, len(selected))
			res, err := r.runAttempt(ctx, c, 1, answered[c.Arm])
			if err != nil {
				return summary, err
			}
			summary.Dispatched += res.dispatched
			summary.States[res.state]++
			r.Progress.CellEnded(c, res.state)
			stops = decideStops(res.facts, selected[i+1:])
		}
		for _, stop := range stops {
			if err := r.enact(stop, blocked, &summary); err != nil {
				return summary, err
			}
		}
	}
	summary.Interrupted = ctx.Err() != nil
	outcome := "incomplete"
	if summary.Complete() {
		outcome = "complete"
	}
	return summary, r.note(record.EntryEnd, outcome)
}

// enact journals a stop with its evidence and what it blocks, before the next
// cell would start.
func (r *run) enact(stop Stop, blocked map[string]bool, s *Summary) error {
	ns, unix := r.anchor.Now()
	entry := record.Entry{Kind: record.EntryStop, UnixNs: unix, MonoNs: ns, Arm: stop.Arm, Cell: stop.Cell, Attempt: 1, Rule: string(stop.Rule), Detail: stop.Detail}
	for _, c := range stop.Blocks {
		if !blocked[c.ID] {
			entry.Blocks = append(entry.Blocks, c.ID)
		}
	}
	if err := r.journal.Write(entry); err != nil {
		return err
	}
	s.Stops = append(s.Stops, stop)
	for _, c := range stop.Blocks {
		if blocked[c.ID] {
			continue
		}
		blocked[c.ID] = true
		s.States[stop.State]++
		if err := r.journal.Write(record.Entry{Kind: record.EntryBlock, UnixNs: unix, MonoNs: ns, Arm: c.Arm, Cell: c.ID, Rule: string(stop.Rule), Outcome: string(stop.State)}); err != nil {
			return err
		}
	}
	return nil
}

// awaitArm waits until an arm's endpoint answers, since the arms may share one
// GPU and be loaded one after the other. It gives up at the request cutoff;
// the cells then record what they met.
func (r *run) awaitArm(ctx context.Context, c plan.Cell) {
	for ctx.Err() == nil && r.Now().UnixNano() < r.clock.CutoffUnixNs {
		if r.reach(ctx, c, r.anchor) == nil {
			return
		}
		r.Progress.Waiting(fmt.Sprintf("arm %s to be loaded: it must serve %s", c.Arm, c.Request.Model))
		pause(ctx, 2*time.Second)
	}
}

func (r *run) note(kind record.EntryKind, outcome string) error {
	ns, unix := r.anchor.Now()
	return r.journal.Write(record.Entry{Kind: kind, UnixNs: unix, MonoNs: ns, Outcome: outcome})
}
