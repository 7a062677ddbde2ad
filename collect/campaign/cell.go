package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/stream"
)

// errStorage is the cause with which a cell is cancelled when its spool can no
// longer be written.
var errStorage = errors.New("the run directory cannot be written; what is in it stays: make room and go on with --resume")

// attempt is one run of a cell, under way.
type attempt struct {
	*run
	cell   plan.Cell
	number int
	arm    *armState
	rest   []plan.Cell // cells not yet run

	out        *writer
	monitor    *monitor
	loop       *loop
	answers    []answer    // owned by the writer's goroutine until it is closed
	gone       atomic.Bool // an answer or the driver has named a dead engine or GPU
	dispatched int64
	state      RunState
}

// runAttempt runs one cell once and leaves its folder complete: Parquet files
// when it ended in any orderly way, the spool when it could not be converted.
// What the stop rules decide is in the journal before the attempt's end is, so
// that a kill between the two loses no decision.
func (r *run) runAttempt(ctx context.Context, c plan.Cell, number int, rest []plan.Cell) (*attempt, []Stop, error) {
	a := &attempt{run: r, cell: c, number: number, arm: r.arms[c.Arm], rest: rest}
	if err := r.noteClock(); err != nil {
		return a, nil, err
	}
	client, err := r.client(c)
	if err != nil {
		return a, nil, err
	}
	folder := filepath.Join(r.Dir, record.AttemptFolder(c.Arm, c.ID, number))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return a, nil, fmt.Errorf("make attempt folder: %w", err)
	}
	spool, err := record.CreateSpool(filepath.Join(folder, record.SpoolName))
	if err != nil {
		return a, nil, err
	}
	start, startNs := r.look()
	if err := r.write(record.Entry{Kind: record.EntryAttemptStart, Arm: c.Arm, Cell: c.ID, Attempt: number}); err != nil {
		return a, nil, errors.Join(err, spool.Close())
	}
	cellCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.out = startWriter(spool, func(error) { cancel(errStorage) }, a.judge)
	a.monitor = &monitor{
		client: client, readers: r.readersOf(c.Arm), anchor: r.anchor, out: a.out, progress: r.Progress, drainBound: r.DrainBound, countBound: countBound,
		answers: map[string][]record.Answer{}, inode: map[string]int64{}, onLost: func() { a.gone.Store(true) },
	}
	e, before, after, loopErr := a.measure(cellCtx)
	if err := a.out.close(); err != nil {
		return a, nil, fmt.Errorf("cell %s: %w: %w", c.ID, errStorage, err)
	}
	e.answers = a.answers
	stops := decideStops(e)
	for _, answer := range a.answers {
		a.arm.protocol.learn(answer)
	}
	for _, stop := range stops {
		if err := r.enact(stop); err != nil {
			return a, stops, err
		}
	}
	end, endNs := r.look()
	entry := record.Entry{
		Kind: record.EntryAttemptEnd, Arm: c.Arm, Cell: c.ID, Attempt: number, Outcome: string(a.state), Facts: a.arm.protocol.facts(),
		Figures: map[string]int64{
			"planned": c.Requests, "dispatched": a.dispatched,
			"start_ns": startNs, "end_ns": endNs, "start_unix_ns": start.UnixNs, "end_unix_ns": end.UnixNs,
			"drain_before_ns": int64(before.took), "drain_after_ns": int64(after.took),
			"drain_verified": bit(before.verified && after.verified),
			"clock_drift_ns": (end.UnixNs - start.UnixNs) - (endNs - startNs),
		},
	}
	if err := errors.Join(loopErr, r.write(entry)); err != nil {
		return a, stops, err
	}
	if _, err := record.Convert(folder, map[string]string{"assay.plan_sha256": r.digest}); err != nil {
		return a, stops, fmt.Errorf("cell %s: %w: %w", c.ID, errStorage, err)
	}
	// The conversion leaves tens of MiB of garbage, some of it in pools, which give
	// up at the second collection. Between two cells nothing is measured, so it is
	// collected now and not while the next one is.
	runtime.GC()
	debug.FreeOSMemory()
	return a, stops, nil
}

// judge runs in the writer's goroutine with each stored request.
func (a *attempt) judge(row record.Request, events []record.Event) {
	a.answers = append(a.answers, readAnswer(row, events, a.cell.Request.RequestCanaries))
}

// measure is the order of one attempt: idle engine, readings, requests under
// watch, idle engine, readings.
func (a *attempt) measure(ctx context.Context) (e evidence, before, after drain, err error) {
	m, r := a.monitor, a.run
	pages, samples := r.cadence()
	before = m.settle(ctx, phaseBefore, pages)
	m.noteCounted()
	m.snapshot(ctx, phaseBefore)
	a.fingerprint(ctx)
	known := a.learnIdentity(phaseBefore)

	now, _ := r.look()
	boundCtx, endBound := context.WithTimeoutCause(ctx, cellBound(a.cell, r.Plan, r.clock, time.Unix(0, now.UnixNs)), stream.ErrOuterTimeout)
	defer endBound()
	loopCtx, cut := context.WithCancelCause(boundCtx)
	defer cut(nil)
	a.loop = &loop{
		cell: a.cell, url: completionsURL(r.baseURL(a.cell)), token: r.Token, anchor: r.anchor, cutoff: r.clock.CutoffUnixNs,
		now: func() int64 { return r.Clock().UnixNs }, out: a.out, progress: r.Progress, answered: &a.arm.answered, gone: &a.gone,
	}
	switch {
	case len(known.changes) > 0:
		err = a.loop.refuseAll(string(StopIdentityDrift))
	case !before.idle:
		err = a.loop.refuseAll(string(StopNotDrained))
	default:
		watchCtx, stopWatch := context.WithCancel(context.WithoutCancel(ctx))
		var watch sync.WaitGroup
		watch.Go(func() { m.watch(watchCtx, pages, samples) })
		watch.Go(func() { a.watchClock(watchCtx, now, cut) })
		err = a.loop.run(loopCtx)
		stopWatch()
		watch.Wait()
	}

	// After an interrupt the engine is still read: what it says now is evidence.
	afterCtx, cancelAfter := context.WithTimeout(context.WithoutCancel(ctx), m.drainBound+10*time.Second)
	defer cancelAfter()
	after = m.settle(afterCtx, phaseAfter, pages)
	m.awaitCounted(afterCtx, a.loop.served.Load(), pages)
	m.snapshot(afterCtx, phaseAfter)
	a.readLog(phaseAfter)
	for _, s := range suspect(m.states) {
		m.problem(s.code, "pages", s.detail)
	}
	drifted := known
	if len(known.changes) == 0 {
		drifted = a.learnIdentity(phaseAfter)
	}
	return a.evidence(ctx, loopCtx, before, after, drifted), before, after, err
}

// evidence gathers what the rules look at; the answers are added when the
// writer has stored the last one.
func (a *attempt) evidence(ctx, loopCtx context.Context, before, after drain, identity drift) evidence {
	l := a.loop
	a.dispatched = l.dispatched.Load()
	stuck := before.stuck
	if stuck == "" {
		stuck = after.stuck
	}
	e := evidence{
		cell: a.cell, attempt: a.number, rest: a.rest, scrapes: a.monitor.scrapes,
		connectFailed: int(l.connectFailed.Load()), deaths: a.monitor.deaths(), cutoffReached: l.cutoffHit.Load(),
		outerTimeout: errors.Is(context.Cause(loopCtx), stream.ErrOuterTimeout) && l.cutOff.Load() > 0,
		notDrained:   !before.idle && ctx.Err() == nil || !after.idle, stuck: stuck,
		interrupted: errors.Is(context.Cause(ctx), stream.ErrInterrupted),
		identity:    identity, protocol: a.arm.protocol,
	}
	e.deaths = append(e.deaths, a.containerDeaths()...)
	a.state = stateOf(e, a.dispatched, a.dispatched == a.cell.Requests && l.cutOff.Load() == 0)
	return e
}

// learnIdentity compares what the engine says now with what the arm began as.
func (a *attempt) learnIdentity(phase string) drift {
	now := a.monitor.identity(phase)
	now.merge(a.containerFacts())
	now[factPlanDigest] = a.planOnDisk()
	changed := compare(a.arm.identity, now, phase)
	a.arm.identity.merge(now)
	if len(changed.changes) == 0 && !a.arm.noted {
		a.arm.noted = a.write(record.Entry{Kind: record.EntryIdentity, Arm: a.cell.Arm, Cell: a.cell.ID, Attempt: a.number, Facts: a.arm.identity}) == nil
	}
	return changed
}

// planOnDisk is the digest of the run's plan as it now is on disk, "missing"
// when it cannot be read.
func (r *run) planOnDisk() string {
	p, _, err := plan.Load(filepath.Join(r.Dir, record.PlanName))
	if err != nil || p == nil {
		return "missing"
	}
	return p.Digest()
}

// watchClock compares the clocks while a cell runs, and ends its requests when
// the wall clock reaches the time reserved for restoration: timers stand still
// in a suspended host, the wall clock does not.
func (a *attempt) watchClock(ctx context.Context, last Reading, cut context.CancelCauseFunc) {
	for {
		over := ctx.Err() != nil // the last look comes after the last request
		now := a.Clock()
		for _, p := range changeOf(last, now).problems() {
			a.monitor.problem(p[0], "clock", p[1])
		}
		last = now
		if now.UnixNs >= inFlightUntil(a.Plan, a.clock) {
			cut(stream.ErrOuterTimeout)
		}
		if over {
			a.lastLook = last
			return
		}
		pause(ctx, clockEvery)
	}
}

// noteClock journals what the clocks did since the last look, between cells.
func (r *run) noteClock() error {
	now := r.Clock()
	for _, p := range changeOf(r.lastLook, now).problems() {
		if err := r.write(record.Entry{Kind: record.EntryClock, Rule: p[0], Detail: p[1]}); err != nil {
			return err
		}
	}
	r.lastLook = now
	return nil
}

// refuseAll stores every request of the cell as not sent.
func (l *loop) refuseAll(reason string) error {
	for index := range l.cell.Requests {
		p, err := prepare(l.cell, index)
		if err != nil {
			return err
		}
		l.store(withheld(p, reason), nil)
	}
	return nil
}

// stateOf is the run state of an attempt that is over.
func stateOf(e evidence, dispatched int64, allEnded bool) RunState {
	switch {
	case allEnded:
		return StateComplete
	case e.outerTimeout:
		return StateOuter
	case dispatched > 0:
		return StatePartial
	case e.cutoffReached:
		return StateNotDeadline
	case e.notDrained || len(e.identity.changes) > 0:
		return StateBlocked
	}
	return StatePartial
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
