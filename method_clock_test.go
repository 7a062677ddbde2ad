package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/ingest/ingesttest"
)

// clockCases are C14 to C21: clocks, times that cannot be, and missing values.
func clockCases() []methodCase {
	const second = time.Second
	return []methodCase{
		{ // averages of a machine whose clock varies
			id: "C14", cells: pairOf(ingesttest.CellSpec{ID: "a"}),
			build: func(run *ingesttest.Run) {
				gpuClocks(fillTimed(run.Cell("baseline-a"), second, 2*second, plainUsage), 2400, 0, 4)
				gpuClocks(fillTimed(run.Cell("candidate-a"), second, 2*second, plainUsage), 1900, 4, 4)
			},
			want: map[string]string{
				"SELECT DISTINCT note FROM comparisons WHERE campaign = $c AND metric = 'e2e_ns'":     "p50 descriptive; median SM clock 2400 MHz (baseline) and 1900 MHz (candidate)",
				"SELECT arm, count(*) FROM gpu_samples WHERE campaign = $c GROUP BY arm ORDER BY arm": "baseline|4\ncandidate|4",
				comparable: "true|[]",
			},
			look: says("median SM clock 2400 MHz (baseline) and 1900 MHz (candidate)", "300.0 W", "71 °C", "0 of 4", "4 of 4"),
		},
		{ // clocks subtracted, sentinels
			id: "C15", cells: []ingesttest.CellSpec{{ID: "a", Arm: "baseline", Requests: 3}},
			build: func(run *ingesttest.Run) {
				a := run.Cell("a")
				a.Stream(0, ingesttest.Role(100*ms), ingesttest.Finish(second, "stop"), ingesttest.Usage(second, 100, 0), ingesttest.Done(second))
				a.Stream(1, timed(a.Plan, 1, -5*ms, second, plainUsage)...)
				a.Stream(2, timed(a.Plan, 2, second, 1300*second, plainUsage)...)
				identified(a)
			},
			want: map[string]string{
				"SELECT request_index, ttfo_ns, ttft_ns, tpot_ns, e2e_ns FROM request_metrics WHERE campaign = $c ORDER BY request_index":                        "0||||1000000000\n1||||\n2||||",
				"SELECT request_index, count(*) > 5 FROM metric_withholdings WHERE campaign = $c AND flag = 'impossible_time' GROUP BY request_index ORDER BY 1": "1|true\n2|true",
				"SELECT count(*) FROM request_metrics WHERE ttfo_ns < 0 OR ttft_ns < 0 OR e2e_ns < 0 OR tpot_ns < 0":                                             "0",
			},
		},
		{ // a suspended machine
			id: "C17", cells: cellsOf(1, 2),
			build: func(run *ingesttest.Run) {
				for i, drift := range []time.Duration{60 * ms, 600 * second} {
					a := fillTimed(run.Cell(cellsOf(1, 2)[i].ID), second, 2*second, plainUsage)
					a.Figures = map[string]int64{"clock_drift_ns": int64(drift)}
				}
			},
			want: map[string]string{
				mainRows: "1|2000000000|2000000000|2000000000|list of values; p95 = max; p50 descriptive; p95 descriptive\n0||||no value; withheld: clock_step (2 of 2)",
				"SELECT cell, metric IS NULL, reason FROM metric_withholdings WHERE campaign = $c AND flag = 'clock_step' AND (metric IS NULL OR metric = 'ttfo_ns') ORDER BY cell": "n001|true|the wall clock moved by 60 ms against the monotonic clock\nn002|false|the wall clock moved by 600000 ms against the monotonic clock",
				"SELECT throughput_note FROM cell_overlap WHERE campaign = $c AND cell = 'n002'":                                                                                    "withheld: clock_step",
			},
		},
		{ // timer resolution and reads that bring several events
			id: "C18", cells: cellsOf(1),
			build: func(run *ingesttest.Run) {
				a := run.Cell("n001")
				chunks := []ingesttest.Chunk{ingesttest.Content(second, ingesttest.Marker(a.Plan, 0)+" ")}
				for i := range 9 {
					c := ingesttest.Content(second, fmt.Sprint("w", i, " "))
					c.SameAs = true
					chunks = append(chunks, c)
				}
				chunks = append(chunks, ingesttest.Finish(second, "stop"), ingesttest.Usage(second, 100, 10), ingesttest.Done(2*second))
				a.Stream(0, chunks...)
				identified(a)
			},
			want: map[string]string{
				"SELECT gaps, same_read_gaps, gap_min_ns, gap_max_ns, connect_ns FROM request_facts WHERE campaign = $c": "9|9|0|0|0",
				"SELECT gap_p50_ns, tpot_ns, decode_tok_s, ttfo_ns, e2e_ns FROM request_metrics WHERE campaign = $c":     "0|||1000000000|2000000000",
				"SELECT count(DISTINCT read_seq) FROM events WHERE campaign = $c AND output":                             "1",
				"SELECT note FROM cell_distributions WHERE campaign = $c AND metric = 'decode_tok_s'":                    "no value; 1 of 1 without a value",
			},
		},
		{ // units mixed up; see also TestForeignArtifactIsNotGuessed
			id: "C19", cells: cellsOf(1), build: ladders(1),
			want: map[string]string{
				// Every whole-number time says its unit; a duration without one is not there.
				"SELECT count(*) FROM duckdb_columns() WHERE column_name ~ '(ttft|ttfo|e2e|tpot|gap|lag|duration|latency)' AND data_type IN ('BIGINT', 'DOUBLE') AND column_name !~ '(_ns|_s|gaps)$'": "0",
			},
		},
		{ // NaN, and a cell in which nothing counts
			id: "C21", cells: cellsOf(1, 2),
			build: func(run *ingesttest.Run) {
				ladder(run, "n001")
				a := run.Cell("n002")
				for i := range int64(2) {
					a.Stream(i, ingesttest.Role(100*ms))
				}
				a.State = "partial"
				identified(a).Page("before", 0, "vllm:kv_cache_usage_perc{engine=\"0\"} NaN\nprocess_start_time_seconds 5\n").
					Page("during", second, "vllm:kv_cache_usage_perc{engine=\"0\"} NaN\nprocess_start_time_seconds 5\n").
					Page("after", 40*second, "vllm:kv_cache_usage_perc{engine=\"0\"} NaN\nprocess_start_time_seconds 5\n")
			},
			want: map[string]string{
				"SELECT n, p50, note FROM cell_distributions WHERE campaign = $c AND cell = 'n002' AND metric = 'e2e_ns'": "0||no value",
				"SELECT count(*), count(value) FROM engine_gauges WHERE campaign = $c AND canonical = 'kv_usage_ratio'":   "3|0",
			},
			look: says("`n002`", "-NaN", "-<nil>"),
		},
	}
}

// TestForeignArtifactIsNotGuessed is the other half of C19: a file without a known
// schema is a problem, whatever its numbers look like.
func TestForeignArtifactIsNotGuessed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.json": `{"ttft": 214000000}`, "b.json": `{"ttft": 0.214}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db := filepath.Join(dir, "foreign.duckdb")
	command(t, "ingest", filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json"), "--db", db)
	if got := value(t, db, "SELECT count(*) FROM request_facts"); got != "0" {
		t.Errorf("%s requests were made of files without a schema", got)
	}
	if got := value(t, db, "SELECT count(*) FROM problems"); got != "2" {
		t.Errorf("%s problems, want one for each file", got)
	}
}
