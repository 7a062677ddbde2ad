package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
var errStorage = errors.New("the run directory cannot be written; what is in it stays, make room and collect into a new folder")

// attemptResult is what one attempt at a cell came to.
type attemptResult struct {
	state      RunState
	facts      cellFacts
	dispatched int64
}

// runAttempt runs one cell once and leaves its folder complete: Parquet files
// when it ended in any orderly way, the spool when it could not be converted.
func (r *run) runAttempt(ctx context.Context, c plan.Cell, attempt int, answered *atomic.Bool) (res attemptResult, err error) {
	client, err := r.client(c)
	if err != nil {
		return res, err
	}
	folder := filepath.Join(r.Dir, record.AttemptFolder(c.Arm, c.ID, attempt))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return res, fmt.Errorf("make attempt folder: %w", err)
	}
	spool, err := record.CreateSpool(filepath.Join(folder, record.SpoolName))
	if err != nil {
		return res, err
	}
	startNs, startUnix := r.anchor.Now()
	if err := r.journal.Write(record.Entry{Kind: record.EntryAttemptStart, UnixNs: startUnix, MonoNs: startNs, Arm: c.Arm, Cell: c.ID, Attempt: attempt}); err != nil {
		return res, errors.Join(err, spool.Close())
	}

	cellCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := startWriter(spool, func(error) { cancel(errStorage) })
	m := &monitor{
		client: client, readers: r.readers,
		anchor: r.anchor, out: out, progress: r.Progress,
	}
	before, after, loopErr := r.measure(cellCtx, c, m, answered, &res)
	if err := out.close(); err != nil {
		return res, fmt.Errorf("cell %s: %w: %w", c.ID, errStorage, err)
	}
	if _, err := record.Convert(folder, map[string]string{"assay.plan_sha256": r.digest}); err != nil {
		return res, fmt.Errorf("cell %s: %w", c.ID, err)
	}
	endNs, endUnix := r.anchor.Now()
	return res, errors.Join(loopErr, r.journal.Write(record.Entry{
		Kind: record.EntryAttemptEnd, UnixNs: endUnix, MonoNs: endNs,
		Arm: c.Arm, Cell: c.ID, Attempt: attempt, Outcome: string(res.state),
		Figures: map[string]int64{
			"planned": c.Requests, "dispatched": res.dispatched,
			"start_ns": startNs, "end_ns": endNs, "start_unix_ns": startUnix, "end_unix_ns": endUnix,
			"drain_before_ns": int64(before.took), "drain_after_ns": int64(after.took),
			"drain_verified": flag(before.verified && after.verified),
			"clock_drift_ns": (endUnix - startUnix) - (endNs - startNs),
		},
	}))
}

// measure is the order of one attempt: idle engine, readings, requests under
// watch, idle engine, readings.
func (r *run) measure(ctx context.Context, c plan.Cell, m *monitor, answered *atomic.Bool, res *attemptResult) (before, after drain, err error) {
	pages, samples := r.cadence()
	before = m.settle(ctx, phaseBefore, pages)
	m.snapshot(ctx, phaseBefore)

	bound := cellBound(c, r.Plan, r.clock, r.Now())
	boundCtx, cancel := context.WithTimeoutCause(ctx, bound, stream.ErrOuterTimeout)
	defer cancel()
	l := &loop{
		cell: c, url: completionsURL(r.baseURL(c)), token: r.Token, anchor: r.anchor,
		cutoff: r.clock.CutoffUnixNs, now: r.Now, out: m.out, progress: r.Progress, answered: answered,
	}
	if before.idle {
		watchCtx, stopWatch := context.WithCancel(context.WithoutCancel(ctx))
		var watch sync.WaitGroup
		watch.Go(func() { m.watch(watchCtx, pages, samples) })
		err = l.run(boundCtx)
		stopWatch()
		watch.Wait()
	} else {
		err = l.refuseAll("not_drained")
	}

	// After an interrupt the engine is still read: what it says now is evidence.
	afterCtx, cancelAfter := context.WithTimeout(context.WithoutCancel(ctx), drainBound+10*time.Second)
	defer cancelAfter()
	after = m.settle(afterCtx, phaseAfter, pages)
	m.snapshot(afterCtx, phaseAfter)

	res.dispatched = l.dispatched.Load()
	res.facts = cellFacts{
		cell: c, connectFailed: int(l.connectFailed.Load()), cutoffReached: l.cutoffHit.Load(),
		outerTimeout: errors.Is(context.Cause(boundCtx), stream.ErrOuterTimeout) && l.cutOff.Load() > 0,
		notDrained:   !before.idle && ctx.Err() == nil || !after.idle,
		interrupted:  errors.Is(context.Cause(ctx), stream.ErrInterrupted),
	}
	res.state = stateOf(res.facts, res.dispatched == c.Requests && l.cutOff.Load() == 0)
	return before, after, err
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

func stateOf(f cellFacts, allEnded bool) RunState {
	switch {
	case allEnded:
		return StateComplete
	case f.outerTimeout:
		return StateOuter
	}
	return StatePartial
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
