package campaign

import (
	"context"

	"assay/collect/plan"
	"assay/collect/record"
)

// cells runs the selected cells that are open, in plan order, and applies the
// stop rules before and after each.
func (r *run) cells(ctx context.Context, h History) error {
	selected := r.selected()
	for i, c := range selected {
		if r.blocked[c.ID] || !h.open(c) {
			continue
		}
		rest := func(from int) []plan.Cell {
			return filter(selected[from:], func(c plan.Cell) bool { return !r.blocked[c.ID] && h.open(c) })
		}
		stops, err := r.enter(ctx, c, rest(i))
		if err != nil {
			return err
		}
		if len(stops) > 0 {
			continue
		}
		r.Progress.CellStarted(c, i+1, len(selected))
		attempt, stops, err := r.runAttempt(ctx, c, r.nextAttempt(c, h), rest(i+1))
		r.summary.Dispatched += attempt.dispatched
		if err != nil {
			return err
		}
		r.Progress.CellEnded(c, attempt.state)
		if err := r.estimate(); err != nil {
			return err
		}
	}
	return nil
}

// enter decides before a cell whether it may start at all, and makes its arm
// ready before the arm's first cell. The stops it returns are enacted.
func (r *run) enter(ctx context.Context, c plan.Cell, rest []plan.Cell) ([]Stop, error) {
	between := func(e evidence) ([]Stop, error) {
		e.cell, e.rest = c, rest
		e.interrupted = ctx.Err() != nil
		e.cutoffReached = !e.interrupted && r.Clock().UnixNs >= r.clock.CutoffUnixNs
		stops := decideStops(e)
		for _, s := range stops {
			if err := r.enact(s); err != nil {
				return stops, err
			}
		}
		return stops, nil
	}
	stops, err := between(evidence{})
	arm := r.arms[c.Arm]
	if err != nil || len(stops) > 0 || arm.entered {
		return stops, err
	}
	arm.entered = true
	if err := r.load(ctx, c); err != nil {
		return nil, err
	}
	r.awaitArm(ctx, c)
	if stops, err := between(evidence{}); err != nil || len(stops) > 0 || !r.Smoke {
		return stops, err
	}
	failed, err := r.smoke(ctx, c)
	if err != nil {
		return nil, err
	}
	stops, err = between(evidence{smoke: failed})
	if r.StopsBlockNothing {
		stops = filterStops(stops, func(s Stop) bool { return s.Rule != StopSmokeFailed })
	}
	return stops, err
}

func filterStops(stops []Stop, keep func(Stop) bool) (out []Stop) {
	for _, s := range stops {
		if keep(s) {
			out = append(out, s)
		}
	}
	return out
}

// outcomeObserved marks a stop that was journalled and blocks nothing.
const outcomeObserved = "observed"

// enact journals a stop with its evidence and what it blocks, before the next
// cell would start.
func (r *run) enact(stop Stop) error {
	entry := record.Entry{Kind: record.EntryStop, Arm: stop.Arm, Cell: stop.Cell, Attempt: stop.Attempt, Rule: string(stop.Rule), Detail: stop.Detail}
	if r.StopsBlockNothing && stop.Rule != StopDeadline && stop.Rule != StopInterrupted {
		stop.Blocks, entry.Outcome = nil, outcomeObserved
	}
	blocks := filter(stop.Blocks, func(c plan.Cell) bool { return !r.blocked[c.ID] })
	for _, c := range blocks {
		entry.Blocks = append(entry.Blocks, c.ID)
	}
	if err := r.write(entry); err != nil {
		return err
	}
	r.summary.Stops = append(r.summary.Stops, stop)
	r.Log.Warn("stop", "rule", stop.Rule, "arm", stop.Arm, "cell", stop.Cell, "evidence", stop.Detail, "blocks", len(blocks))
	for _, c := range blocks {
		r.blocked[c.ID] = true
		if err := r.write(record.Entry{Kind: record.EntryBlock, Arm: c.Arm, Cell: c.ID, Rule: string(stop.Rule), Outcome: string(stop.State)}); err != nil {
			return err
		}
	}
	return nil
}

// estimate tells the operator what the finished cells say about the others.
func (r *run) estimate() error {
	entries, _, err := record.ReadJournal(r.Dir)
	if err != nil {
		return err
	}
	r.Progress.Estimated(ReadHistory(entries).Estimate(r.Plan, r.Clock().UnixNs, r.clock.CutoffUnixNs))
	return nil
}
