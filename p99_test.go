package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"assay/analyze"
	collect "assay/collect/cli"
	"assay/ingest/store"
	publish "assay/report/cli"
)

// tail finds what could give, or promise, a percentile above 95: names and words,
// and the arguments of a quantile.
var tail = regexp.MustCompile(`(?i)p9[6-9]\w*|p_?999?\w*|\b9[6-9](\.\d+)?(th|\s*%)|(^|[^\d.])0?\.9[6-9]\d*\b|\b9[6-9]\s*\*|\* 9[6-9]\b|\(9[6-9],|, 9[6-9]\)`)

// errorBar is the client's own error bar over the events of a request, which is no
// metric of a request and may use p99 (measurement.md section 10).
var errorBar = strings.NewReplacer("lag_p99_ns", "", "Nearest-rank p99 of the reader's lag", "", "Nearest-rank p99 of the reader''s lag", "", "the largest p99 of a request, which no p99\n--                    over the cell's events exceeds", "",
	"the reader lagged by {} us (p99)", "", "lag, p50 of p99s", "", "Largest p99", "",
	"the p99 of each request is known, and no p99 over the cell's events exceeds", "",
	"Median over the requests of the p99 of the reader's lag", "", "Median over the requests of the p99 of the reader''s lag", "")

// denials are texts that say that there is none, or why.
var denials = strings.NewReplacer("No p99 is given", "", "for description; no p99", "",
	"with confidence 0.99 and one allowed overshoot", "")

// eventTimes are the lines of docs/performance.md about the error of event times,
// the same error bar: headings and rows that give a percentile by its stamp, or of
// the test's own record, and name no metric of a request.
var eventTimes = regexp.MustCompile(`(?im)^.*\b(kernel|run|event)\b.*$`)
var requestMetric = regexp.MustCompile(`(?i)ttf|tpot|e2e|itl|latency|request|prefill|decode rate`)

// withoutErrorBar leaves out the lines about the error of event times.
func withoutErrorBar(page string) string {
	return eventTimes.ReplaceAllStringFunc(page, func(line string) string {
		if requestMetric.MatchString(line) {
			return line
		}
		return ""
	})
}

// scan reports every tail in a text that is neither.
func scan(t *testing.T, place, text string) {
	t.Helper()
	for _, found := range tail.FindAllString(denials.Replace(errorBar.Replace(text)), -1) {
		t.Errorf("%s has %q", place, found)
	}
}

// TestNoTailPercentileOfARequestCanBeHad walks every column and comment of the
// database, every view's SQL, every query and template and page, and every flag:
// none gives a percentile of a request metric above 95.
func TestNoTailPercentileOfARequestCanBeHad(t *testing.T) {
	ctx := context.Background()
	db, err := store.Open("", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.CreateTables(ctx); err != nil {
		t.Fatal(err)
	}
	if err := analyze.CreateViews(ctx, db); err != nil {
		t.Fatal(err)
	}
	type column struct{ table, name, comment string }
	found, err := db.Query(ctx, "columns", "SELECT table_name, column_name, coalesce(comment, '') FROM duckdb_columns() WHERE NOT internal")
	columns, err := store.Collect(found, err, func(c *column) []any { return []any{&c.table, &c.name, &c.comment} })
	if err != nil || len(columns) < 300 {
		t.Fatalf("%d columns, %v", len(columns), err)
	}
	for _, c := range columns {
		scan(t, "column "+c.table+"."+c.name, c.name+" "+c.comment)
	}
	for _, view := range analyze.ViewNames() {
		sql, _ := analyze.ViewSQL(view)
		scan(t, "view "+view, sql)
	}
	files := 0
	for _, root := range []string{"templates", "report/queries", "examples", "docs"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".tmpl", ".sql", ".md", ".yaml"}, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			files++
			if path == filepath.Join("docs", "performance.md") {
				text = []byte(withoutErrorBar(string(text)))
			}
			scan(t, path, string(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 50 {
		t.Errorf("only %d files were looked at", files)
	}
	env := collect.OSEnv()
	for _, c := range append(collect.Commands(env), publish.Commands(env)...) {
		scanCommand(t, c)
	}
}

func scanCommand(t *testing.T, c *cobra.Command) {
	t.Helper()
	scan(t, "command "+c.CommandPath(), c.Use+" "+c.Short+" "+c.Long+" "+c.Flags().FlagUsages())
	for _, sub := range c.Commands() {
		scanCommand(t, sub)
	}
}

// TestTailIsFound holds the pattern to texts it must see and must not see.
func TestTailIsFound(t *testing.T) {
	for _, text := range []string{"ttft_p99_ns", "p99", "quantile_disc(x, 0.99)", "99th percentile", "(99 * n + 99) // 100", "nearest_rank(x, 99)", "p999", "P98", "quantile_cont(v, .999)"} {
		if !tail.MatchString(text) {
			t.Errorf("%q passes", text)
		}
	}
	for _, text := range []string{"(95 * n + 99) // 100", "p95", "p50", "0.95", "1990", "95 %"} {
		if found := tail.FindString(text); found != "" {
			t.Errorf("%q is found in %q", found, text)
		}
	}
	page := withoutErrorBar("| Load | kernel p50 / p99 |\n| Run | request e2e p99 |\n| decode p98 |")
	if found := tail.FindAllString(page, -1); !slices.Equal(found, []string{"p99", "p98"}) {
		t.Errorf("left on the page of performance: %q", found)
	}
}
