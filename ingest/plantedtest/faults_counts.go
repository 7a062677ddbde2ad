package plantedtest

import (
	"fmt"
	"slices"
)

var usageFails = []string{ruleUsage}

// usageFaults are about the token counts. The last usage counts; a count is a
// JSON integer that is not negative.
var usageFaults = []fault{
	{"usage_absent", nil, func(_ *Campaign, _ *cell, a *answer) { a.usage = usage{absent: true} }, usageFails},
	{"usage_null", nil, func(_ *Campaign, _ *cell, a *answer) { a.usage = usage{null: true} }, usageFails},
	{"usage_half", nil, func(_ *Campaign, _ *cell, a *answer) { a.usage.completion = "" }, usageFails},
	{"usage_fraction", nil, func(_ *Campaign, _ *cell, a *answer) { a.usage.prompt = "10.5" }, usageFails},
	{"usage_text", nil, func(_ *Campaign, _ *cell, a *answer) { a.usage.completion = `"12"` }, usageFails},
	{"usage_negative", nil, func(_ *Campaign, _ *cell, a *answer) { a.usage.completion = "-1" }, usageFails},
	{"usage_falling", nil, func(_ *Campaign, _ *cell, a *answer) { a.usage.earlier = "100000" }, usageFails},
	{"usage_below_outputs", nil, func(_ *Campaign, _ *cell, a *answer) {
		outputs := len(a.reasoning) + len(a.visible)
		a.usage = usage{prompt: a.usage.prompt, completion: fmt.Sprint(outputs - 1), running: true}
	}, usageFails},
	{"usage_reasoning_over", nil, func(_ *Campaign, _ *cell, a *answer) { a.usage.completion, a.usage.reasoning = "12", "13" }, usageFails},

	{"usage_running", nil, func(_ *Campaign, _ *cell, a *answer) {
		a.usage = usage{prompt: a.usage.prompt, completion: "200", running: true, runningFrom: 1}
	}, nil},
	{"usage_rising", nil, func(_ *Campaign, _ *cell, a *answer) { a.usage.earlier, a.usage.reasoning = "3", "3" }, nil},
	{"usage_once_below_outputs", nil, func(_ *Campaign, _ *cell, a *answer) { a.usage.completion, a.usage.reasoning = "1", "1" }, nil},
	{"usage_reasoning_all", nil, func(_ *Campaign, _ *cell, a *answer) { a.usage.completion, a.usage.reasoning = "12", "12" }, nil},
	{"warm_cache", nil, func(_ *Campaign, x *cell, a *answer) { a.usage.cached = fmt.Sprint(x.promptTokens(a.index)/100 + 1) }, nil},
	{"cache_at_one_percent", nil, func(_ *Campaign, x *cell, a *answer) { a.usage.cached = fmt.Sprint(x.promptTokens(a.index) / 100) }, nil},
	{"cache_cold", nil, func(_ *Campaign, _ *cell, a *answer) { a.usage.cached = "0" }, nil},
}

// finishes are finish reasons as JSON, one chunk each.
var finishes = []struct {
	name    string
	reasons []string
}{
	{"finish_length", []string{`"length"`}},
	{"finish_abort", []string{`"abort"`}},
	{"finish_null", []string{"null"}},
	{"finish_none", nil},
	{"finish_empty", []string{`""`}},
	{"finish_other", []string{`"repetition"`}},
	{"finish_stop_then_length", []string{`"stop"`, `"length"`}},
	{"finish_stop_twice", []string{`"stop"`, `"stop"`}},
}

// finishAllowed is measurement.md section 6: there is a reason, every one is in
// the set of the plan, and abort is in no set.
func (c *Campaign) finishAllowed(reasons []string) bool {
	allowed := c.allowed
	if allowed == nil {
		allowed = []string{"stop"}
	}
	seen := 0
	for _, r := range reasons {
		if r == "null" || r == `""` {
			continue
		}
		seen++
		if r == `"abort"` || !slices.Contains(allowed, r[1:len(r)-1]) {
			return false
		}
	}
	return seen > 0
}
