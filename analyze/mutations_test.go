package analyze

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// mutation is one way in which the candidate of a pair can be made to differ.
type mutation struct {
	name string
	// blocks is the start of a reason why the pair may then not be compared; empty
	// when it may.
	blocks string
	// withholds is the metric that is then not compared; empty for none.
	withholds string
	apply     func(f *fixture, index, n int)
}

// mutations are every kind of difference of measurement.md section 8.
func mutations() []mutation {
	at := func(column string, value any) func(*fixture, int, int) {
		return func(f *fixture, index, n int) { f.lastRequest(n - 1 - index)[column] = value }
	}
	everywhere := func(column string, value any) func(*fixture, int, int) {
		return func(f *fixture, _, n int) {
			for back := range n {
				f.lastRequest(back)[column] = value
			}
		}
	}
	control := func(column string, value any) mutation {
		return mutation{"control " + column, "control differs: " + column, "", func(f *fixture, _, _ int) { f.lastCell()[column] = value }}
	}
	return []mutation{
		control("max_tokens", 8192), control("max_model_len", 1), control("response_words", 3), control("output_policy", "strict"),
		control("reasoning_effort", "low"), control("temperature", "0.7"), control("top_p", nil), control("prompt_cache_mode", "shared"),
		control("request_canaries", false), control("outer_timeout_s", 1001), control("idle_timeout_s", 901),
		{"prompt tokens", "prompt_tokens differs at index", "", at("prompt_tokens", 8133)},
		{"prompt tokens by one", "prompt_tokens differs at index", "", at("prompt_tokens", 7999)},
		{"prompt hash", "prompt differs at index", "", at("prompt_sha256", "other")},
		{"template version", "template_version differs at index", "", at("template_version", "t2")},
		{"HTTP version of one", "http_version differs at index", "", at("http_version", "HTTP/1.0")},
		{"HTTP version", "http_version differs at index 0", "", everywhere("http_version", "HTTP/2.0")},
		{"no marker", "candidate ineligible", "", at("canary_state", "absent")},
		{"timeout", "candidate ineligible", "", at("outcome", "idle_timeout")},
		{"no usage", "prompt_tokens differs at index", "", at("prompt_tokens", nil)},
		{"never sent", "candidate ineligible", "", at("dispatched", false)},
		{"cut by its timeout", "candidate ineligible (outer_timeout)", "", func(f *fixture, _, _ int) {
			f.lastAttempt()["run_state"] = "outer_timeout"
			f.lastRequest(0)["outcome"] = "outer_timeout"
		}},

		{"warm cache", "", "effective_prefill_tok_s", at("cached_tokens", 4000)},
		{"read stamps", "", "gap_p50_ns", everywhere("output_read_stamped", 11)},
		{"reasoning field", "", "", everywhere("reasoning_field", "reasoning_content")},
		{"spelling of a control", "", "", func(f *fixture, _, _ int) { f.lastCell()["temperature"] = "0.60" }},
		{"other times", "", "", at("ttfo_ns", 1_500_000)},
		{"longer answer", "", "", at("completion_tokens", 12)},
	}
}

// TestPairIsComparedWhenAndOnlyWhenAllElseAgrees draws any set of differences at
// any index of any number of requests. A pair is compared exactly when none of
// them blocks it, every block has its reason, and a metric is withheld exactly
// when one of them spoils it.
func TestPairIsComparedWhenAndOnlyWhenAllElseAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 22))
	all := mutations()
	f := newFixture(t)
	drawn := map[string][]mutation{}
	for i := range 220 {
		name, n := fmt.Sprint("p", i), 1+random.IntN(5)
		var chosen []mutation
		switch {
		case i < len(all): // each alone
			chosen = all[i : i+1]
		default:
			for range random.IntN(4) {
				chosen = append(chosen, all[random.IntN(len(all))])
			}
		}
		drawn[name] = chosen
		f.pairOf(name, n, func(f *fixture) {
			for _, m := range chosen {
				m.apply(f, random.IntN(n), n)
			}
		})
	}
	db := f.load()
	pairs := keyed(t, db, "SELECT substr(baseline_cell, 10), pair, comparable, reasons FROM pair_comparability")
	metrics := map[string]map[string]string{} // by pair and metric: the note
	for _, line := range query(t, db, "SELECT pair, metric, coalesce(ratio_p50::VARCHAR, 'none'), note FROM comparisons") {
		if metrics[line[0]] == nil {
			metrics[line[0]] = map[string]string{}
		}
		metrics[line[0]][line[1]] = line[2] + " " + line[3]
	}
	compared := 0
	for name, chosen := range drawn {
		checkDrawn(t, name, chosen, pairs[name], metrics[pairs[name][0]])
		if pairs[name][1] == "true" {
			compared++
		}
	}
	if compared < 30 || compared > 190 {
		t.Errorf("%d of %d pairs compared: the draw tries too little of one side", compared, len(drawn))
	}
}

// checkDrawn holds one pair to the differences it was given. A later difference
// may undo an earlier one of the same column, so names are only asked for when
// the column is touched once.
func checkDrawn(t *testing.T, name string, chosen []mutation, pair []string, metrics map[string]string) {
	t.Helper()
	names, blocked := []string{}, false
	withheld := []string{}
	for _, m := range chosen {
		names = append(names, m.name)
		blocked = blocked || m.blocks != ""
		withheld = append(withheld, m.withholds)
	}
	reasons := list(t, pair[2])
	if (pair[1] == "true") == blocked || (pair[1] == "true") != (len(reasons) == 0) {
		t.Errorf("%s with %q: comparable %s, reasons %q", name, names, pair[1], reasons)
	}
	for _, m := range chosen {
		found := slices.ContainsFunc(reasons, func(r string) bool { return strings.HasPrefix(r, m.blocks) })
		if m.blocks != "" && !found && len(chosen) == 1 {
			t.Errorf("%s with %q: no reason %q in %q", name, m.name, m.blocks, reasons)
		}
	}
	if blocked {
		if len(metrics) > 0 {
			t.Errorf("%s with %q: ratios although not comparable", name, names)
		}
		return
	}
	if len(metrics) != 10 {
		t.Errorf("%s with %q: %d metrics compared, want 10", name, names, len(metrics))
	}
	for metric, text := range metrics {
		spoiled := slices.Contains(withheld, metric)
		if spoiled != strings.HasPrefix(text, "none ") || spoiled != strings.Contains(text, "withheld: ") {
			t.Errorf("%s with %q: %s is %q, spoiled %v", name, names, metric, text, spoiled)
		}
	}
}
