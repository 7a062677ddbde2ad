package plantedtest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"assay/collect/plan"
	"assay/collect/record"
)

// The request rules of measurement.md section 6, spelled here again.
const (
	ruleTerminal   = "terminal"
	ruleUsage      = "usage_exact"
	ruleFinish     = "finish_allowed"
	ruleVisible    = "visible_output"
	ruleCanary     = "canary_first"
	ruleForeign    = "no_foreign_marker"
	ruleCapture    = "capture_complete"
	ruleControlled = "controlled_exact"
	ruleComplete   = "cell_complete"
	ruleIdentity   = "identity_stable"
)

// RequestRules are the rules that judge single requests, sorted.
var RequestRules = []string{
	ruleCanary, ruleCapture, ruleControlled, ruleFinish, ruleForeign, ruleTerminal, ruleUsage, ruleVisible,
}

// Campaign is one generated campaign.
type Campaign struct {
	Seed int64
	ID   string

	draw      *rand.Rand
	plan      *plan.Plan
	arms      []string
	baseline  string
	cells     []*cell
	sentences []string // eligibility sentences of the plan
	drift     bool     // the plan stops on identity drift, and so demands identity_stable
	allowed   []string // finish reasons; nil leaves the default
	tolerance int64    // of prompt tokens between two arms
	journal   []record.Entry
	clockNs   int64 // where the next attempt starts, run clock
}

// cell is one planned cell and what became of it.
type cell struct {
	arm, id, workload, policy string
	words, concurrency        int64
	requests, context, seed   int64
	outerSeconds, idleSeconds int64
	maxTokens                 int64
	temperature, topP, effort string // as argv spells them; effort "" is not given
	canaries, warmup          bool

	template, httpVersion string
	promptSalt            string // changes the prompt's hash
	tokenShift            int64  // added to the real prompt tokens of shiftedIndex
	shiftedIndex          int64
	field                 string // name of the reasoning field on the wire

	blocked                    string // run state of a block entry; "" without one
	apart, apartReason         string // how it differs from its partner, and the reason that gives
	identityFault, engineFault string // "" for none
	stampMode                  string
	driftNs                    int64 // of the wall clock against the monotonic one
	startsInsideWarmup         bool
	attempts                   []*attempt
}

// attempt is one attempt at a cell.
type attempt struct {
	number  int
	state   string // run state in the journal
	killed  bool   // only the spool is left, and no end in the journal
	startNs int64
	endNs   int64
	// exchanges by index; nil is a request without a row.
	exchanges []*exchange
	engine    engineTruth
	identity  bool // the identity facts of both sides agree
	pages     []record.Page
	answers   []record.Answer
	stopRule  string
}

// exchange is one request: the row and events it leaves, and what is true of it.
type exchange struct {
	row    record.Request
	events []record.Event

	planted    []string
	dispatched bool
	refused    bool // before a stream began
	outcome    string
	faultClass string
	fails      map[string]bool

	ttfo, ttft, lastOutput, e2e *int64 // ns after t0
	prompt, completion          *int64 // as usage states them; nil when it does not
	cacheAssisted, burst        bool
	outputs, readStamped        int64
	lagged                      bool // some event has a sound kernel stamp
	reasoningField              string
}

// counted is the attempt that stands for the cell: the first complete one, else
// the last; nil when there is none.
func (c *cell) counted() *attempt {
	for _, a := range c.attempts {
		if a.runState() == "complete" {
			return a
		}
	}
	if len(c.attempts) == 0 {
		return nil
	}
	return c.attempts[len(c.attempts)-1]
}

// runState is what the attempt counts as: a spool that is left makes it partial.
func (a *attempt) runState() string {
	if a.killed {
		return "partial"
	}
	return a.state
}

func (c *cell) runState() string {
	if a := c.counted(); a != nil {
		return a.runState()
	}
	if c.blocked != "" {
		return c.blocked
	}
	return "not_run"
}

func (c *cell) marker(index int64) string { return markerOf(c.seed, index) }

// markerOf is the canary of measurement.md section 2.
func markerOf(seed, index int64) string { return fmt.Sprintf("ASSAY_REQ_%d_%05d", seed, index) }

func (e *exchange) fail(rules ...string) {
	for _, r := range rules {
		e.fails[r] = true
	}
}

func (c *Campaign) cellsOf(arm string) []*cell {
	return slices.DeleteFunc(slices.Clone(c.cells), func(x *cell) bool { return x.arm != arm })
}

// chance is true with a probability of percent.
func (c *Campaign) chance(percent int) bool { return c.draw.IntN(100) < percent }

func (c *Campaign) between(low, high int64) int64 { return low + c.draw.Int64N(high-low+1) }

func pick[T any](c *Campaign, list []T) T { return list[c.draw.IntN(len(list))] }
