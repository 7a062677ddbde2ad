package campaign

import (
	"fmt"
	"time"

	"assay/collect/engine"
)

// Thresholds of suspicion. A long prefill also leaves counters still, so a hang
// is only suspected after a minute.
const (
	suspectPages = 10 // consecutive pages that must look alike
	stallAfter   = 2 * time.Second
	hangAfter    = time.Minute
	emptyKV      = 0.01 // usage ratio below which the KV cache counts as empty
)

// engineState is what one metrics page says about the engine's work; nil is not
// stated.
type engineState struct {
	atNs                          int64
	running, waiting              *float64
	kv, generated, promptedTokens *float64
}

func stateOfEngine(atNs int64, page engine.Page) engineState {
	get := func(canonical string) *float64 {
		if v, _, ok := engine.Resolve(page, canonical); ok {
			return &v
		}
		return nil
	}
	return engineState{
		atNs: atNs, running: get("requests_running"), waiting: get("requests_waiting"), kv: get("kv_usage_ratio"),
		generated: get("generation_tokens"), promptedTokens: get("prompt_tokens"),
	}
}

// busySeries names the series that keep an engine from being idle.
func busySeries(page engine.Page) string {
	for _, canonical := range []string{"requests_running", "requests_waiting"} {
		if v, source, ok := engine.Resolve(page, canonical); ok && v > 0 {
			return source
		}
	}
	return ""
}

// suspicion is one thing the pages of a cell look like. It is never proof.
type suspicion struct{ code, detail string }

// suspect looks for a KV admission stall and for a hanging engine in the pages
// of one cell (engines.md section 4.3).
func suspect(states []engineState) []suspicion {
	var found []suspicion
	if n, took := longestRun(states, stalled); n >= suspectPages && took >= stallAfter {
		found = append(found, suspicion{"kv_admission_stall_suspected", fmt.Sprintf(
			"over %d pages in a row requests waited while none ran, the KV cache was empty and no token was made; this proves no limit", n)})
	}
	if n, took := longestRun(states, hanging); n >= suspectPages && took >= hangAfter {
		found = append(found, suspicion{"engine_hang_suspected", fmt.Sprintf(
			"over %d pages in a row requests ran while no token was read or made", n)})
	}
	return found
}

// stalled and hanging judge a page against the one before it.
func stalled(before, now engineState) bool {
	return isZero(now.running) && above(now.waiting) && (now.kv == nil || *now.kv < emptyKV) && still(before, now)
}

func hanging(before, now engineState) bool { return above(now.running) && still(before, now) }

// still says that both token counters are known and did not move.
func still(before, now engineState) bool {
	return same(before.generated, now.generated) && same(before.promptedTokens, now.promptedTokens)
}

func same(a, b *float64) bool { return a != nil && b != nil && *a == *b }
func isZero(v *float64) bool  { return v != nil && *v == 0 }
func above(v *float64) bool   { return v != nil && *v > 0 }

// longestRun is the longest stretch of consecutive pages that all look so.
func longestRun(states []engineState, looks func(before, now engineState) bool) (pages int, took time.Duration) {
	start := 0
	for i := 1; i < len(states); i++ {
		if !looks(states[i-1], states[i]) {
			start = i
			continue
		}
		if n := i - start + 1; n > pages {
			pages, took = n, time.Duration(states[i].atNs-states[start].atNs)
		}
	}
	return pages, took
}
