package campaign

import (
	"slices"

	"assay/collect/plan"
	"assay/collect/record"
)

// CellHistory is what the journal says about one cell.
type CellHistory struct {
	Attempts int      // number of the last attempt, 0 without one
	Running  bool     // that attempt has no end in the journal
	State    RunState // of the last attempt that ended, or what a stop made of the cell; "" while nothing is known
	Rule     StopRule // the rule that blocks it, "" for none
	TookNs   int64    // duration of the last attempt that ended
	Resumes  bool     // it ended only because the collector was interrupted or killed: --resume runs it again
}

// History folds a journal: the last word about a cell counts.
type History struct {
	Cells   map[string]CellHistory
	Stops   []record.Entry
	Ended   bool // the collector ended in order, and nothing came after
	Started bool // the dispatch clock has been started
	seen    history
}

// history is what a resumed campaign has to know of the arms.
type history struct {
	identity map[string]identity
	protocol map[string]protocol
	// over names the arms on which nothing more may be sent, all under "".
	over     map[string]StopRule
	restored bool              // every restoration begun is over and passed
	begun    bool              // the lifecycle has changed the host
	start    map[string]string // what the original service was before
}

// endsArm and endsAll are the rules after which an arm, or everything, is over,
// for a resumed campaign too. A cutoff is judged by the clock again.
var (
	endsAll = []StopRule{StopEngineFault}
	endsArm = []StopRule{StopIdentityDrift, StopProtocolDrift, StopNotDrained, StopSmokeFailed}
)

// ReadHistory folds the entries of a journal in their order.
func ReadHistory(entries []record.Entry) History {
	h := History{Cells: map[string]CellHistory{}, seen: history{
		identity: map[string]identity{}, protocol: map[string]protocol{}, over: map[string]StopRule{},
	}}
	interruptedIn := map[string]int{} // cell to attempt
	for _, e := range entries {
		c := h.Cells[e.Cell]
		h.Ended = false
		switch e.Kind {
		case record.EntryDispatch:
			h.Started = true
		case record.EntryAttemptStart:
			c = CellHistory{Attempts: max(c.Attempts, e.Attempt), Running: true}
		case record.EntryAttemptEnd:
			c.Attempts, c.Running, c.State, c.Rule = max(c.Attempts, e.Attempt), false, RunState(e.Outcome), ""
			c.TookNs = e.Figures["end_ns"] - e.Figures["start_ns"]
			c.Resumes = c.State == StatePartial && (interruptedIn[e.Cell] == e.Attempt || e.Figures["recovered"] == 1)
			if _, known := h.seen.protocol[e.Arm]; !known && len(e.Facts) > 0 {
				h.seen.protocol[e.Arm] = protocolOf(e.Facts)
			}
		case record.EntryBlock:
			if c.Attempts == 0 {
				c.State, c.Rule = RunState(e.Outcome), StopRule(e.Rule)
				c.Resumes = c.Rule == StopInterrupted
			}
		case record.EntryStop:
			h.stop(e, interruptedIn)
		case record.EntryIdentity:
			if _, known := h.seen.identity[e.Arm]; !known {
				h.seen.identity[e.Arm] = identity(e.Facts)
			}
		case record.EntryRestoreBegin:
			if !h.seen.begun || h.seen.restored {
				h.seen.start = e.Facts
			}
			h.seen.begun, h.seen.restored = true, false
		case record.EntryRestoreEnd:
			h.seen.restored = e.Outcome == outcomeRestored
		case record.EntryEnd:
			h.Ended = true
		}
		if e.Cell != "" {
			h.Cells[e.Cell] = c
		}
	}
	return h
}

func (h *History) stop(e record.Entry, interruptedIn map[string]int) {
	h.Stops = append(h.Stops, e)
	rule := StopRule(e.Rule)
	switch {
	case rule == StopInterrupted:
		interruptedIn[e.Cell] = e.Attempt
	case e.Outcome == outcomeObserved:
	case slices.Contains(endsAll, rule):
		h.seen.over[""] = rule
	case slices.Contains(endsArm, rule):
		h.seen.over[e.Arm] = rule
	}
}

// over is the rule that ended the arm or everything, "" for none.
func (h history) overFor(arm string) StopRule {
	if rule, ok := h.over[""]; ok {
		return rule
	}
	return h.over[arm]
}

// open says whether a cell is still to be run: never run, or cut off by an
// interrupt or a kill, on an arm that is not over.
func (h History) open(c plan.Cell) bool {
	seen := h.Cells[c.ID]
	if h.seen.overFor(c.Arm) != "" {
		return false
	}
	return seen.Running || seen.State == "" || seen.Resumes
}

// Todo lists the cells that --resume would run, in plan order.
func (h History) Todo(p *plan.Plan) []plan.Cell { return filter(p.Cells, h.open) }

// Owed says whether the lifecycle changed the host and has not restored it.
func (h History) Owed() bool { return h.seen.begun && !h.seen.restored }

// states counts the cells of a plan by state.
func (h History) states(p *plan.Plan) map[RunState]int {
	count := map[RunState]int{}
	for _, c := range p.Cells {
		if s := h.Cells[c.ID].State; s != "" {
			count[s]++
		}
	}
	return count
}
