package campaign

import (
	"time"

	"assay/collect/plan"
)

// Estimate is what finished cells say about those to come. It is arithmetic
// over one value a cell, and says nothing before the first cell has ended.
type Estimate struct {
	Left      int           // cells not yet run
	Known     int           // of these, the ones that could be estimated
	Took      time.Duration // estimated time of those
	Unreached []string      // cells that would start at or after the cutoff, at this pace
}

// EstimateRest estimates the cells of a plan that are still open, in plan
// order, from nowUnixNs on. took gives the duration of finished cells, ns. A
// cell takes its rounds (requests over concurrency) times the time of one round
// of the most alike finished cell: same workload and context, else same
// workload with the time scaled by the context.
func EstimateRest(p *plan.Plan, took map[string]int64, open []plan.Cell, nowUnixNs, cutoffUnixNs int64) Estimate {
	e := Estimate{Left: len(open)}
	at := nowUnixNs
	for _, c := range open {
		if e.Known > 0 && at >= cutoffUnixNs {
			e.Unreached = append(e.Unreached, c.ID)
		}
		round, ok := roundOf(p, took, c)
		if !ok {
			continue
		}
		ns := int64(round * float64(rounds(c)))
		e.Known++
		e.Took += time.Duration(ns)
		at += ns
	}
	return e
}

func rounds(c plan.Cell) int64 {
	n := max(c.Concurrency, 1)
	return max((c.Requests+n-1)/n, 1)
}

// roundOf is the time of one round of a cell, ns, from the most alike finished
// one; the same arm comes first.
func roundOf(p *plan.Plan, took map[string]int64, c plan.Cell) (ns float64, ok bool) {
	best := 0
	for _, other := range p.Cells {
		t, ended := took[other.ID]
		if !ended || t <= 0 {
			continue
		}
		likeness := 1
		if other.Workload == c.Workload {
			likeness += 4
		}
		if other.PlannedContextTokens == c.PlannedContextTokens {
			likeness += 2
		}
		if other.Arm == c.Arm {
			likeness++
		}
		if likeness <= best {
			continue
		}
		best, ok = likeness, true
		ns = float64(t) / float64(rounds(other))
		if a, b := c.PlannedContextTokens, other.PlannedContextTokens; a > 0 && b > 0 {
			ns *= float64(a) / float64(b)
		}
	}
	return ns, ok
}

// took is the duration of every cell that ended, ns.
func (h History) took() map[string]int64 {
	list := map[string]int64{}
	for id, c := range h.Cells {
		if c.TookNs > 0 && c.State == StateComplete {
			list[id] = c.TookNs
		}
	}
	return list
}

// Estimate estimates what is left of a plan at a moment of the wall clock.
func (h History) Estimate(p *plan.Plan, nowUnixNs, cutoffUnixNs int64) Estimate {
	return EstimateRest(p, h.took(), h.Todo(p), nowUnixNs, cutoffUnixNs)
}
