package ingest_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"assay/collect/record"
	. "assay/ingest/ingesttest"
)

func TestD14TextFormatSurprisesCostTheirLineOnly(t *testing.T) {
	odd := "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{m=\"a\\\"b\\\\c\\n\"} 1e3\n" +
		"# TYPE vllm:num_requests_running gauge\n" + // a second TYPE line
		"vllm:kv_cache_usage_perc NaN\nvllm:num_requests_waiting +Inf\nbroken{ 1\n" +
		"vllm:prompt_tokens_total 5 # {trace=\"x\"} 0.7 1712345678.9\n# EOF\nvllm:generation_tokens_total 12" // no line end
	run := pageCells(t, []string{"x"}, func(string) (string, string, string) { return "", odd, "<!DOCTYPE html><html>login</html>" })
	db := views(t, run)
	want(t, query(t, db, "SELECT series, labels, value FROM engine_samples WHERE value IS NOT NULL ORDER BY 1"),
		"vllm:kv_cache_usage_perc|{}|NaN", `vllm:num_requests_running|{"m":"a\"b\\c\n"}|1000`, "vllm:num_requests_waiting|{}|+Inf", "vllm:prompt_tokens_total|{}|5")
	want(t, query(t, db, "SELECT position, detail FROM problems WHERE code = 'page_line' ORDER BY 1"),
		"page 0, line 3|second_type", "page 0, line 6|bad_labels", "page 0, line 9|torn_line", "page 1, line 0|not_metrics")
	want(t, query(t, db, "SELECT phase, error, body_bytes, length(body_sha256) FROM pages ORDER BY page_seq"),
		fmt.Sprintf("during||%d|64", len(odd)), "after|not_metrics|33|64")
	want(t, query(t, db, "SELECT failed FROM page_scrapes"), "1")
	want(t, query(t, db, "SELECT eligibility FROM cell_eligibility"), "eligible") // the cell goes on
	folders, err := filepath.Glob(filepath.Join(run.Dir, "cells", "*", "*", "*"))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	if pages, err := record.ReadTable(folders[0], record.Pages); err != nil || string(pages[0].Body) != odd {
		t.Errorf("the raw page is %q, %v", pages[0].Body, err)
	}
}

func TestD15AGaugeThatIsNoNumberSpoilsNoMaximum(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a"}))
	a := run.Cell("x").Fill()
	for i, v := range []string{"0.3", "NaN", "0.7"} {
		a.Page("during", time.Duration(i)*time.Second, "vllm:kv_cache_usage_perc "+v+"\n")
	}
	db := views(t, run)
	want(t, query(t, db, "SELECT pages, samples, not_a_number, lowest, highest, highest_during FROM gauge_summary WHERE canonical = 'kv_usage_ratio'"), "3|2|1|0.3|0.7|0.7")
	want(t, query(t, db, "SELECT count(*) FROM engine_gauges WHERE value = 0"), "0")
}

// A server that takes 3 s for a page and gives every second one short: what was
// really had is stated, and the short pages take no part. That one scrape is in
// flight is a test of package campaign.
func TestD16SlowScrapesAndShortPagesAreStatedAsTheyWere(t *testing.T) {
	full := started + "vllm:num_requests_running 1\nvllm:num_requests_waiting 0\nvllm:kv_cache_usage_perc 0.5\nvllm:prompt_tokens_total 5\n"
	short := started + "vllm:num_requests_running 1\n"
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a"}))
	a := run.Cell("x").Fill()
	a.Page("before", 0, full)
	for i := range 6 {
		a.Page("during", time.Duration(3*i+3)*time.Second, []string{full, short}[i%2])
	}
	a.Page("after", 30*time.Second, full)
	for i := range a.Pages {
		a.Pages[i].EndNs = a.Pages[i].StartNs + int64(3*time.Second)
	}
	a.Problems = []record.Problem{{Code: "sample_skipped", Source: "pages", Detail: "a reading took longer than the interval; ticks left out: 30"}}
	db := views(t, run)
	want(t, query(t, db, "SELECT scrapes, during, failed, short, interval_p50_ns, interval_max_ns, took_p50_ns, size_min_bytes, size_max_bytes FROM page_scrapes"),
		fmt.Sprintf("8|6|3|3|3000000000|3000000000|3000000000|%d|%d", len(full), len(full)))
	want(t, query(t, db, "SELECT count(*) FROM problems WHERE code = 'page_families' AND detail LIKE '%it is not used'"), "3")
	want(t, query(t, db, "SELECT pages, not_a_number FROM gauge_summary WHERE canonical = 'kv_usage_ratio'"), "5|0")
	want(t, query(t, db, "SELECT pages_dropped, samples_dropped FROM client_telemetry"), "30|0")
	want(t, query(t, db, "SELECT p50_ns, errors FROM sampling_intervals WHERE source = 'pages'"), "6000000000|3")
}

// counted is a page of an engine that has finished n requests of p prompt tokens.
func counted(stop, length, abort, prompt, generated, preempted int) string {
	return started + fmt.Sprintf("vllm:request_success_total{finished_reason=\"stop\"} %d\nvllm:request_success_total{finished_reason=\"length\"} %d\n"+
		"vllm:request_success_total{finished_reason=\"abort\"} %d\nvllm:prompt_tokens_total %d\nvllm:generation_tokens_total %d\nvllm:num_preemptions_total %d\n",
		stop, length, abort, prompt, generated, preempted) +
		histogramText("vllm:e2e_request_latency_seconds", float64(stop+length), fmt.Sprintf("1:%d", stop+length), fmt.Sprintf("+Inf:%d", stop+length))
}

// D17 and D18: what the engine counted beside what the client did, in cells of
// eight sound requests of 100 prompt and 5 completion tokens.
func TestD17D18ForeignAndRecomputedTokensAreToldApart(t *testing.T) {
	after := map[string]string{
		"sound": counted(8, 0, 0, 800, 40, 0), "foreign": counted(9, 1, 1, 9800, 40, 0),
		"preempted": counted(8, 0, 0, 800+16000, 40, 2), "both": counted(9, 0, 0, 900+16000, 45, 2),
	}
	var specs []CellSpec
	for _, cell := range []string{"sound", "foreign", "preempted", "both"} {
		specs = append(specs, CellSpec{ID: cell, Arm: "a", Requests: 8, Concurrency: 4})
	}
	run := NewRun(t, Plan(t, specs...))
	for cell, page := range after {
		run.Cell(cell).Fill().Page("before", 0, counted(0, 0, 0, 0, 0, 0)).Page("after", 20*time.Second, page)
	}
	db := views(t, run)
	want(t, query(t, db, "SELECT cell, observed, expected, verdict, explanation FROM engine_checks WHERE check_name = 'requests_are_ours' ORDER BY 1"),
		"both|9|8|explained|foreign_traffic: 1 foreign or unaccounted requests",
		"foreign|11|8|explained|foreign_traffic: 3 foreign or unaccounted requests", // summed over stop, length and abort
		"preempted|8|8|holds|null", "sound|8|8|holds|null")
	want(t, query(t, db, "SELECT cell, observed, expected, explanation FROM engine_checks WHERE check_name = 'prompt_tokens_are_ours' ORDER BY 1"),
		"both|16900|800|foreign_traffic: 1 foreign or unaccounted requests", // whatever was preempted
		"foreign|9800|800|foreign_traffic: 3 foreign or unaccounted requests",
		"preempted|16800|800|preemption_recompute: 2 preemptions; the engine's count holds tokens computed again", "sound|800|800|null")
	want(t, query(t, db, "SELECT cell, metric, reason FROM metric_withholdings WHERE flag = 'foreign_traffic' ORDER BY 1, 2"),
		"both|engine_means|the engine finished 9 requests, the client sent 8", "both|token_attribution|not_evaluable: 2 preemptions: tokens were computed again",
		"foreign|engine_means|the engine finished 11 requests, the client sent 8", "preempted|token_attribution|not_evaluable: 2 preemptions: tokens were computed again")
	want(t, query(t, db, "SELECT cell, n, mean, p50_high, reason FROM histogram_summary WHERE canonical = 'e2e_seconds' ORDER BY 1"),
		"both|9|null|null|foreign_traffic: the engine finished 9 requests, the client sent 8",
		"foreign|10|null|null|foreign_traffic: the engine finished 11 requests, the client sent 8", "preempted|8|1|1|null", "sound|8|1|1|null")
	want(t, query(t, db, "SELECT cell, delta FROM counter_deltas WHERE canonical = 'preemptions' ORDER BY 1"), "both|2", "foreign|0", "preempted|2", "sound|0")
	want(t, query(t, db, "SELECT count(*), count(ttfo_ns) FROM request_metrics"), "32|32") // the client's own numbers stand
}

func TestD19ASampledMaximumIsALowerBoundBesideTheExactOverlap(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a", Requests: 4, Concurrency: 4}))
	a := run.Cell("x").Fill()
	for i, n := range []int{2, 3, 3} {
		a.Page("during", time.Duration(i)*time.Second, fmt.Sprintf("vllm:num_requests_running %d\n", n))
	}
	db := views(t, run)
	want(t, query(t, db, "SELECT claim, value, source, note FROM concurrency_claims WHERE claim IN ('measured_concurrency', 'sampled_running') ORDER BY 1"),
		"measured_concurrency|4|client, exact|cell x; prompts of 100 to 100 tokens, outputs of 5 to 5", "sampled_running|3|engine pages|lower bound, 3 pages")
	want(t, query(t, db, "SELECT highest, samples FROM gauge_summary WHERE canonical = 'requests_running'"), "3|3")
	want(t, query(t, db, "SELECT interval_p50_ns, interval_max_ns FROM page_scrapes"), "1000000000|1000000000")
	want(t, query(t, db, "SELECT count(*) FROM metric_withholdings WHERE flag = 'overlap_short'"), "0") // no contradiction
}

// The engine's own prompt speed leaves cached tokens out. It stays in the raw
// chunk; the effective prefill is usage over the client's time, with the cache noted.
func TestD20TheEnginesOwnPromptSpeedIsNeverOurPrefill(t *testing.T) {
	const timings = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"timings":{"prompt_n":1,"cache_n":236,"prompt_per_second":32.1},` +
		`"usage":{"prompt_tokens":237,"completion_tokens":2,"total_tokens":239,"prompt_tokens_details":{"cached_tokens":236}}}`
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a", NoCanaries: true}))
	a := run.Cell("x").Stream(0, Content(100*ms, "a"), Content(120*ms, "b"), Raw(130*ms, timings), Done(140*ms))
	db := views(t, run)
	want(t, query(t, db, "SELECT effective_prefill_tok_s, cached_share > 0.99 FROM request_metrics"), "2370|true")
	want(t, query(t, db, "SELECT metric, flag FROM metric_withholdings WHERE flag = 'cache_assisted'"), "effective_prefill_tok_s|cache_assisted")
	raw := filepath.Join(run.Folder(a), "events.parquet")
	want(t, query(t, db, "SELECT json_extract(decode(payload), '$.timings.prompt_per_second') FROM read_parquet('"+raw+"') WHERE contains(decode(payload), 'timings')"), "32.1")
}
