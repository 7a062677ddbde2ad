package ingest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/analyze"
	. "assay/ingest/ingesttest"
	"assay/ingest/store"
)

// The field cases about engine pages, each from the page's bytes in a run
// directory through ingest to the views.

// views is a database with the run directory loaded and the views made.
func views(t *testing.T, run *Run) *store.DB {
	t.Helper()
	db := openDB(t)
	load(t, db, run.Write())
	if err := analyze.CreateViews(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db
}

// pageCells makes a run with a cell of one request for each name; its pages are
// those given for the phases before, during and after, empty for none.
func pageCells(t *testing.T, names []string, pages func(cell string) (before, during, after string)) *Run {
	t.Helper()
	var specs []CellSpec
	for _, name := range names {
		specs = append(specs, CellSpec{ID: name, Arm: "a"})
	}
	run := NewRun(t, Plan(t, specs...))
	for _, name := range names {
		a := run.Cell(name).Identity("before", "m", "1", 327680).Fill()
		before, during, after := pages(name)
		for i, body := range []string{before, during, after} {
			if body != "" {
				a.Page([]string{"before", "during", "after"}[i], time.Duration(i)*time.Second, body)
			}
		}
		a.Identity("after", "m", "1", 327680)
	}
	return run
}

const started = "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1000\n"

// histogramText is a family with the given cumulative buckets, as "edge:count".
func histogramText(family string, sum float64, buckets ...string) string {
	b := "# TYPE " + family + " histogram\n"
	count := "0"
	for _, bucket := range buckets {
		edge, n, _ := strings.Cut(bucket, ":")
		b += fmt.Sprintf("%s_bucket{le=\"%s\"} %s\n", family, edge, n)
		count = n
	}
	return b + fmt.Sprintf("%s_count %s\n%s_sum %v\n", family, count, family, sum)
}

func TestD01KVUsageUnderItsOldAndItsNewName(t *testing.T) {
	const oldName, newName = "vllm:gpu_cache_usage_perc", "vllm:kv_cache_usage_perc"
	pages := map[string]string{
		"old": oldName + " 0.42\n", "new": newName + " 0.42\n", "both": oldName + " 0.9\n" + newName + " 0.42\n", "neither": "x 1\n",
	}
	db := views(t, pageCells(t, []string{"old", "new", "both", "neither"}, func(cell string) (string, string, string) { return "", pages[cell], "" }))
	want(t, query(t, db, "SELECT cell, value, unit FROM engine_gauges WHERE canonical = 'kv_usage_ratio' ORDER BY 1"), "both|0.42|ratio", "new|0.42|ratio", "old|0.42|ratio")
	want(t, query(t, db, "SELECT cell, scraped FROM resolved_series WHERE canonical = 'kv_usage_ratio' ORDER BY 1"),
		"both|"+newName, "neither|null", "new|"+newName, "old|"+oldName)
	want(t, query(t, db, "SELECT definition FROM canonical_series WHERE canonical = 'kv_usage_ratio' LIMIT 1"), "Share of the KV pool in use, 0 to 1.")
}

func TestD02TokenLatencyNamesAreToldApart(t *testing.T) {
	family := map[string]string{"old": "vllm:time_per_output_token_seconds", "new": "vllm:inter_token_latency_seconds", "request": "vllm:request_time_per_output_token_seconds", "none": "x"}
	page := func(cell string, n int) string {
		return started + histogramText(family[cell], float64(n), fmt.Sprintf("1:%d", n), fmt.Sprintf("+Inf:%d", n))
	}
	db := views(t, pageCells(t, []string{"old", "new", "request", "none"}, func(cell string) (string, string, string) { return page(cell, 0), "", page(cell, 4) }))
	got := query(t, db, `SELECT cell, canonical, series, n, mean, reason FROM histogram_summary
		WHERE canonical IN ('itl_per_output_seconds', 'tpot_request_seconds') AND (series IS NOT NULL OR cell = 'none') ORDER BY 1, 2`)
	want(t, got,
		"new|itl_per_output_seconds|vllm:inter_token_latency_seconds|4|1|null",
		"none|itl_per_output_seconds|null|null|null|not_exposed: no series of this meaning is on the pages",
		"none|tpot_request_seconds|null|null|null|not_exposed: no series of this meaning is on the pages",
		"old|itl_per_output_seconds|vllm:time_per_output_token_seconds|4|1|null",
		"request|tpot_request_seconds|vllm:request_time_per_output_token_seconds|4|1|null")
}

// The same name means a token in one engine and an output of several in another:
// the mean says how many tokens an observation held, and no view compares it.
func TestD03TokenLatencyIsPerOutputAndNotCompared(t *testing.T) {
	const name = "vllm:inter_token_latency_seconds"
	page := func(outputs, tokens int, sum float64) string {
		return started + fmt.Sprintf("vllm:generation_tokens_total %d\n", tokens) + histogramText(name, sum, fmt.Sprintf("1:%d", outputs), fmt.Sprintf("+Inf:%d", outputs))
	}
	// A request gets as many completion tokens as the engine counts, or it would be foreign traffic.
	run := NewRun(t, Plan(t, CellSpec{ID: "mtp", Arm: "a"}, CellSpec{ID: "plain", Arm: "a"}))
	for cell, outputs := range map[string]int{"mtp": 100, "plain": 340} {
		a := run.Cell(cell).Stream(0, Content(ms, "ASSAY "), Content(2*ms, "x"), Finish(3*ms, "stop"), Usage(4*ms, 100, 340), Done(5*ms))
		a.Page("before", 0, page(0, 0, 0)).Page("after", time.Second, page(outputs, 340, 4))
	}
	db := views(t, run)
	want(t, query(t, db, "SELECT cell, round(mean * 1000, 1), round(tokens_per_observation, 1), n FROM histogram_summary WHERE canonical = 'itl_per_output_seconds' ORDER BY 1"),
		"mtp|40|3.4|100", "plain|11.8|1|340")
	want(t, query(t, db, "SELECT definition FROM canonical_series WHERE canonical = 'itl_per_output_seconds' LIMIT 1"),
		"Gap between consecutive engine outputs of a request; one output may hold several tokens.")
	want(t, query(t, db, "SELECT count(*) FROM comparisons WHERE metric LIKE '%itl%' OR metric LIKE '%inter_token%'"), "0")
	want(t, query(t, db, "SELECT count(DISTINCT canonical) FROM canonical_series WHERE series IN ('vllm:inter_token_latency_seconds', 'sglang:inter_token_latency_seconds')"), "2")
}

func TestD04BothPrefixesAndMetricsThatAreSwitchedOff(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "colon", Arm: "a"}, CellSpec{ID: "underscore", Arm: "a"}, CellSpec{ID: "off", Arm: "a"}))
	for cell, prefix := range map[string]string{"colon": "sglang:", "underscore": "sglang_"} {
		page := func(n int) string { return started + fmt.Sprintf("%sgeneration_tokens_total %d\n", prefix, n) }
		run.Cell(cell).Identity("before", "m", "1", 1).Fill().Identity("after", "m", "1", 1).Page("before", 0, page(5)).Page("after", time.Second, page(12))
	}
	off := run.Cell("off").Identity("before", "m", "1", 1).Fill().Identity("after", "m", "1", 1).Page("before", 0, "not found").Page("after", time.Second, "not found")
	missing := int64(404)
	for i := range off.Pages {
		off.Pages[i].HTTPStatus, off.Pages[i].Error = &missing, "http_404"
	}
	db := views(t, run)
	want(t, query(t, db, "SELECT cell, series, delta FROM counter_deltas WHERE canonical = 'generation_tokens' ORDER BY 1"),
		"colon|sglang:generation_tokens_total|7", "underscore|sglang_generation_tokens_total|7")
	want(t, query(t, db, "SELECT count(*) FROM resolved_series WHERE cell = 'off'"), "0")
	want(t, query(t, db, "SELECT scrapes, failed, size_max_bytes FROM page_scrapes WHERE cell = 'off'"), "2|2|null")
	want(t, query(t, db, "SELECT eligibility FROM cell_eligibility WHERE cell = 'off'"), "eligible")
	want(t, query(t, db, "SELECT ttfo_ns FROM request_metrics WHERE cell = 'off'"), "200000000")
}

func TestD06CounterResetIsNeitherNegativeNorWrappedNorTheNewValue(t *testing.T) {
	page := func(start, n int) string {
		return fmt.Sprintf("process_start_time_seconds %d\nvllm:request_success_total{finished_reason=\"stop\"} %d\n", start, n) +
			histogramText("vllm:e2e_request_latency_seconds", float64(n), fmt.Sprintf("1:%d", n), fmt.Sprintf("+Inf:%d", n))
	}
	db := views(t, pageCells(t, []string{"restarted", "fell"}, func(cell string) (string, string, string) {
		if cell == "fell" {
			return page(1000, 100), "", page(1000, 8)
		}
		return page(1000, 100), "", page(2000, 8)
	}))
	want(t, query(t, db, "SELECT cell, before, after, delta, reason FROM counter_deltas WHERE canonical = 'requests_finished' ORDER BY 1"),
		"fell|100|8|null|counter_reset: the counter fell", "restarted|100|8|null|counter_reset: the process start changed")
	want(t, query(t, db, "SELECT count(*), count(delta), count(total), min(left(reason, 13)) FROM histogram_deltas WHERE canonical = 'e2e_seconds'"), "4|0|0|counter_reset")
	want(t, query(t, db, "SELECT cell, verdict FROM cell_verdicts WHERE rule = 'identity_stable' ORDER BY 1"), "fell|pass", "restarted|fail")
	want(t, query(t, db, "SELECT cell, verdict FROM engine_checks WHERE check_name = 'requests_are_ours' ORDER BY 1"), "fell|not_evaluable", "restarted|not_evaluable")
}

func TestD08CreatedIsATimeAndEvidenceOfAReset(t *testing.T) {
	page := func(created string, n int) string {
		return started + fmt.Sprintf("vllm:num_preemptions_total %d\nvllm:num_preemptions_created %s\n", n, created)
	}
	db := views(t, pageCells(t, []string{"same", "changed"}, func(cell string) (string, string, string) {
		return page("1.79e9", 2), "", page(map[string]string{"same": "1.79e9", "changed": "1.80e9"}[cell], 5)
	}))
	want(t, query(t, db, "SELECT cell, series, delta, reason FROM counter_deltas WHERE canonical = 'preemptions' ORDER BY 1"),
		"changed|vllm:num_preemptions_total|null|counter_reset: _created changed", "same|vllm:num_preemptions_total|3|null")
	want(t, query(t, db, "SELECT count(*) FROM counter_deltas WHERE series LIKE '%created%'"), "0")
	want(t, query(t, db, "SELECT count(*) > 0 FROM engine_samples WHERE series LIKE '%created%'"), "true")
}

func TestD09BucketEdgesThatDiffer(t *testing.T) {
	const name = "vllm:e2e_request_latency_seconds"
	short := func(n int) string {
		return started + histogramText(name, float64(n), "0.5:0", "1:0", fmt.Sprintf("2:%d", n), fmt.Sprintf("+Inf:%d", n))
	}
	long := func(n int) string {
		return started + histogramText(name, float64(n), "0.5:0", "1:0", "2:0", fmt.Sprintf("5:%d", n), "10:"+fmt.Sprint(n), "+Inf:"+fmt.Sprint(n))
	}
	db := views(t, pageCells(t, []string{"short", "long", "changed"}, func(cell string) (string, string, string) {
		switch cell {
		case "short":
			return short(0), "", short(8)
		case "long":
			return long(0), "", long(8)
		}
		return short(2), "", long(10)
	}))
	want(t, query(t, db, "SELECT cell, n, mean, p50_low, p50_high, reason FROM histogram_summary WHERE canonical = 'e2e_seconds' ORDER BY 1"),
		"changed|null|null|null|null|bucket_change: the bucket edges differ", "long|8|1|2|5|null", "short|8|1|1|2|null")
	want(t, query(t, db, "SELECT count(*) FROM comparisons WHERE metric LIKE 'e2e_seconds%' OR metric LIKE '%bucket%'"), "0")
}

func TestD10QuantileInTheOpenBucketAndWithoutOthers(t *testing.T) {
	const name = "vllm:e2e_request_latency_seconds"
	db := views(t, pageCells(t, []string{"open", "alone"}, func(cell string) (string, string, string) {
		if cell == "alone" {
			return started + histogramText(name, 0, "+Inf:0"), "", started + histogramText(name, 41.6, "+Inf:8")
		}
		return started + histogramText(name, 0, "1:0", "2:0", "+Inf:0"), "", started + histogramText(name, 41.6, "1:0", "2:3", "+Inf:8")
	}))
	want(t, query(t, db, "SELECT cell, mean, p50_low, p50_high, p95_low, p95_high, reason FROM histogram_summary WHERE canonical = 'e2e_seconds' ORDER BY 1"),
		"alone|5.2|null|null|null|null|quantiles unknown: only a +Inf bucket", "open|5.2|2|null|2|null|null")
}
