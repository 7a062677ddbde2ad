package analyze

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const e2e = "vllm:e2e_request_latency_seconds"

const start = `process_start_time_seconds{} 1000`

// histogram is the samples of one family, labels and buckets with the edges 1, 2
// and +Inf, or as given.
func histogram(labels string, sum float64, count int, buckets ...string) []string {
	var all []string
	for _, b := range buckets {
		le, n, _ := strings.Cut(b, ":")
		all = append(all, fmt.Sprintf("%s_bucket%s le=%s %s", e2e, labels, le, n))
	}
	return append(all, fmt.Sprintf("%s_sum%s %v", e2e, labels, sum), fmt.Sprintf("%s_count%s %d", e2e, labels, count))
}

func with(samples []string, more ...string) []string { return append(slices.Clone(samples), more...) }

func TestHistogramDeltasAndTheirRefusals(t *testing.T) {
	before := histogram("{}", 3, 2, "1:1", "2:2", "+Inf:2")
	after := histogram("{}", 44.6, 10, "1:1", "2:5", "+Inf:10")
	tests := []struct {
		name          string
		before, after []string // nil: no whole page
		reason        string   // empty for none
		total         string
	}{
		{"a delta", with(before, start), with(after, start), "-", "8"},
		{"process start unknown, both present", before, after, "-", "8"},
		{"no page before", nil, with(after, start), "no_baseline: no whole page before the cell", "-"},
		{"no page after", with(before, start), nil, "no_baseline: no whole page after the cell", "-"},
		{"process start changed", with(before, start), with(after, "process_start_time_seconds{} 2000"), "counter_reset: the process start changed", "-"},
		{"_created changed", with(before, e2e+"_created{} 5"), with(after, e2e+"_created{} 6"), "counter_reset: _created changed", "-"},
		{"_created equal", with(before, e2e+"_created{} 5"), with(after, e2e+"_created{} 5"), "-", "8"},
		{"count fell", with(after, start), with(before, start), "counter_reset: the count fell", "-"},
		{"bucket fell", before, histogram("{}", 44.6, 10, "1:0", "2:5", "+Inf:10"), "counter_reset: a bucket fell", "-"},
		{"sum fell", before, histogram("{}", 2, 10, "1:1", "2:5", "+Inf:10"), "counter_reset: the sum fell", "-"},
		{"an edge more", before, histogram("{}", 44.6, 10, "1:1", "2:5", "5:6", "+Inf:10"), "bucket_change: the bucket edges differ", "-"},
		{"an edge less", before, histogram("{}", 44.6, 10, "1:1", "+Inf:10"), "bucket_change: the bucket edges differ", "-"},
		{"buckets not monotone after", before, histogram("{}", 44.6, 10, "1:6", "2:5", "+Inf:10"), "torn_scrape: buckets are not monotone, after", "-"},
		{"buckets not monotone before", histogram("{}", 3, 2, "1:2", "2:1", "+Inf:2"), after, "torn_scrape: buckets are not monotone, before", "-"},
		{"+Inf bucket is not the count", before, histogram("{}", 44.6, 11, "1:1", "2:5", "+Inf:10"), "torn_scrape: the +Inf bucket is not the count, after", "-"},
		{"no +Inf bucket", before, histogram("{}", 44.6, 5, "1:1", "2:5"), "torn_scrape: the +Inf bucket or the count is missing, after", "-"},
		{"no count", before, after[:4], "torn_scrape: the +Inf bucket or the count is missing, after", "-"},
		{"no number", before, with(after[:3], e2e+"_sum{} NaN", e2e+"_count{} 10"), "torn_scrape: a value is no number, after", "-"},
		{"an edge twice", before, with(after, e2e+"_bucket{} le=2 5"), "torn_scrape: a bucket edge stands twice, after", "-"},
		{"gone after", with(before, start), []string{start}, "torn_scrape: absent after the cell", "-"},
		{"deltas not monotone", histogram("{}", 3, 5, "1:0", "2:5", "+Inf:5"), histogram("{}", 44.6, 6, "1:3", "2:6", "+Inf:6"), "torn_scrape: the bucket deltas are not monotone", "-"},
		{"absent before, declared", []string{start, e2e + "{} -"}, with(after, start), "-", "10"},
		{"absent before, declared, start unknown", []string{e2e + "{} -"}, after, "no_baseline: absent before, and the process start is unknown", "-"},
		{"absent before, not declared", []string{start}, with(after, start), "no_baseline: absent before, and its family was not declared", "-"},
		{"another label set was there before", with(histogram(`{"engine":"1"}`, 3, 2, "1:1", "2:2", "+Inf:2"), start), with(with(after, start), histogram(`{"engine":"1"}`, 3, 2, "1:1", "2:2", "+Inf:2")...), "-", "10"},
	}
	f := newFixture(t)
	for _, test := range tests {
		f.cell("baseline", test.name)
		f.request("baseline", test.name, 0)
		if test.before != nil {
			f.page("baseline", test.name, 1, "before", test.before...)
		}
		if test.after != nil {
			f.page("baseline", test.name, 9, "after", test.after...)
		}
	}
	db := f.load()
	got := keyed(t, db, "SELECT cell, reason, count_delta FROM histogram_series WHERE labels = '{}'")
	refused := keyed(t, db, "SELECT cell, count(delta), count(total), count(*) FILTER (delta < 0) FROM histogram_deltas WHERE labels = '{}' GROUP BY cell")
	for _, test := range tests {
		if diff := cmp.Diff([]string{test.reason, test.total}, got[test.name]); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if test.reason != "-" && !slices.Equal(refused[test.name], []string{"0", "0", "0"}) {
			t.Errorf("%s: deltas and totals %v in spite of the reason", test.name, refused[test.name])
		}
	}
	want := [][]string{{"1", "1", "1", "0", "8", "-"}, {"2", "2", "5", "3", "8", "-"}, {"+Inf", "2", "10", "8", "8", "-"}}
	if diff := cmp.Diff(want, query(t, db, "SELECT le, before, after, delta, total, reason FROM histogram_deltas WHERE cell = 'a delta'")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"0", "1"}, {"0", "5"}, {"0", "10"}}, query(t, db, "SELECT before, delta FROM histogram_deltas WHERE cell = 'absent before, declared'")); diff != "" {
		t.Error(diff)
	}
}

func TestProcessStartOfTheIdentitiesCounts(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "a")
	for phase, value := range map[string]string{"before": "1000", "after": "2000"} {
		f.add("identities", row{"campaign": campaign, "arm": "baseline", "cell": "a", "attempt": 1, "phase": phase, "fact": "process_start", "value": value, "source": "docker"})
	}
	f.page("baseline", "a", 1, "before", histogram("{}", 3, 2, "1:1", "+Inf:2")...)
	f.page("baseline", "a", 9, "after", histogram("{}", 4, 3, "1:2", "+Inf:3")...)
	if got := one(t, f.load(), "SELECT DISTINCT reason FROM histogram_deltas")[0]; got != "counter_reset: the process start changed" {
		t.Error(got)
	}
}

func TestDeltasLieBetweenTheLastWholePagesOfBothSides(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "a")
	counter := func(n int) string { return fmt.Sprintf(`vllm:prompt_tokens_total{"engine":"0"} %d`, n) }
	f.page("baseline", "a", 0, "before", counter(1))
	f.page("baseline", "a", 1, "before", counter(2)) // drained
	f.page("baseline", "a", 2, "before", counter(3)) // not whole
	f.page("baseline", "a", 3, "during", counter(50))
	f.page("baseline", "a", 4, "after", counter(90))
	f.page("baseline", "a", 5, "after", counter(102)) // drained
	f.page("baseline", "a", 6, "after", counter(500)) // not whole
	f.rows["pages"][2]["error"], f.rows["pages"][6]["error"] = "cut", "cut"
	got := one(t, f.load(), "SELECT before, after, delta FROM counter_deltas WHERE canonical = 'prompt_tokens'")
	if diff := cmp.Diff([]string{"2", "102", "100"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestHistogramQuantilesAreIntervals(t *testing.T) {
	zero := func(edges ...string) []string {
		var all []string
		for _, e := range edges {
			all = append(all, e+":0")
		}
		return histogram("{}", 0, 0, all...)
	}
	tests := []struct {
		name          string
		before, after []string
		want          []string // n, mean, p50_low, p50_high, p95_low, p95_high, reason
	}{
		{"case D10", zero("1", "2", "+Inf"), histogram("{}", 41.6, 8, "1:0", "2:3", "+Inf:8"), []string{"8", "5.2", "2", "-", "2", "-", "-"}},
		{"only +Inf", zero("+Inf"), histogram("{}", 41.6, 8, "+Inf:8"), []string{"8", "5.2", "-", "-", "-", "-", "quantiles unknown: only a +Inf bucket"}},
		{"first bucket", zero("1", "2", "+Inf"), histogram("{}", 4, 8, "1:8", "2:8", "+Inf:8"), []string{"8", "0.5", "0", "1", "0", "1", "-"}},
		{"rank on the edge", zero("1", "2", "+Inf"), histogram("{}", 8, 20, "1:10", "2:19", "+Inf:20"), []string{"20", "0.4", "0", "1", "1", "2", "-"}},
		{"no observations", zero("1", "2", "+Inf"), zero("1", "2", "+Inf"), []string{"0", "-", "-", "-", "-", "-", "no observations"}},
		{"a reset", histogram("{}", 4, 8, "1:8", "2:8", "+Inf:8"), zero("1", "2", "+Inf"), []string{"-", "-", "-", "-", "-", "-", "counter_reset: the count fell"}},
		{"no sum", zero("1", "+Inf"), []string{e2e + "_bucket{} le=1 4", e2e + "_bucket{} le=+Inf 4", e2e + "_count{} 4"}, []string{"4", "-", "0", "1", "0", "1", "no sum on the page"}},
	}
	f := newFixture(t)
	for _, test := range tests {
		f.cell("baseline", test.name)
		f.page("baseline", test.name, 1, "before", test.before...)
		f.page("baseline", test.name, 9, "after", test.after...)
	}
	db := f.load()
	got := keyed(t, db, "SELECT cell, n, mean, p50_low, p50_high, p95_low, p95_high, reason FROM histogram_summary WHERE canonical = 'e2e_seconds'")
	for _, test := range tests {
		if diff := cmp.Diff(test.want, got[test.name]); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
	hidden := one(t, db, "SELECT DISTINCT series, labels, n, reason FROM histogram_summary WHERE canonical = 'queue_seconds'")
	if diff := cmp.Diff([]string{"-", "-", "-", "not_exposed: no series of this meaning is on the pages"}, hidden); diff != "" {
		t.Error(diff)
	}
}

func TestHistogramDeltasAgreeWithAnIndependentComputation(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	edges := []string{"0.5", "1", "2", "5", "+Inf"}
	f := newFixture(t)
	want := map[string][]string{}
	for c := range 60 {
		cell := fmt.Sprint("cell", c)
		f.cell("baseline", cell)
		before, after := make([]int, len(edges)), make([]int, len(edges))
		var values []float64 // stand for their bucket by its upper edge
		for i := range edges {
			before[i] = random.IntN(5)
			grown := random.IntN(6)
			after[i] = before[i] + grown
			for range grown {
				values = append(values, float64(i))
			}
		}
		f.page("baseline", cell, 1, "before", cumulated(edges, before)...)
		f.page("baseline", cell, 2, "after", cumulated(edges, after)...)
		want[cell] = append([]string{fmt.Sprint(len(values))}, slices.Concat(interval(edges, values, 50), interval(edges, values, 95))...)
	}
	got := keyed(t, f.load(), "SELECT cell, n, p50_low, p50_high, p95_low, p95_high FROM histogram_summary WHERE canonical = 'e2e_seconds'")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func cumulated(edges []string, counts []int) []string {
	var buckets []string
	total := 0
	for i, e := range edges {
		total += counts[i]
		buckets = append(buckets, fmt.Sprintf("%s:%d", e, total))
	}
	return histogram("{}", float64(total), total, buckets...)
}

// interval is the bucket of the nearest-rank percentile of values that are
// bucket numbers.
func interval(edges []string, values []float64, q int) []string {
	if len(values) == 0 {
		return []string{"-", "-"}
	}
	bucket := int(nearest(values, q))
	low, high := "0", edges[bucket]
	if bucket > 0 {
		low = edges[bucket-1]
	}
	if high == "+Inf" {
		high = "-"
	}
	return []string{low, high}
}

func TestCounterDeltasAndTheirRefusals(t *testing.T) {
	const name = "vllm:num_preemptions"
	tests := []struct {
		name          string
		before, after []string
		delta, reason string
	}{
		{"with labels", []string{name + `_total{"engine":"0"} 5`}, []string{name + `_total{"engine":"0"} 7`}, "2", "-"},
		{"without _total", []string{name + `{} 5`}, []string{name + `{} 7`}, "2", "-"},
		{"unchanged", []string{name + `{} 5`}, []string{name + `{} 5`}, "0", "-"},
		{"fell", []string{name + `{} 100`}, []string{name + `{} 8`}, "-", "counter_reset: the counter fell"},
		{"grew past a restart", []string{name + `{} 5`, start}, []string{name + `{} 8`, "process_start_time_seconds{} 1001"}, "-", "counter_reset: the process start changed"},
		{"_created changed", []string{name + `_total{} 5`, name + `_created{} 1`}, []string{name + `_total{} 8`, name + `_created{} 2`}, "-", "counter_reset: _created changed"},
		{"labelled, absent before", []string{start}, []string{start, "!" + name + `_total{"engine":"0"} 7`}, "7", "-"},
		{"labelled, absent before, start unknown", []string{`x{} 1`}, []string{name + `_total{"engine":"0"} 7`}, "-", "no_baseline: absent before, and the process start is unknown"},
		{"without labels, absent before", []string{start}, []string{start, name + `_total{} 7`}, "-", "no_baseline: absent before, without labels, and its family was not declared"},
		{"without labels, declared before", []string{start, name + `{} -`}, []string{start, name + `_total{} 7`}, "7", "-"},
		{"gone after", []string{name + `{} 5`}, []string{`x{} 1`}, "-", "torn_scrape: absent after the cell"},
		{"no number", []string{name + `{} 5`}, []string{name + `{} NaN`}, "-", "torn_scrape: a value is no number"},
		{"no page before", nil, []string{name + `{} 5`}, "-", "no_baseline: no whole page before the cell"},
		{"no page after", []string{name + `{} 5`}, nil, "-", "no_baseline: no whole page after the cell"},
		{"only declared", []string{name + `{} -`}, []string{name + `{} -`}, "-", "no_baseline: the family has no series on either page"},
		{"not exposed", []string{`x{} 1`}, []string{`x{} 1`}, "-", "not_exposed: no series of this meaning is on the pages"},
	}
	f := newFixture(t)
	for _, test := range tests {
		f.cell("baseline", test.name)
		if test.before != nil {
			f.page("baseline", test.name, 1, "before", test.before...)
		}
		if test.after != nil {
			f.page("baseline", test.name, 9, "after", test.after...)
		}
	}
	got := keyed(t, f.load(), "SELECT cell, delta, reason FROM counter_deltas WHERE canonical = 'preemptions'")
	for _, test := range tests {
		if diff := cmp.Diff([]string{test.delta, test.reason}, got[test.name]); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestSeriesAreResolvedByPresenceAndNeverAddedTwice(t *testing.T) {
	tests := []struct {
		name    string
		samples []string
		value   string // kv_usage_ratio
		ranks   string
	}{
		{"old name", []string{`vllm:gpu_cache_usage_perc{} 0.42`}, "0.42", "1"},
		{"new name", []string{`vllm:kv_cache_usage_perc{} 0.42`}, "0.42", "1"},
		{"both names", []string{`vllm:gpu_cache_usage_perc{} 0.42`, `vllm:kv_cache_usage_perc{} 0.43`}, "0.43", "1"},
		{"new name only declared", []string{`vllm:gpu_cache_usage_perc{} 0.42`, `vllm:kv_cache_usage_perc{} -`}, "0.42", "1"},
		{"underscore after the prefix", []string{`sglang_token_usage{} 0.42`}, "0.42", "1"},
		{"highest of two ranks", []string{`vllm:kv_cache_usage_perc{"engine":"0"} 0.4`, `vllm:kv_cache_usage_perc{"engine":"1"} 0.7`}, "0.7", "2"},
		{"one rank is no number", []string{`vllm:kv_cache_usage_perc{"engine":"0"} 0.4`, `vllm:kv_cache_usage_perc{"engine":"1"} NaN`}, "0.4", "2"},
		{"no number", []string{`vllm:kv_cache_usage_perc{} NaN`}, "-", "1"},
		{"tensor-parallel copies", []string{`sglang:token_usage{"dp_rank":"0","tp_rank":"0"} 0.4`, `sglang:token_usage{"dp_rank":"0","tp_rank":"1"} 0.4`, `sglang:token_usage{"dp_rank":"1","tp_rank":"0"} 0.3`}, "0.4", "2"},
	}
	f := newFixture(t)
	for _, test := range tests {
		f.cell("baseline", test.name)
		f.page("baseline", test.name, 1, "during", test.samples...)
	}
	db := f.load()
	got := keyed(t, db, "SELECT cell, value, ranks FROM engine_gauges WHERE canonical = 'kv_usage_ratio'")
	for _, test := range tests {
		if diff := cmp.Diff([]string{test.value, test.ranks}, got[test.name]); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestRunningAddsOverRanksAndCopiesCountOnce(t *testing.T) {
	tests := []struct {
		name    string
		samples []string
		value   string
		ranks   string
	}{
		{"two ranks", []string{`vllm:num_requests_running{"engine":"0"} 3`, `vllm:num_requests_running{"engine":"1"} 2`}, "5", "2"},
		{"a rank that is no number", []string{`vllm:num_requests_running{"engine":"0"} 3`, `vllm:num_requests_running{"engine":"1"} NaN`}, "-", "2"},
		{"copies", []string{`sglang:num_running_reqs{"tp_rank":"0"} 3`, `sglang:num_running_reqs{"tp_rank":"1"} 3`}, "3", "1"},
	}
	f := newFixture(t)
	for _, test := range tests {
		f.cell("baseline", test.name)
		f.page("baseline", test.name, 1, "during", test.samples...)
	}
	got := keyed(t, f.load(), "SELECT cell, value, ranks FROM engine_gauges WHERE canonical = 'requests_running'")
	for _, test := range tests {
		if diff := cmp.Diff([]string{test.value, test.ranks}, got[test.name]); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestPartsOfOneCounterKeepTheirLabelFilters(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "a")
	source := func(name string, n int) string {
		return fmt.Sprintf(`vllm:prompt_tokens_by_source_total{"source":%q} %d`, name, n)
	}
	f.page("baseline", "a", 1, "before", start, source("local_compute", 0), source("local_cache_hit", 0), source("external_kv_transfer", 0))
	f.page("baseline", "a", 2, "after", start, source("local_compute", 100), source("local_cache_hit", 20), source("external_kv_transfer", 3))
	want := [][]string{
		{"prompt_tokens_cached", `{"source":"external_kv_transfer"}`, "3"},
		{"prompt_tokens_cached", `{"source":"local_cache_hit"}`, "20"},
		{"prompt_tokens_computed", `{"source":"local_compute"}`, "100"},
	}
	got := query(t, f.load(), "SELECT canonical, labels, delta FROM counter_deltas WHERE delta IS NOT NULL")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
