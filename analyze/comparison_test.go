package analyze

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pairOf adds a matched cell of both arms with n equal requests.
func (f *fixture) pairOf(name string, n int, change func(f *fixture)) {
	seed := len(f.rows["cells"])
	for _, arm := range []string{"baseline", "candidate"} {
		f.cell(arm, arm+" "+name, row{"requests": n, "seed": seed})
		for i := range n {
			f.request(arm, arm+" "+name, i)
		}
	}
	if change != nil {
		change(f)
	}
}

// lastRequest is the request added last; back counts from it towards the first.
func (f *fixture) lastRequest(back int) row {
	all := f.rows["request_facts"]
	return all[len(all)-1-back]
}

func TestPairComparability(t *testing.T) {
	control := func(name string, value any) func(*fixture) {
		return func(f *fixture) { f.lastCell()[name] = value }
	}
	request := func(back int, name string, value any) func(*fixture) {
		return func(f *fixture) { f.lastRequest(back)[name] = value }
	}
	tests := []struct {
		name    string
		change  func(*fixture)
		reasons []string
	}{
		{"equal", nil, []string{}},
		{"max tokens", control("max_tokens", 8192), []string{"control differs: max_tokens"}},
		{"max tokens not sent", control("max_tokens", nil), []string{"control differs: max_tokens"}},
		{"model length", control("max_model_len", 1), []string{"control differs: max_model_len"}},
		{"words", control("response_words", 3), []string{"control differs: response_words"}},
		{"policy", control("output_policy", "strict"), []string{"control differs: output_policy"}},
		{"effort", control("reasoning_effort", "max"), []string{"control differs: reasoning_effort"}},
		{"temperature", control("temperature", "0.7"), []string{"control differs: temperature"}},
		{"temperature in another spelling", control("temperature", "0.60"), []string{}},
		{"top_p", control("top_p", nil), []string{"control differs: top_p"}},
		{"cache mode", control("prompt_cache_mode", "shared"), []string{"control differs: prompt_cache_mode"}},
		{"canaries", control("request_canaries", false), []string{"control differs: request_canaries"}},
		{"outer timeout", control("outer_timeout_s", 1001), []string{"control differs: outer_timeout_s"}},
		{"idle timeout", control("idle_timeout_s", 901), []string{"control differs: idle_timeout_s"}},
		{"two controls", func(f *fixture) { control("top_p", "0.9")(f); control("max_tokens", 1)(f) }, []string{"control differs: max_tokens", "control differs: top_p"}},
		{"prompt tokens", request(0, "prompt_tokens", 8133), []string{"prompt_tokens differs at index 3: 8000 and 8133"}},
		{"prompt tokens twice", func(f *fixture) { request(0, "prompt_tokens", 8001)(f); request(2, "prompt_tokens", 8002)(f) }, []string{"prompt_tokens differs at index 1: 8000 and 8002; and at 1 more"}},
		{"prompt hash", request(1, "prompt_sha256", "other"), []string{"prompt differs at index 2: another SHA-256"}},
		{"http version", request(3, "http_version", "HTTP/2.0"), []string{"candidate ineligible: identity_stable", "http_version differs at index 0: HTTP/1.1 and HTTP/2.0"}},
		{"template", request(3, "template_version", "t2"), []string{"template_version differs at index 0: t1 and t2"}},
		{"reasoning field", func(f *fixture) {
			for back := range 4 {
				request(back, "reasoning_field", "reasoning_content")(f)
			}
		}, []string{}},
		{"candidate ineligible", request(0, "canary_state", "absent"), []string{"candidate ineligible: canary_first"}},
		{"candidate refused", func(f *fixture) {
			r := f.lastRequest(0)
			r["outcome"], r["http_status"], r["event_stream"] = "refused_kv_pool", 400, false
			f.add("stops", row{
				"campaign": campaign, "stop_seq": 0, "at_ns": 0, "at_unix_ns": 0, "rule": "capacity_refusal",
				"arm": "candidate", "cell": r["cell"], "attempt": 1, "detail": "", "blocks": "[]",
			})
		}, []string{"candidate ineligible: canary_first, capture_complete, cell_complete, finish_allowed, no_foreign_marker, terminal, usage_exact, visible_output", "candidate refused (proven): refused_kv_pool"}},
		{"candidate partial", func(f *fixture) {
			f.lastAttempt()["run_state"] = "partial"
			f.lastRequest(0)["outcome"] = "interrupted"
		}, []string{"candidate ineligible (partial): cell_complete, terminal"}},
	}
	f := newFixture(t)
	for _, test := range tests {
		f.pairOf(test.name, 4, test.change)
	}
	f.cell("baseline", "baseline alone", row{"seed": 9001})
	f.request("baseline", "baseline alone", 0)
	f.cell("candidate", "candidate alone", row{"seed": 9002})
	f.request("candidate", "candidate alone", 0)
	f.cell("baseline", "warm", row{"excluded_warmup": true, "seed": 9003})
	f.cell("candidate", "warm too", row{"excluded_warmup": true, "seed": 9003})

	db := f.load()
	got := keyed(t, db, "SELECT coalesce(baseline_cell, candidate_cell), comparable, reasons FROM pair_comparability")
	for _, test := range tests {
		line := got["baseline "+test.name]
		if diff := cmp.Diff(test.reasons, list(t, line[1])); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if want := strconv.FormatBool(len(test.reasons) == 0); line[0] != want {
			t.Errorf("%s: comparable %s, want %s", test.name, line[0], want)
		}
	}
	if diff := cmp.Diff([]string{"unpaired: candidate has no such cell"}, list(t, got["baseline alone"][1])); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"unpaired: baseline has no such cell"}, list(t, got["candidate alone"][1])); diff != "" {
		t.Error(diff)
	}
	if want := len(tests) + 2; len(got) != want {
		t.Errorf("%d pairs, want %d: warm-ups are not paired", len(got), want)
	}
	compared := query(t, db, "SELECT DISTINCT pair FROM comparisons EXCEPT SELECT pair FROM pair_comparability WHERE comparable")
	if len(compared) > 0 {
		t.Errorf("compared although not comparable: %v", compared)
	}
}

func TestPlanMayTolerateADifferenceOfPromptTokens(t *testing.T) {
	f := newFixture(t)
	f.rows["campaigns"][0]["plan"] = planText(sentences, `"prompt_token_tolerance": 2`)
	f.pairOf("two", 1, func(f *fixture) { f.lastRequest(0)["prompt_tokens"] = 8002 })
	f.pairOf("three", 1, func(f *fixture) { f.lastRequest(0)["prompt_tokens"] = 8003 })
	got := keyed(t, f.load(), "SELECT baseline_cell, comparable FROM pair_comparability")
	want := map[string][]string{"baseline two": {"true"}, "baseline three": {"false"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPromptTokensMustBeKnownToBeCompared(t *testing.T) {
	f := newFixture(t)
	f.rows["campaigns"][0]["plan"] = planText(`"same measurement_protocol in compared arms"`, "")
	f.pairOf("a", 2, func(f *fixture) { f.lastRequest(0)["prompt_tokens"] = nil })
	got := list(t, one(t, f.load(), "SELECT reasons FROM pair_comparability")[0])
	if diff := cmp.Diff([]string{"prompt_tokens differs at index 1: 8000 and unknown"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPairsAreKeyedAndUnambiguous(t *testing.T) {
	f := newFixture(t)
	f.plannedCell("baseline", "b1", row{"seed": 5, "requests": 8, "concurrency": 2})
	f.plannedCell("candidate", "c1", row{"seed": 5, "requests": 8, "concurrency": 2})
	f.plannedCell("candidate", "c2", row{"seed": 5, "requests": 8, "concurrency": 2})
	f.plannedCell("candidate", "c3", row{"seed": 6, "requests": 8, "concurrency": 2})
	want := [][]string{
		{"natural-ctx10240-c2-seed5-n8", "b1", "c1"},
		{"natural-ctx10240-c2-seed5-n8-repeat2", "-", "c2"},
		{"natural-ctx10240-c2-seed6-n8", "-", "c3"},
	}
	db := f.load()
	if diff := cmp.Diff(want, query(t, db, "SELECT pair, baseline_cell, candidate_cell FROM pair_comparability")); diff != "" {
		t.Error(diff)
	}
	first := list(t, one(t, db, "SELECT reasons FROM pair_comparability WHERE candidate_cell = 'c1'")[0])
	if !slices.Contains(first, "ambiguous: 2 cells of one arm share the key") {
		t.Error(first)
	}
}

func TestComparisonsAgreeWithAnIndependentComputation(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	f := newFixture(t)
	want := map[string][]string{}
	for _, n := range []int{1, 4, 8, 20} {
		name := fmt.Sprint("n", n)
		f.pairOf(name, n, nil)
		all := f.rows["request_facts"]
		var base, cand, ratios []float64
		for i := range n {
			b, c := random.Int64N(1e6)+1, random.Int64N(1e6)+1
			all[len(all)-2*n+i]["ttfo_ns"], all[len(all)-n+i]["ttfo_ns"] = b, c
			base, cand, ratios = append(base, float64(b)), append(cand, float64(c)), append(ratios, float64(c)/float64(b))
		}
		pair := fmt.Sprintf("natural-ctx10240-c1-seed%v-n%d", f.lastCell()["seed"], n)
		want[pair] = []string{
			fmt.Sprint(n), fmt.Sprint(n), text(nearest(base, 50)), fmt.Sprint(n), text(nearest(cand, 50)), text(nearest(cand, 50) - nearest(base, 50)),
			text(slices.Min(ratios)), text(nearest(ratios, 50)), text(slices.Max(ratios)),
		}
	}
	got := keyed(t, f.load(), `SELECT pair, pairs, baseline_n, baseline_p50, candidate_n, candidate_p50, median_difference, ratio_min, ratio_p50, ratio_max
		FROM comparisons WHERE metric = 'ttfo_ns'`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestComparisonsWithholdOnlyWhatIsSpoiled(t *testing.T) {
	tests := []struct {
		name   string
		change func(*fixture)
		want   map[string][]string // metric: baseline_p50, pairs, note
	}{
		{"untroubled", nil, map[string][]string{
			"gap_p50_ns": {"1e+06", "2", "p50 descriptive"}, "effective_prefill_tok_s": {"8e+06", "2", "p50 descriptive"}, "decode_tok_s": {"1000", "2", "p50 descriptive"},
		}},
		{"other stamps", func(f *fixture) { f.lastRequest(0)["output_read_stamped"], f.lastRequest(0)["lag_p99_ns"] = 11, 1 }, map[string][]string{
			"gap_p50_ns": {"-", "0", "withheld: stamp sources differ (baseline: kernel, candidate: read)"}, "effective_prefill_tok_s": {"8e+06", "2", "p50 descriptive"}, "decode_tok_s": {"1000", "2", "p50 descriptive"},
		}},
		{"warm cache", func(f *fixture) { f.lastRequest(0)["cached_tokens"] = 4000 }, map[string][]string{
			"gap_p50_ns": {"1e+06", "2", "p50 descriptive"}, "effective_prefill_tok_s": {"-", "0", "withheld: cache_assisted (baseline: 0 requests, candidate: 1)"}, "decode_tok_s": {"1000", "2", "p50 descriptive"},
		}},
		{"cache unknown", func(f *fixture) { f.lastRequest(0)["cached_tokens"] = nil }, map[string][]string{
			"gap_p50_ns": {"1e+06", "2", "p50 descriptive"}, "effective_prefill_tok_s": {"8e+06", "2", "cached tokens unknown; p50 descriptive"}, "decode_tok_s": {"1000", "2", "p50 descriptive"},
		}},
		{"cache unknown, known to the engine", func(f *fixture) {
			f.lastRequest(0)["cached_tokens"] = nil
			f.cachedOf("candidate", "candidate cache unknown, known to the engine", 15000, 1000)
		}, map[string][]string{
			"gap_p50_ns": {"1e+06", "2", "p50 descriptive"}, "effective_prefill_tok_s": {"-", "0", "withheld: cache_assisted (baseline: 0 requests, candidate: 2); cached tokens unknown"}, "decode_tok_s": {"1000", "2", "p50 descriptive"},
		}},
		{"one burst", func(f *fixture) {
			f.lastRequest(0)["completion_tokens"], f.lastRequest(0)["short_gaps"] = 40, 9
		}, map[string][]string{
			"gap_p50_ns": {"1e+06", "2", "p50 descriptive"}, "effective_prefill_tok_s": {"8e+06", "2", "p50 descriptive"}, "decode_tok_s": {"1000", "1", "1 of 2 indices paired; p50 descriptive; output lengths differ"},
		}},
	}
	f := newFixture(t)
	for _, test := range tests {
		f.pairOf(test.name, 2, test.change)
	}
	got := keyed(t, f.load(), `SELECT p.baseline_cell || ' ' || c.metric, c.baseline_p50, c.pairs, c.note
		FROM comparisons c JOIN pair_comparability p ON p.pair = c.pair`)
	for _, test := range tests {
		for metric, want := range test.want {
			if diff := cmp.Diff(want, got["baseline "+test.name+" "+metric]); diff != "" {
				t.Errorf("%s, %s: %s", test.name, metric, diff)
			}
		}
	}
}

func TestDifferingClocksAreANoteOnTheComparison(t *testing.T) {
	clocks := func(f *fixture, arm, cell string, mhz ...int) {
		for i, m := range mhz {
			f.add("gpu_samples", row{"campaign": campaign, "arm": arm, "cell": cell, "attempt": 1, "sample_seq": i, "phase": "during", "at_ns": i, "status": "ok", "gpu_index": 0, "sm_clock_mhz": m})
		}
	}
	f := newFixture(t)
	f.pairOf("apart", 1, nil)
	clocks(f, "baseline", "baseline apart", 2000, 2400, 2400)
	clocks(f, "candidate", "candidate apart", 1900)
	f.pairOf("within", 1, nil)
	clocks(f, "baseline", "baseline within", 2000)
	clocks(f, "candidate", "candidate within", 2100)
	db := f.load()
	note := "median SM clock 2400 MHz (baseline) and 1900 MHz (candidate)"
	want := [][]string{{"baseline apart", "-", note}, {"candidate apart", "-", note}}
	if diff := cmp.Diff(want, query(t, db, "SELECT cell, metric, reason FROM metric_withholdings WHERE flag = 'clocks_differ'")); diff != "" {
		t.Error(diff)
	}
	notes := query(t, db, "SELECT DISTINCT pair, note FROM comparisons WHERE metric = 'e2e_ns'")
	wantNotes := [][]string{{"natural-ctx10240-c1-seed0-n1", "p50 descriptive; " + note}, {"natural-ctx10240-c1-seed2-n1", "p50 descriptive"}}
	slices.SortFunc(notes, func(a, b []string) int { return slices.Compare(a, b) })
	if diff := cmp.Diff(wantNotes, notes); diff != "" {
		t.Error(diff)
	}
}

func TestArmsBeyondTwoAreEachComparedWithTheBaseline(t *testing.T) {
	f := newFixture(t)
	f.add("arms", row{"campaign": campaign, "arm": "second", "arm_order": 2})
	for _, arm := range []string{"baseline", "candidate", "second"} {
		f.cell(arm, arm, nil)
		f.request(arm, arm, 0)
	}
	want := [][]string{{"natural-ctx10240-c1-seed1-n1-candidate", "candidate", "true"}, {"natural-ctx10240-c1-seed1-n1-second", "second", "true"}}
	got := query(t, f.load(), "SELECT pair, candidate_arm, comparable FROM pair_comparability")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOneArmHasNothingToCompare(t *testing.T) {
	f := newFixture(t)
	f.rows["arms"] = f.rows["arms"][:1]
	f.cell("baseline", "a")
	f.request("baseline", "a", 0)
	if got := query(t, f.load(), "SELECT pair FROM pair_comparability"); len(got) > 0 {
		t.Errorf("pairs %v", got)
	}
}
