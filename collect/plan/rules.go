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

// View is the database view that judges rules of this scope.
func (s Scope) View() string {
	switch s {
	case ScopeRequest:
		return "request_verdicts"
	case ScopeCell:
		return "cell_verdicts"
	}
	return "pair_comparability"
}

// Rule is one eligibility rule. The SQL that judges it is the view of its scope.
type Rule struct {
	ID      RuleID
	Scope   Scope
	Meaning string   // when it passes
	Inputs  []string // what decides it: TABLE.COLUMN of the database
}

// Rules is every rule there is, in the order in which they are printed.
var Rules = []Rule{
	{RuleCellComplete, ScopeCell, "every planned request was dispatched and is complete",
		[]string{"cells.requests", "request_facts.request_index", "request_facts.dispatched", "request_facts.outcome"}},
	{RuleTerminal, ScopeRequest, "the stream ended with [DONE], over HTTP 200 and an event stream",
		[]string{"request_facts.outcome", "request_facts.http_status", "request_facts.event_stream", "request_facts.done_ns"}},
	{RuleUsageExact, ScopeRequest, "prompt and completion tokens are non-negative integers from usage, not contradictory",
		[]string{"request_facts.prompt_tokens", "request_facts.completion_tokens", "request_facts.usage_fault"}},
	{RuleFinishAllowed, ScopeRequest, "every finish reason is in the allowed set",
		[]string{"request_facts.finish_reasons", "plan_settings.allowed_finish_reasons"}},
	{RuleVisibleOutput, ScopeRequest, "there is at least one non-empty content",
		[]string{"request_facts.content_events"}},
	{RuleCanaryFirst, ScopeRequest, "the first visible text that is not white space is the request's own marker, followed by white space or the end",
		[]string{"cells.request_canaries", "request_facts.canary_state"}},
	{RuleNoForeignMarker, ScopeRequest, "no other marker is anywhere in visible or reasoning text",
		[]string{"request_facts.foreign_markers"}},
	{RuleCaptureComplete, ScopeRequest, "all events are kept and the visible text is complete",
		[]string{"request_facts.events", "request_facts.events_seen", "request_facts.bad_events", "request_facts.tail_bytes", "request_facts.done_ns", "request_facts.outcome"}},
	{RuleControlledExact, ScopeRequest, "controlled cells under the strict policy: after the marker, the asked number of words and nothing else",
		[]string{"cells.response_words", "cells.output_policy", "request_facts.words_observed", "request_facts.words_exact"}},
	{RuleIdentityStable, ScopeCell, "identity and protocol did not drift during the cell",
		[]string{"identities.fact", "identities.phase", "identities.value", "request_facts.http_version", "request_facts.reasoning_field", "stops.rule"}},
	{RuleProtocolEqual, ScopePair, "both cells were measured under the same protocol",
		[]string{
			"cells.max_tokens", "cells.max_model_len", "cells.response_words", "cells.output_policy", "cells.reasoning_effort", "cells.temperature",
			"cells.top_p", "cells.prompt_cache_mode", "cells.request_canaries", "cells.outer_timeout_s", "cells.idle_timeout_s",
			"request_facts.http_version", "request_facts.template_version", "request_facts.prompt_sha256", "request_facts.prompt_tokens",
			"plan_settings.prompt_token_tolerance",
		}},
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
