package campaign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/collect/engine"
	"assay/collect/plan"
	"assay/collect/stream"
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

// The stop rules of measurement.md section 12.
const (
	StopEngineFault     StopRule = "engine_fault"
	StopCapacityRefusal StopRule = "capacity_refusal"
	StopCanaryOrLoss    StopRule = "canary_or_loss"
	StopDeadline        StopRule = "deadline"
	StopIdentityDrift   StopRule = "identity_drift"
	StopProtocolDrift   StopRule = "protocol_drift"
	StopNotDrained      StopRule = "not_drained"
	StopSmokeFailed     StopRule = "smoke_failed"
	StopInterrupted     StopRule = "interrupted"
)

// Stop is one decision to stop, with its evidence and what it blocks.
type Stop struct {
	Rule    StopRule
	Arm     string
	Cell    string // "" between two cells
	Attempt int    // 0 between two cells
	Detail  string // the evidence in one sentence, without private data
	Blocks  []plan.Cell
	State   RunState // what the blocked cells become
}

// evidence is what the rules look at when a cell has ended, or before one
// starts. rest are the cells not yet run.
type evidence struct {
	cell    plan.Cell
	attempt int
	rest    []plan.Cell

	answers       []answer
	scrapes       []span // whole metrics pages of the attempt
	connectFailed int    // requests refused a connection after this arm had answered
	deaths        []string
	cutoffReached bool   // a request was not sent for the cutoff
	outerTimeout  bool   // the cell's bound cut requests off
	notDrained    bool   // the engine did not become idle in time
	stuck         string // the series that stayed above 0, "" when none can be named
	interrupted   bool   // the operator stopped the campaign

	identity drift    // of the arm, over or before this cell
	protocol protocol // of the arm's earlier cells
	smoke    string   // why the plain answer of the smoke check failed, "" when it did not
}

// span is one stretch of time on the run's clock, in ns.
type span struct{ start, end int64 }

// proofWindow is how near an engine scrape must be to a refusal to be kept as
// proof beside it (measurement.md section 12).
const proofWindow = 5 * time.Second

// capacityRefusals are the explicit refusals that can prove a limit.
var capacityRefusals = []string{engine.RefusedContext, engine.RefusedKVPool, engine.RefusedQueueFull}

// stopRules is section 12 as a table: each rule takes the evidence and returns
// the decisions it comes to, none when it does not fire. A rule that ends
// everything stands first, so that its state is the one blocked cells get.
var stopRules = []struct {
	rule   StopRule
	decide func(evidence) []Stop
}{
	{StopEngineFault, engineFault},
	{StopInterrupted, interrupted},
	{StopDeadline, deadlines},
	{StopIdentityDrift, identityDrift},
	{StopProtocolDrift, protocolDrift},
	{StopNotDrained, notDrained},
	{StopSmokeFailed, smokeFailed},
	{StopCapacityRefusal, capacityRefusal},
	{StopCanaryOrLoss, canaryOrLoss},
}

// decideStops applies every rule. All that fire are returned: nothing is judged
// by the first.
func decideStops(e evidence) []Stop {
	var stops []Stop
	for _, r := range stopRules {
		for _, s := range r.decide(e) {
			s.Rule, s.Arm, s.Cell, s.Attempt = r.rule, e.cell.Arm, e.cell.ID, e.attempt
			if e.attempt == 0 {
				s.Cell = ""
			}
			stops = append(stops, s)
		}
	}
	return stops
}

func engineFault(e evidence) []Stop {
	var found []string
	if e.connectFailed > 0 {
		found = append(found, fmt.Sprintf("%d requests were refused a connection after this arm had answered", e.connectFailed))
	}
	for _, a := range e.answers {
		if a.fault != "" {
			found = append(found, fmt.Sprintf("request %d was answered with an error of class %s (%s)", a.index, a.fault, a.pattern))
		}
	}
	found = append(found, e.deaths...)
	return stopWhen(len(found) > 0, StateBlocked, e.rest, firstOf(found))
}

// capacityRefusal blocks the proven supersets of each refused request's cell:
// context or concurrency strictly larger, neither smaller, on the same arm. At
// the capacity edge that makes C1 block C2 and C4, and C2 block C4.
func capacityRefusal(e evidence) []Stop {
	var stops []Stop
	seen := map[string]bool{}
	for _, a := range e.answers {
		if !slices.Contains(capacityRefusals, a.refusal) || seen[a.refusal] || !proven(a, e.scrapes) {
			continue
		}
		seen[a.refusal] = true
		proof := "an engine scrape within 5 s is kept beside it"
		if len(e.scrapes) == 0 {
			proof = "the engine has no metrics page, and a refused context needs none"
		}
		blocks := filter(e.rest, func(c plan.Cell) bool { return c.Arm == e.cell.Arm && superset(c, e.cell) })
		stops = append(stops, Stop{State: StateBlocked, Blocks: blocks,
			Detail: fmt.Sprintf("request %d was explicitly refused with %s (%s); %s", a.index, a.refusal, a.pattern, proof)})
	}
	return stops
}

// proven says whether a refusal has an engine scrape near it. An engine without
// /metrics can prove only class context.
func proven(a answer, scrapes []span) bool {
	if len(scrapes) == 0 {
		return a.refusal == engine.RefusedContext
	}
	return slices.ContainsFunc(scrapes, func(s span) bool {
		return s.end >= a.atNs-int64(proofWindow) && s.start <= a.atNs+int64(proofWindow)
	})
}

// superset says whether a needs strictly more than b in context or concurrency
// and less in neither.
func superset(a, b plan.Cell) bool {
	more := a.PlannedContextTokens > b.PlannedContextTokens || a.Concurrency > b.Concurrency
	return more && a.PlannedContextTokens >= b.PlannedContextTokens && a.Concurrency >= b.Concurrency
}

// canaryOrLoss blocks strictly higher concurrency on the arm, at any context.
func canaryOrLoss(e evidence) []Stop {
	var canary, lost []string
	for _, a := range e.answers {
		switch {
		case a.foreign != "":
			canary = append(canary, fmt.Sprintf("request %d carries the marker of another request", a.index))
		case a.wrongFirst:
			canary = append(canary, fmt.Sprintf("request %d does not begin with its own marker", a.index))
		case a.lost():
			lost = append(lost, fmt.Sprintf("request %d has no terminal stream (%s)", a.index, a.lossKind()))
		}
	}
	higher := filter(e.rest, func(c plan.Cell) bool { return c.Arm == e.cell.Arm && c.Concurrency > e.cell.Concurrency })
	return slices.Concat(
		stopWhen(len(canary) > 0, StateBlocked, higher, firstOf(canary)),
		stopWhen(len(lost) > 0, StateBlocked, higher, firstOf(lost)),
	)
}

// lossKind says how a request was lost.
func (a answer) lossKind() string {
	switch {
	case a.refusal != "":
		return a.refusal
	case a.fault != "":
		return a.fault
	case a.end == string(stream.EndDone):
		return "error in the stream"
	}
	return a.end
}

func deadlines(e evidence) []Stop {
	where := "inside the cell"
	if e.attempt == 0 {
		where = "between two cells"
	}
	return slices.Concat(
		stopWhen(e.cutoffReached, StateNotDeadline, e.rest, "the request cutoff was reached "+where),
		// A timeout is never proof of a capacity limit: it blocks no superset.
		stopWhen(e.outerTimeout, StateNotDeadline, nil, "the cell reached its outer timeout; its requests were cut off and kept"),
	)
}

func identityDrift(e evidence) []Stop {
	return stopWhen(len(e.identity.changes) > 0, StateBlocked, ofArm(e.rest, e.cell.Arm), strings.Join(e.identity.changes, "; "))
}

func protocolDrift(e evidence) []Stop {
	known := e.protocol
	var changes []string
	for _, a := range e.answers {
		changes = append(changes, known.learn(a)...)
	}
	return stopWhen(len(changes) > 0, StateBlocked, ofArm(e.rest, e.cell.Arm), firstOf(changes))
}

func notDrained(e evidence) []Stop {
	detail := "the engine did not become idle within the bound"
	if e.stuck != "" {
		detail += "; " + e.stuck + " stayed above 0"
	}
	return stopWhen(e.notDrained, StateBlocked, ofArm(e.rest, e.cell.Arm), detail)
}

func smokeFailed(e evidence) []Stop {
	return stopWhen(e.smoke != "", StateBlocked, ofArm(e.rest, e.cell.Arm), "the plain answer of the smoke check failed: "+e.smoke)
}

func interrupted(e evidence) []Stop {
	return stopWhen(e.interrupted, StateNotRun, e.rest, "the operator interrupted the campaign")
}

func stopWhen(fires bool, state RunState, blocks []plan.Cell, detail string) []Stop {
	if !fires {
		return nil
	}
	return []Stop{{State: state, Blocks: blocks, Detail: detail}}
}

// firstOf is the first of a list and how many more there are.
func firstOf(list []string) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return list[0]
	}
	return fmt.Sprintf("%s; %d more of this rule", list[0], len(list)-1)
}

func ofArm(cells []plan.Cell, arm string) []plan.Cell {
	return filter(cells, func(c plan.Cell) bool { return c.Arm == arm })
}

func filter(cells []plan.Cell, keep func(plan.Cell) bool) []plan.Cell {
	var out []plan.Cell
	for _, c := range cells {
		if keep(c) {
			out = append(out, c)
		}
	}
	return out
}
