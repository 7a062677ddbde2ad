package campaign

import (
	"fmt"

	"assay/collect/plan"
)

// RunState says how far a cell got.
type RunState string

// Run states of measurement.md section 7.
const (
	StateComplete    RunState = "complete"         // every planned request was dispatched and ended by itself
	StatePartial     RunState = "partial"          // some were not dispatched, or were cut off
	StateOuter       RunState = "outer_timeout"    // the cell's outer cap was reached
	StateBlocked     RunState = "blocked_by_stop"  // a stop rule blocked it
	StateNotDeadline RunState = "not_run_deadline" // the request cutoff came first
	StateNotRun      RunState = "not_run"          // never started for another reason
)

// StopRule names a rule of measurement.md section 12.
type StopRule string

// The stop rules this version acts on. The others of section 12 are seen in
// the evidence afterwards but do not yet stop dispatch.
const (
	StopEngineFault StopRule = "engine_fault"
	StopDeadline    StopRule = "deadline"
	StopNotDrained  StopRule = "not_drained"
	StopInterrupted StopRule = "interrupted"
)

// Stop is one decision to stop, with its evidence and what it blocks.
type Stop struct {
	Rule   StopRule
	Arm    string
	Cell   string
	Detail string
	Blocks []plan.Cell
	State  RunState // what the blocked cells become
}

// cellFacts is what the stop rules look at when a cell has ended.
type cellFacts struct {
	cell          plan.Cell
	connectFailed int  // requests refused a connection after this arm had answered
	cutoffReached bool // a request was not sent for the cutoff
	outerTimeout  bool // the cell's bound cut requests off
	notDrained    bool // the engine did not become idle in time
	interrupted   bool // the operator stopped the campaign
}

// decideStops applies every rule to one ended cell. rest are the cells not yet
// run. Every rule that fires is returned: nothing is judged by the first.
func decideStops(f cellFacts, rest []plan.Cell) []Stop {
	var stops []Stop
	add := func(rule StopRule, state RunState, blocks []plan.Cell, detail string) {
		stops = append(stops, Stop{Rule: rule, Arm: f.cell.Arm, Cell: f.cell.ID, Detail: detail, Blocks: blocks, State: state})
	}
	if f.connectFailed > 0 {
		add(StopEngineFault, StateBlocked, rest,
			fmt.Sprintf("%d requests were refused a connection after this arm had answered", f.connectFailed))
	}
	if f.cutoffReached {
		add(StopDeadline, StateNotDeadline, rest, "the request cutoff was reached inside the cell")
	}
	if f.outerTimeout {
		// A timeout is never proof of a capacity limit: it blocks nothing.
		add(StopDeadline, StateNotDeadline, nil, "the cell reached its outer timeout; its requests were cut off and kept")
	}
	if f.notDrained {
		add(StopNotDrained, StateBlocked, ofArm(rest, f.cell.Arm),
			fmt.Sprintf("the engine was not idle within %s", drainBound))
	}
	if f.interrupted {
		add(StopInterrupted, StateNotRun, rest, "the operator interrupted the campaign")
	}
	return stops
}

// stopsBetween decides before a cell whether it may start at all; rest begins
// with that cell.
func stopsBetween(c plan.Cell, rest []plan.Cell, interrupted, cutoffReached bool) []Stop {
	switch {
	case interrupted:
		return []Stop{{Rule: StopInterrupted, Arm: c.Arm, Detail: "the operator interrupted the campaign", Blocks: rest, State: StateNotRun}}
	case cutoffReached:
		return []Stop{{Rule: StopDeadline, Arm: c.Arm, Detail: "the request cutoff was reached between two cells", Blocks: rest, State: StateNotDeadline}}
	}
	return nil
}

func ofArm(cells []plan.Cell, arm string) []plan.Cell {
	var out []plan.Cell
	for _, c := range cells {
		if c.Arm == arm {
			out = append(out, c)
		}
	}
	return out
}
