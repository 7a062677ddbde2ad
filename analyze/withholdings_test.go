package analyze

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// times are the metrics that a cell loses when its times are withheld.
var times = []string{
	"decode_tok_s", "e2e_ns", "effective_prefill_tok_s", "gap_p50_ns", "throughput_tok_s",
	"tpot_ns", "ttfo_ns", "ttft_nonblank_ns", "ttft_ns",
}

// each is one line a metric: the request, flag, metric and reason of a
// withholding.
func each(request, flag, reason string, metrics ...string) [][]string {
	var lines [][]string
	for _, m := range metrics {
		lines = append(lines, []string{request, flag, m, reason})
	}
	return lines
}

func TestWithholdings(t *testing.T) {
	burst := "more than half of the output events came in one read with, or less than 1 ms after, the one before"
	tests := []struct {
		name  string
		setup func(f *fixture, cell string)
		want  [][]string
	}{
		{"nothing", func(f *fixture, c string) { f.plain(c) }, nil},
		{"burst", func(f *fixture, c string) {
			f.plain(c, row{"completion_tokens": 32, "output_events": 10, "short_gaps": 6})
		}, each("0", "burst_delivery", burst, "decode_tok_s", "tpot_ns")},
		{"half is not more than half", func(f *fixture, c string) {
			f.plain(c, row{"completion_tokens": 32, "output_events": 10, "short_gaps": 5})
		}, nil},
		{"31 tokens are no burst", func(f *fixture, c string) {
			f.plain(c, row{"completion_tokens": 31, "output_events": 10, "short_gaps": 9})
		}, nil},
		{"cache", func(f *fixture, c string) { f.plain(c, row{"prompt_tokens": 8112, "cached_tokens": 8111}) }, each("0", "cache_assisted", "99.99 % of the prompt tokens came from a cache; kept out of comparisons", "effective_prefill_tok_s")},
		{"1 % of cache", func(f *fixture, c string) { f.plain(c, row{"prompt_tokens": 100, "cached_tokens": 1}) }, nil},
		{"cache unknown", func(f *fixture, c string) { f.plain(c, row{"cached_tokens": nil}) }, nil},
		{"cache by the engine's counters", func(f *fixture, c string) { f.plain(c, row{"cached_tokens": nil}); f.cached(c, 900, 100) }, each("-", "cache_assisted", "the engine took 900 of 1000 prompt tokens from a cache; kept out of comparisons", "effective_prefill_tok_s")},
		{"cache by an engine that counts the parts", func(f *fixture, c string) { f.plain(c, row{"cached_tokens": nil}); f.cachedParts(c, 900, 100) }, each("-", "cache_assisted", "the engine took 900 of 1000 prompt tokens from a cache; kept out of comparisons", "effective_prefill_tok_s")},
		{"1 % of cache by the engine's counters", func(f *fixture, c string) { f.plain(c, row{"cached_tokens": nil}); f.cached(c, 10, 990) }, nil},
		{"the usage says that nothing was cached", func(f *fixture, c string) { f.plain(c, row{"cached_tokens": 0}); f.cached(c, 900, 100) }, nil},
		{"negative time", func(f *fixture, c string) { f.plain(c, row{"ttfo_ns": -1}) }, each("0", "impossible_time", "a duration is negative or longer than the cell's outer bound", times...)},
		{"time beyond the bound", func(f *fixture, c string) { f.plain(c, row{"done_ns": 1001 * second, "end_ns": 1001 * second}) }, each("0", "impossible_time", "a duration is negative or longer than the cell's outer bound", times...)},
		{"clock drift of 50 ms", func(f *fixture, c string) { f.plain(c); f.lastAttempt()["clock_drift_ns"] = 50_000_000 }, nil},
		{"clock step of 51 ms", func(f *fixture, c string) { f.plain(c); f.lastAttempt()["clock_drift_ns"] = 51_000_000 }, each("-", "clock_step", "the wall clock moved by 51 ms against the monotonic clock", "-")},
		{"clock step back", func(f *fixture, c string) { f.plain(c); f.lastAttempt()["clock_drift_ns"] = -1_500_000_000 }, each("-", "clock_step", "the wall clock moved by -1500 ms against the monotonic clock", times...)},
		{"slow client, 20 ms", func(f *fixture, c string) {
			f.plain(c, row{"output_read_stamped": 1, "lag_p99_ns": 20_000_001, "ttfo_ns": 1, "last_output_ns": 900 * second, "done_ns": 900 * second})
		}, each("-", "client_slow", "the reader lagged by 20000 us (p99)", "gap_p50_ns")},
		{"slow client, 5 % of tpot", func(f *fixture, c string) { f.plain(c, row{"output_read_stamped": 1, "lag_p99_ns": 50_001}) }, each("-", "client_slow", "the reader lagged by 50 us (p99)", "gap_p50_ns")},
		{"lag of 5 % of tpot", func(f *fixture, c string) { f.plain(c, row{"output_read_stamped": 1, "lag_p99_ns": 50_000}) }, nil},
		{"lag with kernel stamps", func(f *fixture, c string) { f.plain(c, row{"lag_p99_ns": 30_000_000}) }, nil},
		{"lag unknown", func(f *fixture, c string) { f.plain(c, row{"output_read_stamped": 11, "lag_p99_ns": nil}) }, each("-", "client_slow", "not_evaluable: no event has the kernel's stamp, so the reader's lag is unknown", "-")},
		{"overlap short", func(f *fixture, c string) { f.plain(c); f.lastCell()["concurrency"] = 4 }, each("-", "overlap_short", "requested 4, observed 1", "concurrency")},
		{"foreign requests", func(f *fixture, c string) { f.plain(c); f.traffic(c, 3, 8000, 11, "0") }, each("-", "foreign_traffic", "the engine finished 3 requests, the client sent 1", "engine_means")},
		{"foreign tokens", func(f *fixture, c string) { f.plain(c); f.traffic(c, 1, 9000, 11, "0") }, each("-", "foreign_traffic", "the engine counted 9000 prompt and 11 generated tokens, the client 8000 and 11", "engine_means")},
		{"preempted tokens", func(f *fixture, c string) { f.plain(c); f.traffic(c, 1, 16000, 11, "2") }, each("-", "foreign_traffic", "not_evaluable: 2 preemptions: tokens were computed again", "token_attribution")},
		{"preemptions unknown", func(f *fixture, c string) { f.plain(c); f.traffic(c, 1, 16000, 11, "NaN") }, each("-", "foreign_traffic", "not_evaluable: the engine does not say whether it preempted", "token_attribution")},
		{"usage missing", func(f *fixture, c string) {
			f.plain(c, row{"prompt_tokens": nil})
			f.traffic(c, 1, 16000, 11, "0")
		}, each("-", "foreign_traffic", "not_evaluable: 1 of 1 requests have no usage", "token_attribution")},
		{"foreign requests although usage is missing", func(f *fixture, c string) {
			f.plain(c, row{"prompt_tokens": nil})
			f.traffic(c, 2, 16000, 11, "0")
		}, slices.Concat(each("-", "foreign_traffic", "the engine finished 2 requests, the client sent 1", "engine_means"),
			each("-", "foreign_traffic", "not_evaluable: 1 of 1 requests have no usage", "token_attribution"))},
	}
	f := newFixture(t)
	for i, test := range tests {
		f.at = int64(i) * 2000 * second
		test.setup(f, test.name)
	}
	got := map[string][][]string{}
	for _, line := range query(t, f.load(), `SELECT cell, request_index, flag, metric, reason FROM metric_withholdings
		WHERE reason <> 'not_evaluable: the engine does not say whether it preempted' OR cell = 'preemptions unknown' ORDER BY cell, request_index, flag, metric`) {
		got[line[0]] = append(got[line[0]], line[1:])
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, got[test.name]); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// plain adds a cell with one request, sent at f.at.
func (f *fixture) plain(cell string, over ...row) {
	f.cell("baseline", cell)
	f.request("baseline", cell, 0, append([]row{{"t0_ns": f.at}}, over...)...)
}

func (f *fixture) lastAttempt() row { return f.rows["attempts"][len(f.rows["attempts"])-1] }

func (f *fixture) lastCell() row { return f.rows["cells"][len(f.rows["cells"])-1] }

// traffic adds the pages around a cell between which the engine counted so much.
func (f *fixture) traffic(cell string, finished, prompt, generated int, preemptions string) {
	page := func(seq int, phase string, stop, abort, prompt, generated int, preemptions string) {
		f.page("baseline", cell, seq, phase, start,
			fmt.Sprintf(`vllm:request_success_total{"finished_reason":"stop"} %d`, stop),
			fmt.Sprintf(`vllm:request_success_total{"finished_reason":"abort"} %d`, abort),
			fmt.Sprintf(`vllm:prompt_tokens_total{"engine":"0"} %d`, prompt),
			fmt.Sprintf(`vllm:generation_tokens_total{"engine":"0"} %d`, generated),
			fmt.Sprintf(`vllm:num_preemptions_total{"engine":"0"} %s`, preemptions))
	}
	page(1, "before", 7, 1, 1000, 500, "0")
	page(2, "after", 7+finished-finished/2, 1+finished/2, 1000+prompt, 500+generated, preemptions)
}

// cached adds pages of vLLM between which the prompt came from cache and
// computing.
func (f *fixture) cached(cell string, cached, computed int) {
	f.cachedOf("baseline", cell, cached, computed)
}

func (f *fixture) cachedOf(arm, cell string, cached, computed int) {
	for seq, phase := range []string{"before", "after"} {
		f.page(arm, cell, seq+1, phase, start,
			`vllm:num_preemptions_total{"engine":"0"} 0`,
			`vllm:generation_tokens_total{"engine":"0"} 7`,
			fmt.Sprintf(`vllm:prompt_tokens_total{"engine":"0"} %d`, 5000+seq*(cached+computed)),
			fmt.Sprintf(`vllm:prompt_tokens_cached_total{"engine":"0"} %d`, 50+seq*cached))
	}
}

// cachedParts does the same for the server of llama.cpp, which has no total.
func (f *fixture) cachedParts(cell string, cached, computed int) {
	for seq, phase := range []string{"before", "after"} {
		f.page("baseline", cell, seq+1, phase, start,
			fmt.Sprintf(`llamacpp:prompt_tokens_total{} %d`, 5000+seq*computed),
			fmt.Sprintf(`llamacpp:prompt_tokens_cached_total{} %d`, 50+seq*cached))
	}
}

func TestWarmUpThatOverlapsWithholdsTheMeasuredTimes(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "warm", row{"excluded_warmup": true, "workload": "warmup"})
	f.request("baseline", "warm", 0, row{"t0_ns": 0, "end_ns": 100})
	f.cell("baseline", "touching")
	f.request("baseline", "touching", 0, row{"t0_ns": 100})
	f.cell("baseline", "overlapping", row{"requests": 2})
	f.request("baseline", "overlapping", 0, row{"t0_ns": 99})
	f.request("baseline", "overlapping", 1, row{"t0_ns": 5 * second})
	// A resumed run counts from a new anchor; its wall clock tells them apart.
	f.cell("baseline", "resumed")
	f.request("baseline", "resumed", 0, row{"t0_ns": 50, "t0_unix_ns": 900 * second})
	f.rows["request_facts"][0]["t0_unix_ns"] = 1 * second
	db := f.load()
	got := query(t, db, "SELECT request_index, flag, metric, reason FROM metric_withholdings WHERE flag = 'warm_overlap' ORDER BY metric")
	want := each("-", "warm_overlap", "requests of the warm-up warm were still running", times...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if cell := one(t, db, "SELECT DISTINCT cell FROM metric_withholdings WHERE flag = 'warm_overlap'")[0]; cell != "overlapping" {
		t.Errorf("withheld for %s", cell)
	}
	if n := one(t, db, "SELECT count(ttfo_ns) FROM request_metrics WHERE cell = 'overlapping'")[0]; n != "0" {
		t.Errorf("%s requests keep a ttfo", n)
	}
	note := one(t, db, "SELECT n, note FROM cell_distributions WHERE cell = 'overlapping' AND metric = 'ttfo_ns'")
	if diff := cmp.Diff([]string{"0", "no value; withheld: warm_overlap (2 of 2)"}, note); diff != "" {
		t.Error(diff)
	}
}

func TestWithheldMetricsAreNullWithTheirFlag(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "a", row{"requests": 3})
	f.request("baseline", "a", 0)
	f.request("baseline", "a", 1, row{"completion_tokens": 40, "short_gaps": 9})
	f.request("baseline", "a", 2, row{"cached_tokens": 800})
	db := f.load()
	want := [][]string{
		{"1000", "1e+06", "8e+06", "[]"},
		{"-", "-", "8e+06", `["decode_tok_s: burst_delivery","tpot_ns: burst_delivery"]`},
		{"1000", "1e+06", "8e+06", `["effective_prefill_tok_s: cache_assisted"]`},
	}
	if diff := cmp.Diff(want, query(t, db, "SELECT decode_tok_s, tpot_ns, effective_prefill_tok_s, withheld FROM request_metrics")); diff != "" {
		t.Error(diff)
	}
	labels := "list of values; p95 = max; p50 descriptive; p95 descriptive"
	notes := map[string][]string{
		"decode_tok_s":            {"2", labels + "; withheld: burst_delivery (1 of 3)"},
		"effective_prefill_tok_s": {"3", labels + "; cache_assisted: 1 of 3, not compared"},
		"e2e_ns":                  {"3", labels},
	}
	got := keyed(t, db, "SELECT metric, n, note FROM cell_distributions WHERE metric IN ('decode_tok_s', 'effective_prefill_tok_s', 'e2e_ns')")
	if diff := cmp.Diff(notes, got); diff != "" {
		t.Error(diff)
	}
}

func TestForeignTrafficWithholdsEngineMeansAndKeepsCounts(t *testing.T) {
	f := newFixture(t)
	f.plain("a")
	f.traffic("a", 3, 8000, 11, "0")
	for i, samples := range [][]string{histogram("{}", 0, 0, "1:0", "+Inf:0"), histogram("{}", 6, 3, "1:1", "+Inf:3")} {
		for _, s := range samples {
			f.add("engine_samples", merged(row{"campaign": campaign, "arm": "baseline", "cell": "a", "attempt": 1, "page_seq": i + 1, "phase": "x", "at_ns": 0}, parseSample(t, s)))
		}
	}
	got := one(t, f.load(), "SELECT n, sum, mean, p50_low, p95_low, reason FROM histogram_summary WHERE canonical = 'e2e_seconds'")
	want := []string{"3", "6", "-", "-", "-", "foreign_traffic: the engine finished 3 requests, the client sent 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
