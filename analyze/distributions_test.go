package analyze

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/ingest/store"

	"github.com/google/go-cmp/cmp"
)

// nearest is the nearest-rank percentile, computed without the formula of the
// views: the smallest value that at least q percent of the values do not exceed.
func nearest(values []float64, q int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	for i := range sorted {
		if (i+1)*100 >= q*len(sorted) {
			return sorted[i]
		}
	}
	panic("no values")
}

func text(x float64) string { return fmt.Sprint(x) }

func TestDistributionsAgreeWithAnIndependentComputation(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	f := newFixture(t)
	observed := map[string][]float64{}
	sizes := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 19, 20, 21, 40, 41, 100, 129, 130}
	for _, n := range sizes {
		cell := fmt.Sprint("n", n)
		f.cell("baseline", cell, row{"requests": n})
		for i := range n {
			ttfo := int(random.Int64N(50)+1) * 1_000_000 // many ties
			f.request("baseline", cell, i, row{"ttfo_ns": ttfo, "last_output_ns": ttfo + 1 + int(random.Int64N(1e9)), "done_ns": 2_000_000_000, "end_ns": 2_000_000_000})
			observed[cell] = append(observed[cell], float64(ttfo))
		}
	}
	db := f.load()
	got := keyed(t, db, "SELECT cell, population, n, min, p50, p95, max, p50_low, p50_high FROM cell_distributions WHERE metric = 'ttfo_ns'")
	for _, n := range sizes {
		cell := fmt.Sprint("n", n)
		values := observed[cell]
		sorted := slices.Sorted(slices.Values(values))
		low, high := "-", "-"
		if rank := narrowest(int64(n)); rank > 0 {
			low, high = text(sorted[rank-1]), text(sorted[n-int(rank)])
		}
		want := []string{"eligible", strconv.Itoa(n), text(sorted[0]), text(nearest(values, 50)), text(nearest(values, 95)), text(sorted[n-1]), low, high}
		if diff := cmp.Diff(want, got[cell]); diff != "" {
			t.Errorf("%s: %s", cell, diff)
		}
	}
	checkQuantileDisc(t, db)
}

// checkQuantileDisc holds the views against DuckDB's own discrete quantile.
func checkQuantileDisc(t *testing.T, db *store.DB) {
	t.Helper()
	differing := query(t, db, `SELECT d.cell FROM cell_distributions d
		JOIN (SELECT cell, quantile_disc(ttfo_ns, 0.5) AS p50, quantile_disc(ttfo_ns, 0.95) AS p95 FROM request_metrics GROUP BY cell) q ON q.cell = d.cell
		WHERE d.metric = 'ttfo_ns' AND (d.p50 <> q.p50 OR d.p95 <> q.p95)`)
	if len(differing) > 0 {
		t.Errorf("quantile_disc differs in %v", differing)
	}
}

func TestMetricsAgreeWithAnIndependentComputation(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	f := newFixture(t)
	const n = 200
	f.cell("baseline", "a", row{"requests": n})
	var want [][]string
	for i := range n {
		ttfo, last := random.Int64N(1e9), random.Int64N(2e9)
		prompt, completion, output := random.Int64N(5), random.Int64N(4), random.Int64N(4)
		f.request("baseline", "a", i, row{
			"ttfo_ns": ttfo, "ttft_ns": ttfo, "ttft_nonblank_ns": ttfo, "last_output_ns": last, "prompt_tokens": prompt, "completion_tokens": completion,
			"output_events": output, "cached_tokens": nil, "gaps": max(output-1, 0), "gap_p50_ns": 7,
		})
		line := []string{"-", "-", "-", "-", "-"}
		if completion >= 2 && output >= 2 && last > ttfo {
			window := float64(last - ttfo)
			line[0], line[1] = text(window/float64(completion-1)), text(float64(completion-1)*1e9/window)
		}
		if ttfo > 0 {
			line[2] = text(float64(prompt) * 1e9 / float64(ttfo))
		}
		if output > 0 {
			line[3] = text(float64(completion) / float64(output))
		}
		if output >= 2 {
			line[4] = "7"
		}
		want = append(want, line)
	}
	got := query(t, f.load(), "SELECT tpot_ns, decode_tok_s, effective_prefill_tok_s, tokens_per_chunk, gap_p50_ns FROM request_metrics ORDER BY request_index")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMetricsAreNullWhereTheirDefinitionSaysSo(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "a", row{"requests": 6})
	f.request("baseline", "a", 0, row{"completion_tokens": 1})
	f.request("baseline", "a", 1, row{"output_events": 1, "gaps": 0, "last_output_ns": 1_000_000})
	f.request("baseline", "a", 2, row{"last_output_ns": 1_000_000})
	f.request("baseline", "a", 3, row{"ttfo_ns": 0})
	f.request("baseline", "a", 4, row{"prompt_tokens": nil, "completion_tokens": nil, "cached_tokens": nil})
	f.request("baseline", "a", 5, row{"cached_tokens": 80})
	want := [][]string{
		{"0", "-", "8e+06", "1000000", "0"},
		{"1", "-", "8e+06", "-", "0"},
		{"2", "-", "8e+06", "1000000", "0"},
		{"3", "1.1e+06", "-", "1000000", "0"},
		{"4", "-", "-", "1000000", "-"},
		{"5", "1e+06", "8e+06", "1000000", "0.01"},
	}
	got := query(t, f.load(), "SELECT request_index, tpot_ns, effective_prefill_tok_s, gap_p50_ns, cached_share FROM request_metrics ORDER BY request_index")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDistributionLabels(t *testing.T) {
	tests := []struct {
		n    int
		note string
	}{
		{1, "list of values; p95 = max; p50 descriptive; p95 descriptive"},
		{4, "list of values; p95 = max; p50 descriptive; p95 descriptive"},
		{6, "p95 = max; p50 descriptive; p95 descriptive"},
		{8, "p95 = max; p50 descriptive; p95 descriptive"},
		{11, "p95 = max; p95 descriptive"},
		{20, "p95 descriptive"},
		{129, "p95 descriptive"},
		{130, ""},
	}
	f := newFixture(t)
	for _, test := range tests {
		cell := fmt.Sprint(test.n)
		f.cell("baseline", cell, row{"requests": test.n})
		for i := range test.n {
			f.request("baseline", cell, i)
		}
	}
	got := keyed(t, f.load(), "SELECT cell, note FROM cell_distributions WHERE metric = 'e2e_ns'")
	for _, test := range tests {
		if note := got[fmt.Sprint(test.n)]; note[0] != test.note {
			t.Errorf("n = %d: note %q, want %q", test.n, note[0], test.note)
		}
	}
}

func TestPopulationsStayApart(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "good", row{"requests": 2})
	f.request("baseline", "good", 0)
	f.request("baseline", "good", 1, row{"reasoning_tokens": nil})
	f.cell("baseline", "bad", row{"requests": 3})
	f.request("baseline", "bad", 0)
	f.request("baseline", "bad", 1, row{"canary_state": "absent"})
	f.request("baseline", "bad", 2, row{"completion_tokens": nil})
	f.cell("baseline", "warm", row{"excluded_warmup": true, "workload": "warmup"})
	f.request("baseline", "warm", 0, row{"ttfo_ns": 30_000_000_000, "ttft_ns": 30_000_000_000, "t0_ns": 90 * second})
	f.plannedCell("baseline", "never", row{"requests": 4})
	db := f.load()
	want := [][]string{
		{"good", "eligible", "2", "list of values; p95 = max; p50 descriptive; p95 descriptive"},
		{"bad", "passing_only", "1", "list of values; p95 = max; p50 descriptive; p95 descriptive"},
		{"never", "passing_only", "0", "no value"},
	}
	got := query(t, db, "SELECT cell, population, n, note FROM cell_distributions WHERE metric = 'ttfo_ns'")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	reasoning := one(t, db, "SELECT n, note FROM cell_distributions WHERE cell = 'good' AND metric = 'reasoning_tokens'")
	if diff := cmp.Diff([]string{"1", "list of values; p95 = max; p50 descriptive; p95 descriptive; 1 of 2 without a value"}, reasoning); diff != "" {
		t.Error(diff)
	}
	if n := one(t, db, "SELECT count(*) FROM cell_distributions")[0]; n != "30" {
		t.Errorf("%s rows, want 3 measured cells x 10 metrics", n)
	}
}

func TestNoViewHasAPercentileAboveNinetyFive(t *testing.T) {
	db := newFixture(t).load()
	columns := query(t, db, "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND column_name ~ 'p9[6-9]'")
	for _, c := range columns {
		// The client's own error bar may use p99 (measurement.md section 10).
		if c[1] != "lag_p99_ns" {
			t.Errorf("%s.%s", c[0], c[1])
		}
	}
	for _, name := range ViewNames() {
		sql, _ := ViewSQL(name)
		if strings.Contains(sql, "99 *") || strings.Contains(sql, "0.99") {
			t.Errorf("%s computes a 99th percentile", name)
		}
	}
}
