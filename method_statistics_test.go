package main

import (
	"fmt"
	"time"

	"assay/ingest/ingesttest"
)

// ladder answers request i with an end-to-end time of i + 1 seconds, in an order
// that is not theirs.
func ladder(run *ingesttest.Run, cell string) {
	a := run.Cell(cell)
	n := a.Plan.Requests
	for i := range n {
		a.Stream(i, timed(a.Plan, i, 100*ms, time.Duration(1+(i*7+3)%n)*time.Second, plainUsage)...)
	}
	identified(a)
}

// cellsOf are cells of the baseline with these numbers of requests. Sevens share
// no factor with them, so that a ladder has each step once.
func cellsOf(sizes ...int64) []ingesttest.CellSpec {
	var out []ingesttest.CellSpec
	for _, n := range sizes {
		out = append(out, ingesttest.CellSpec{ID: fmt.Sprintf("n%03d", n), Arm: "baseline", Requests: n})
	}
	return out
}

func ladders(sizes ...int64) func(*ingesttest.Run) {
	return func(run *ingesttest.Run) {
		for _, c := range cellsOf(sizes...) {
			ladder(run, c.ID)
		}
	}
}

// statisticsCases are C07 to C13: what a distribution is and what it may claim.
func statisticsCases() []methodCase {
	const second = time.Second
	return []methodCase{
		{ // a percentile off by one rank
			id: "C07", cells: cellsOf(20, 100), build: ladders(20, 100),
			want: map[string]string{
				mainRows: "20|10000000000|19000000000|20000000000|p95 descriptive\n100|50000000000|95000000000|100000000000|p95 descriptive",
				"SELECT list_sort(list(e2e_ns))[(7 * 100 + 99) // 100] FROM request_metrics WHERE campaign = $c AND cell = 'n100'": "7000000000",
			},
		},
		{ // a percentile outside the data, and n = 1
			id: "C08", cells: cellsOf(1, 2, 4, 8), build: ladders(1, 2, 4, 8),
			want: map[string]string{
				mainRows: "1|1000000000|1000000000|1000000000|list of values; p95 = max; p50 descriptive; p95 descriptive\n" +
					"2|1000000000|2000000000|2000000000|list of values; p95 = max; p50 descriptive; p95 descriptive\n" +
					"4|2000000000|4000000000|4000000000|list of values; p95 = max; p50 descriptive; p95 descriptive\n" +
					"8|4000000000|8000000000|8000000000|p95 = max; p50 descriptive; p95 descriptive",
				"SELECT p50_low::BIGINT, p50_high::BIGINT FROM cell_distributions WHERE campaign = $c AND metric = 'e2e_ns' ORDER BY cell": "|\n|\n|\n1000000000|8000000000",
				"SELECT count(*) FROM cell_distributions WHERE NOT (min <= p50 AND p50 <= p95 AND p95 <= max)":                             "0",
			},
		},
		{ // p99 from a handful
			id: "C09", cells: cellsOf(20), build: ladders(20),
			want: map[string]string{
				"SELECT count(*) FROM duckdb_columns() WHERE column_name ~ 'p99' AND column_name <> 'lag_p99_ns'": "0",
				"SELECT n FROM percentile_floors WHERE percentile = 99":                                           "662",
				// no distribution is of more than one cell, so none is an average of cells
				"SELECT count(*), count(DISTINCT cell) FROM cell_distributions WHERE campaign = $c AND metric = 'e2e_ns'": "1|1",
			},
			of:   "C10",
			look: says("No p99 is given", "so no p99 is given anywhere"),
		},
		{ // coordinated omission
			id: "C10", cells: cellsOf(8),
			build: func(run *ingesttest.Run) {
				a := run.Cell("n008")
				start := time.Minute
				for i := range int64(8) {
					length := second
					if i == 3 {
						length = 60 * second
					}
					a.Stream(i, timed(a.Plan, i, 100*ms, length, plainUsage)...)
					moved(a, i, start)
					idle := int64(1000)
					a.Row(i).IdleGapNs = &idle
					start += length + 1000
				}
				identified(a)
			},
			want: map[string]string{
				mainRows: "8|1000000000|60000000000|60000000000|p95 = max; p50 descriptive; p95 descriptive",
				"SELECT count(*) FROM request_metrics WHERE campaign = $c AND e2e_ns > 50000000000":                                                                                           "1",
				"SELECT count(t0_ns), count(t0_unix_ns), min(idle_gap_ns), max(idle_gap_ns) FROM request_facts WHERE campaign = $c":                                                           "8|8|1000|1000",
				"SELECT t0_ns - lag_t0 FROM (SELECT t0_ns, lag(t0_ns) OVER (ORDER BY request_index) AS lag_t0, request_index FROM request_facts WHERE campaign = $c) WHERE request_index = 4": "60000001000",
			},
			look: says("a closed loop", "how it would answer at a given arrival rate", "60.00 s = max"),
		},
		{ // failed or dropped requests vanish
			id: "C11", cells: cellsOf(8),
			build: func(run *ingesttest.Run) {
				a := run.Cell("n008")
				for i := range int64(6) {
					a.Stream(i, timed(a.Plan, i, 100*ms, second, plainUsage)...)
				}
				a.Stream(6, ingesttest.Role(100*ms))
				a.Row(6).End = "idle_timeout"
				identified(a).State = "partial"
			},
			want: map[string]string{
				"SELECT planned, dispatched, terminal, passing, eligible, eligibility FROM cell_eligibility WHERE campaign = $c":                                       "8|7|6|6|0|ineligible",
				"SELECT outcome, count(*) FROM request_facts WHERE campaign = $c GROUP BY outcome ORDER BY outcome":                                                    "complete|6\nidle_timeout|1\nnot_dispatched|1",
				"SELECT DISTINCT population FROM cell_distributions WHERE campaign = $c":                                                                               "passing_only",
				"SELECT rule, failing, not_evaluable, failing_requests FROM cell_verdicts WHERE campaign = $c AND rule IN ('cell_complete', 'terminal') ORDER BY rule": "cell_complete|2|0|[6,7]\nterminal|1|1|[6]",
			},
			look: says("6 of 8", "| `n008` | partial | `cell_complete` | [6,7] | 0 |", "No cell of this workload is eligible"),
		},
		{ // the label is not the length
			id: "C12", cells: pairOf(ingesttest.CellSpec{ID: "a", Requests: 2}),
			build: func(run *ingesttest.Run) {
				fillTimed(run.Cell("baseline-a"), second, 2*second, `{"prompt_tokens":8101,"completion_tokens":3}`)
				fillTimed(run.Cell("candidate-a"), second, 2*second, `{"prompt_tokens":8133,"completion_tokens":3}`)
			},
			want: map[string]string{
				comparable: `false|["prompt_tokens differs at index 0: 8101 and 8133; and at 1 more"]`,
				"SELECT min, p50, max FROM cell_distributions WHERE campaign = $c AND metric = 'prompt_tokens' ORDER BY arm": "8101|8101|8101\n8133|8133|8133",
				"SELECT count(*) FROM comparisons WHERE campaign = $c":                                                       "0",
			},
			look: says("8,101 / 8,101 / 8,101", "8,133 / 8,133 / 8,133", "prompt_tokens differs at index 0: 8101 and 8133", "| 10,240 |", "-Ratio min / p50 / max"),
		},
		{ // a per-request mean called ITL
			id: "C13", cells: cellsOf(8), build: ladders(8),
			want: map[string]string{
				"SELECT count(*) FROM duckdb_columns() WHERE column_name ~ '(^|_)(itl|inter_token)'":                                                                               "0",
				"SELECT comment LIKE 'Per-request proxy for the time of one output token%' FROM duckdb_columns() WHERE table_name = 'request_metrics' AND column_name = 'tpot_ns'": "true",
				"SELECT unit FROM cell_distributions WHERE campaign = $c AND metric = 'tpot_ns'":                                                                                   "ns/token",
			},
			of:   "C10",
			look: says("a proxy for each request", "a percentile of a request metric is one over requests", "-ITL", "-inter-token", "-Inter-token"),
		},
	}
}
