package main

import (
	"strings"
	"testing"
	"time"

	"assay/ingest/ingesttest"
)

// workloadCases are C01 to C04 and C06: what is asked of the engine, and when.
func workloadCases() []methodCase {
	const second = time.Second
	return []methodCase{
		{ // a prefix cache warms the measurement
			id: "C01", cells: pairOf(ingesttest.CellSpec{ID: "a"}),
			build: func(run *ingesttest.Run) {
				warm := run.Cell("baseline-a")
				fillTimed(warm, 400*ms, 900*ms, `{"prompt_tokens":8112,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8111}}`)
				warm.Page("before", 0, "# TYPE vllm:prefix_cache_hits counter\nvllm:prefix_cache_hits_total{engine=\"0\"} 10\nprocess_start_time_seconds 5\n")
				warm.Page("after", 40*second, "# TYPE vllm:prefix_cache_hits counter\nvllm:prefix_cache_hits_total{engine=\"0\"} 8121\nprocess_start_time_seconds 5\n")
				fillTimed(run.Cell("candidate-a"), 400*ms, 900*ms, `{"prompt_tokens":8112,"completion_tokens":3}`)
			},
			want: map[string]string{
				"SELECT effective_prefill_tok_s, round(100 * cached_share, 2), withheld FROM request_metrics WHERE campaign = $c ORDER BY arm": `20280|99.99|["effective_prefill_tok_s: cache_assisted"]` + "\n20280||[]",
				"SELECT reason FROM metric_withholdings WHERE campaign = $c AND flag = 'cache_assisted'":                                       "99.99 % of the prompt tokens came from a cache; kept out of comparisons",
				"SELECT ratio_p50, baseline_p50, note FROM comparisons WHERE campaign = $c AND metric = 'effective_prefill_tok_s'":             "||withheld: cache_assisted (baseline: 1 requests, candidate: 0); cached tokens unknown",
				"SELECT ratio_p50 FROM comparisons WHERE campaign = $c AND metric = 'e2e_ns'":                                                  "1",
				"SELECT delta FROM counter_deltas WHERE campaign = $c AND arm = 'baseline' AND series LIKE '%prefix_cache_hits%'":              "8111",
			},
		},
		{ // a cell run again with its frozen seed
			id: "C02", cells: pairOf(ingesttest.CellSpec{ID: "a", Requests: 8}),
			build: func(run *ingesttest.Run) {
				first := run.Cell("baseline-a")
				for i := range int64(7) {
					first.Stream(i, timed(first.Plan, i, second, 2*second, plainUsage)...)
				}
				first.Row(6).End, first.State = "idle_timeout", "partial"
				identified(first)
				again := run.Cell("baseline-a")
				for i := range int64(8) {
					usage := plainUsage
					if i < 6 {
						usage = `{"prompt_tokens":100,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":99}}`
					}
					again.Stream(i, timed(again.Plan, i, 100*ms, second, usage)...)
				}
				identified(again)
				fillTimed(run.Cell("candidate-a"), second, 2*second, plainUsage)
			},
			want: map[string]string{
				"SELECT attempt, run_state, counted FROM attempts WHERE campaign = $c AND arm = 'baseline' ORDER BY attempt":                                                          "1|partial|false\n2|complete|true",
				"SELECT attempt, count(*) FROM request_metrics WHERE campaign = $c AND arm = 'baseline' GROUP BY attempt ORDER BY attempt":                                            "1|8\n2|8",
				"SELECT count(*), count(DISTINCT prompt_sha256) FROM request_facts WHERE campaign = $c AND arm = 'baseline' AND dispatched":                                           "15|1",
				"SELECT attempt, eligibility, eligible FROM cell_eligibility WHERE campaign = $c AND arm = 'baseline'":                                                                "2|eligible|8",
				"SELECT note FROM comparisons WHERE campaign = $c AND metric = 'effective_prefill_tok_s'":                                                                             "withheld: cache_assisted (baseline: 6 requests, candidate: 0); cached tokens unknown",
				"SELECT n, note LIKE '%cache_assisted: 6 of 8, not compared' FROM cell_distributions WHERE campaign = $c AND arm = 'baseline' AND metric = 'effective_prefill_tok_s'": "8|true",
			},
		},
		{ // a warm-up inside the statistics, or overlapping the measurement
			id: "C03", cells: pairOf(ingesttest.CellSpec{ID: "warm", Workload: "warmup", Warmup: true}, ingesttest.CellSpec{ID: "n", Requests: 8}),
			build: func(run *ingesttest.Run) {
				for _, arm := range []string{"baseline", "candidate"} {
					warm := run.Cell(arm + "-warm")
					fillTimed(warm, 30*second, 31*second, plainUsage)
					measured := run.Cell(arm + "-n")
					if arm == "candidate" { // begins before the warm-up's last bytes
						measured.StartNs = warm.StartNs + int64(20*second)
					}
					fillTimed(measured, second, 2*second, plainUsage)
				}
			},
			want: map[string]string{
				mainRows: "8|2000000000|2000000000|2000000000|p95 = max; p50 descriptive; p95 descriptive\n0||||no value; withheld: warm_overlap (8 of 8)",
				"SELECT cell, metric, reason FROM metric_withholdings WHERE campaign = $c AND flag = 'warm_overlap' AND metric = 'e2e_ns'":                                                    "candidate-n|e2e_ns|requests of the warm-up candidate-warm were still running",
				"SELECT count(*) FROM cell_distributions WHERE campaign = $c AND cell LIKE '%warm'":                                                                                           "0",
				"SELECT (b.start_ns - a.end_ns) / 1000000000 FROM attempts a JOIN attempts b ON b.cell = 'baseline-n' WHERE a.campaign = $c AND b.campaign = $c AND a.cell = 'baseline-warm'": "30",
			},
		},
		{ // the wrong window of a throughput
			id: "C04", cells: []ingesttest.CellSpec{{ID: "a", Arm: "baseline", Concurrency: 2, Requests: 4}},
			build: func(run *ingesttest.Run) {
				a := run.Cell("a")
				for i, r := range []struct{ start, length, tokens string }{{"0s", "10s", "100"}, {"0s", "6s", "60"}, {"6s", "6s", "60"}, {"10s", "10s", "100"}} {
					start, _ := time.ParseDuration(r.start)
					length, _ := time.ParseDuration(r.length)
					a.Stream(int64(i), timed(a.Plan, int64(i), ms, length, `{"prompt_tokens":100,"completion_tokens":`+r.tokens+`}`)...)
					moved(a, int64(i), time.Minute+start)
				}
				identified(a)
			},
			want: map[string]string{
				"SELECT throughput_tok_s, mean_overlap, full_share, max_overlap, window_ns, completion_tokens FROM cell_overlap WHERE campaign = $c": "16|1.6|0.6|2|20000000000|320",
			},
		},
		{ // tok/s rewards the longer answer
			id: "C06",
			cells: []ingesttest.CellSpec{
				{ID: "baseline-a", Arm: "baseline", Requests: 24, Seed: 7}, {ID: "baseline-b", Arm: "baseline", Requests: 4, Seed: 8},
				{ID: "candidate-a", Arm: "candidate", Requests: 17, Seed: 7}, {ID: "candidate-b", Arm: "candidate", Requests: 4, Seed: 8},
			},
			build: func(run *ingesttest.Run) {
				for _, cell := range []string{"a", "b"} {
					one := run.Cell("baseline-" + cell)
					for i := range one.Plan.Requests {
						at := 1261 * ms
						one.Stream(i, ingesttest.Content(at, ingesttest.Marker(one.Plan, i)), ingesttest.Finish(at, "stop"), ingesttest.Usage(at, 100, 1), ingesttest.Done(at))
					}
					identified(one)
					fillTimed(run.Cell("candidate-"+cell), 1824*ms, 1900*ms, `{"prompt_tokens":100,"completion_tokens":16}`)
				}
			},
			want: map[string]string{
				"SELECT cell, n, min, p50, max FROM cell_distributions WHERE campaign = $c AND metric = 'completion_tokens' ORDER BY cell": "baseline-a|24|1|1|1\nbaseline-b|4|1|1|1\ncandidate-a|17|16|16|16\ncandidate-b|4|16|16|16",
				comparable: `false|["unpaired: baseline has no such cell"]` + "\n" + `false|["unpaired: candidate has no such cell"]` + "\n" + `true|[]`,
				"SELECT pairs, note FROM comparisons WHERE campaign = $c AND metric = 'e2e_ns'":          "4|p50 descriptive; output lengths differ",
				"SELECT count(*) FROM cell_overlap WHERE campaign = $c AND throughput_tok_s IS NOT NULL": "4",
			},
			look: func(t *testing.T, narrative string) {
				says("it is no like-for-like speed", "Completion tokens min / p50 / max", "16 / 16 / 16", "output lengths differ", "-winner", "-faster")(t, narrative)
				_, comparisons, _ := strings.Cut(narrative, "## Comparisons")
				comparisons, _, _ = strings.Cut(comparisons, "\n## ")
				if strings.Contains(comparisons, "Throughput") {
					t.Error("throughputs of unequal outputs are compared")
				}
			},
		},
	}
}
