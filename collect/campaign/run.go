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
	"time"

	"assay/collect/engine"
	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/sample"
	"assay/collect/stream"
)

// Summary counts what a campaign came to, over all its processes.
type Summary struct {
	Planned, Selected int // cells of the plan, and of them those that were to run
	States            map[RunState]int
	Requests          int64 // planned requests of the selected cells
	Dispatched        int64 // requests sent by this process
	Stops             []Stop
	Interrupted       bool
	Resumed           bool // an earlier process began the run
	NothingToDo       bool // the run was over already: nothing was sent
	NotRestored       bool // a lifecycle check failed: the host is not as it was
}

// Complete reports whether every cell of the plan ran to its end and the host is
// as it was.
func (s Summary) Complete() bool { return s.States[StateComplete] == s.Planned && !s.NotRestored }

// run is a campaign under way.
type run struct {
	Options
	digest  string
	anchor  record.Anchor
	clock   record.Clock
	journal *record.Journal
	gpu     sample.GPU // nil before the first cell
	host    *sample.Host
	arms    map[string]*armState
	blocked map[string]bool
	summary *Summary

	zero     Reading // the clocks when this process took up the run
	zeroNs   int64   // that moment on the run's clock
	lastLook Reading // when the clocks were last compared

	errorBar   []record.SelfCheck
	noErrorBar string // why there is none
}

// Run collects a whole campaign into a run directory. It returns an error only
// when it could not run or could not store what it saw; a campaign that stopped
// itself is a Summary.
func Run(ctx context.Context, o Options) (summary Summary, err error) {
	o, err = o.withDefaults()
	if err != nil {
		return summary, err
	}
	r := &run{Options: o, digest: o.Plan.Digest(), anchor: record.NewAnchor(), blocked: map[string]bool{}, summary: &summary}
	r.startClock()
	r.count()
	resumes := false
	if o.Resume {
		if resumes, err = begun(o.Dir); err != nil {
			return summary, err
		}
	}
	defer func() {
		if r.gpu != nil {
			err = errors.Join(err, r.gpu.Close())
		}
		if r.journal != nil {
			err = errors.Join(err, r.journal.Close())
		}
	}()
	var h History
	if resumes {
		h, err = r.reopen()
	} else {
		err = r.begin(ctx)
	}
	if err != nil {
		return summary, err
	}
	return summary, r.collect(ctx, h, resumes)
}

// begin checks what can be checked without a trace, then makes the run
// directory.
func (r *run) begin(ctx context.Context) error {
	// Asked twice: a passed cutoff must be found before anything is sent, and a
	// restarted clock starts at the lock.
	if _, err := dispatchClock(r.Plan, r.wall(), r.RestartClock); err != nil {
		return err
	}
	if r.Lifecycle == nil {
		if err := r.reach(ctx, r.selected()[0], r.anchor); err != nil {
			return err
		}
	}
	r.checkSelf(ctx)
	lockedAt := r.wall()
	var err error
	if r.clock, err = dispatchClock(r.Plan, lockedAt, r.RestartClock); err != nil {
		return err
	}
	return r.open(lockedAt)
}

// collect runs what is to be run and restores the host on every way out.
func (r *run) collect(ctx context.Context, h History, resumes bool) (err error) {
	if resumes {
		r.summary.Resumed = true
		if err := r.takeUp(ctx, h); err != nil || r.summary.NothingToDo {
			return err
		}
	}
	r.newArms(h.seen)
	r.gpu, r.host = r.openGPU(), sample.NewHost(r.proc)
	if !h.Started {
		if err := r.note(record.EntryDispatch, ""); err != nil {
			return err
		}
	}
	cellsErr := r.cells(ctx, h)
	restoreErr := r.restore(ctx)
	states, err := r.finalStates()
	r.summary.States, r.summary.Interrupted = states, ctx.Err() != nil
	if err := errors.Join(cellsErr, restoreErr, err); err != nil {
		return err
	}
	outcome := "incomplete"
	if r.summary.Complete() {
		outcome = "complete"
	}
	return r.note(record.EntryEnd, outcome)
}

// takeUp decides what a resumed run still has to do, and refuses what may not go
// on. It sets NothingToDo when there is nothing.
func (r *run) takeUp(ctx context.Context, h History) error {
	todo := filter(r.selected(), h.open)
	owed := h.Owed()
	r.summary.States = h.states(r.Plan)
	r.summary.NothingToDo = len(todo) == 0 && !owed
	if r.summary.NothingToDo {
		return nil
	}
	if owed && r.Lifecycle == nil {
		return fmt.Errorf("%w: this run changed the host and has not restored it; give its --lifecycle FILE and --confirm-lifecycle", ErrUsage)
	}
	if err := r.write(record.Entry{Kind: record.EntryStart, Detail: "resumed"}); err != nil {
		return err
	}
	if r.Clock().UnixNs >= r.clock.CutoffUnixNs {
		// What is owed to the host comes at once; nothing is sent any more.
		err := r.restore(ctx)
		if len(todo) > 0 {
			stops := decideStops(evidence{cell: todo[0], rest: todo, cutoffReached: true})
			err = errors.Join(err, r.enact(stops[0]))
		}
		states, stateErr := r.finalStates()
		r.summary.States = states
		if err := errors.Join(err, stateErr, r.note(record.EntryEnd, "incomplete")); err != nil {
			return err
		}
		return fmt.Errorf("%w: it was %s; the run is kept as it is", ErrCutoffPassed, time.Unix(0, r.clock.CutoffUnixNs).UTC().Format(time.RFC3339))
	}
	return r.sameArms(ctx, todo, h)
}

// sameArms refuses to go on with an arm whose engine is not the one it began
// with. An arm that does not answer yet is waited for later.
func (r *run) sameArms(ctx context.Context, todo []plan.Cell, h History) error {
	asked := map[string]bool{}
	for _, c := range todo {
		known, began := h.seen.identity[c.Arm]
		if asked[c.Arm] || !began {
			continue
		}
		asked[c.Arm] = true
		client, err := r.client(c)
		if err != nil {
			return err
		}
		answers := engine.AskIdentity(func(path string) record.Answer { return client.Ask(ctx, r.anchor, phaseBefore, path) })
		now := readIdentity(answers, client.Scrape(ctx, r.anchor, 0, phaseBefore))
		if changed := compare(known, now, "before"); len(changed.changes) > 0 && r.Lifecycle == nil {
			return fmt.Errorf("%w: %s: %s; run the rest with --arm, or a new campaign", ErrArmChanged, c.Arm, changed.changes[0])
		}
	}
	return nil
}

func (r *run) count() {
	selected := r.selected()
	r.summary.Planned, r.summary.Selected, r.summary.States = len(r.Plan.Cells), len(selected), map[RunState]int{}
	for _, c := range selected {
		r.summary.Requests += c.Requests
	}
}

// finalStates counts the states of all cells as the journal has them.
func (r *run) finalStates() (map[RunState]int, error) {
	entries, _, err := record.ReadJournal(r.Dir)
	return ReadHistory(entries).states(r.Plan), err
}

// startClock takes the clocks of this process's start as its zero.
func (r *run) startClock() {
	r.zero = r.Clock()
	r.lastLook = r.zero
	r.zeroNs, _ = r.anchor.Now()
}

// look reads the clocks; ns is the moment on the run's clock.
func (r *run) look() (now Reading, ns int64) {
	now = r.Clock()
	return now, r.zeroNs + now.MonoNs - r.zero.MonoNs
}

// wall is the wall clock.
func (r *run) wall() time.Time { return time.Unix(0, r.Clock().UnixNs) }

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
	if entries, err := os.ReadDir(r.Dir); err == nil && len(entries) > 0 && !r.Resume {
		return fmt.Errorf("%w: %s is not empty; name a folder that does not exist yet with -o", ErrRunExists, r.Dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is not a folder; name another with -o", ErrRunExists, r.Dir)
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	lock, err := plan.NewLock(r.Plan, lockedAt.UnixNano(), r.Version)
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
	return r.write(record.Entry{Kind: record.EntryLock, Detail: r.digest})
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
		HostAlias: "host-a", AnchorUnixNs: r.anchor.UnixNs(), Clock: r.clock,
		Arms: []record.RunArm{}, Deviations: r.deviations(),
		Settings: map[string]string{
			"page_every_ns": strconv.FormatInt(int64(pages), 10), "sample_every_ns": strconv.FormatInt(int64(samples), 10),
			"kernel_stamps": strconv.FormatBool(stamps), "smoke": strconv.FormatBool(r.Smoke), "lifecycle": strconv.FormatBool(r.Lifecycle != nil),
		},
		SelfCheck: r.errorBar, SelfCheckNotRun: r.noErrorBar,
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

func (r *run) note(kind record.EntryKind, outcome string) error {
	return r.write(record.Entry{Kind: kind, Outcome: outcome})
}

// write adds an entry to the journal with the time of now.
func (r *run) write(e record.Entry) error {
	now, ns := r.look()
	e.UnixNs, e.MonoNs = now.UnixNs, ns
	return r.journal.Write(e)
}
