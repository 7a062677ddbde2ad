package plan

import "slices"

// RuleID names an eligibility rule.
type RuleID string

// The eligibility rules (measurement.md section 6).
const (
	RuleCellComplete    RuleID = "cell_complete"
	RuleTerminal        RuleID = "terminal"
	RuleUsageExact      RuleID = "usage_exact"
	RuleFinishAllowed   RuleID = "finish_allowed"
	RuleVisibleOutput   RuleID = "visible_output"
	RuleCanaryFirst     RuleID = "canary_first"
	RuleNoForeignMarker RuleID = "no_foreign_marker"
	RuleCaptureComplete RuleID = "capture_complete"
	RuleControlledExact RuleID = "controlled_exact"
	RuleIdentityStable  RuleID = "identity_stable"
	RuleProtocolEqual   RuleID = "protocol_equal"
)

// Scope is what a rule is a verdict about.
type Scope string

// Scopes, a closed set.
const (
	ScopeRequest Scope = "request"
	ScopeCell    Scope = "cell"
	ScopePair    Scope = "pair" // two matched cells
)

// Rule is one eligibility rule.
type Rule struct {
	ID      RuleID
	Scope   Scope
	Meaning string // when it passes
}

// Rules is every rule there is, in the order in which they are printed.
var Rules = []Rule{
	{RuleCellComplete, ScopeCell, "every planned request was dispatched and is complete"},
	{RuleTerminal, ScopeRequest, "the stream ended with [DONE], over HTTP 200 and an event stream"},
	{RuleUsageExact, ScopeRequest, "prompt and completion tokens are non-negative integers from usage, not contradictory"},
	{RuleFinishAllowed, ScopeRequest, "every finish reason is in the allowed set"},
	{RuleVisibleOutput, ScopeRequest, "there is at least one non-empty content"},
	{RuleCanaryFirst, ScopeRequest, "the first visible text that is not white space is the request's own marker, followed by white space or the end"},
	{RuleNoForeignMarker, ScopeRequest, "no other marker is anywhere in visible or reasoning text"},
	{RuleCaptureComplete, ScopeRequest, "all events are kept and the visible text is complete"},
	{RuleControlledExact, ScopeRequest, "controlled cells under the strict policy: after the marker, the asked number of words and nothing else"},
	{RuleIdentityStable, ScopeCell, "identity and protocol did not drift during the cell"},
	{RuleProtocolEqual, ScopePair, "both cells were measured under the same protocol"},
}

// Sentences maps each eligibility sentence a plan may state, by exact text, to
// the rules it demands. A sentence that is not here is a plan problem, because
// a rule that nobody evaluates would pass unseen.
var Sentences = map[string][]RuleID{
	"all planned requests completed and terminal":           {RuleCellComplete, RuleTerminal},
	"exact usage counts":                                    {RuleUsageExact},
	"allowed finish reason and visible output":              {RuleFinishAllowed, RuleVisibleOutput},
	"own canary first; no foreign marker; complete capture": {RuleCanaryFirst, RuleNoForeignMarker, RuleCaptureComplete},
	"controlled cells additionally exact repeated output":   {RuleControlledExact},
	"same measurement_protocol in compared arms":            {RuleProtocolEqual},
}

// stopIdentityDrift is the stop that demands RuleIdentityStable.
const stopIdentityDrift = "identity_or_protocol_drift"

// knownStops are the stops of a plan that a stop rule carries out
// (measurement.md section 12).
var knownStops = []string{
	"OOM_engine_death_CUDA_NCCL", "admission_or_KV_refusal", "canary_or_request_loss",
	"capacity_edge", "deadline", stopIdentityDrift,
}

// Rules lists the rules this plan demands, in the order of the variable Rules:
// those of its eligibility sentences, and identity_stable when its stops name
// identity or protocol drift.
func (p *Plan) Rules() []RuleID {
	var demanded []RuleID
	for _, sentence := range p.Eligibility {
		demanded = append(demanded, Sentences[sentence]...)
	}
	if _, ok := p.Stops.Get(stopIdentityDrift); ok {
		demanded = append(demanded, RuleIdentityStable)
	}
	var ordered []RuleID
	for _, r := range Rules {
		if slices.Contains(demanded, r.ID) {
			ordered = append(ordered, r.ID)
		}
	}
	return ordered
}
