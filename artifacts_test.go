package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/ingest/store"
)

// artifactDatabase has the result files of ingest/artifact/testdata/files, loaded and
// given their views by the commands.
func artifactDatabase(t *testing.T) string {
	t.Helper()
	db := filepath.Join(t.TempDir(), "a.duckdb")
	for _, args := range [][]string{{"ingest", "ingest/artifact/testdata/files", "--db", db}, {"analyze", "--db", db}} {
		if code, _, stderr := command(t, args...); code != 0 {
			t.Fatalf("%v exits %d: %s", args, code, stderr)
		}
	}
	return db
}

// rowsOf is the answer to a query, the header left out.
func rowsOf(t *testing.T, db, query string) [][]string {
	t.Helper()
	code, stdout, stderr := command(t, "query", "--db", db, "--format", "csv", "--", query)
	if code != 0 {
		t.Fatalf("query exits %d: %s", code, stderr)
	}
	lines, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	return lines[1:]
}

// The twelve numbered queries are about retained artifacts. Each answers, and
// says first what it answers.
func TestArtifactQueriesAnswer(t *testing.T) {
	db := artifactDatabase(t)
	// What each says of the fixtures: how many rows, and a row that must be there.
	want := map[string]struct {
		rows int
		row  string
	}{
		"01-what-is-here":                 {16, "benchmark,anvil-serving,anvil/capacity-v4-reasoning,v4,nearest_rank,false,1,1,3"},
		"02-what-was-wrong":               {2, "vllm-appended.json,statistic_differs,line 3: median_ttft_ms,p50 is stated as 999; the rows give 812"},
		"03-do-the-figures-follow":        {12, "vllm-bench,vllm-bench/detailed,false,126,93,0,1,32"},
		"04-one-file-in-full":             {159, "anvil-distributions-again.json,0,completed,e2e,p50,ms,3,310.5,310.5,exact,"},
		"05-what-may-be-compared":         {22, "anvil-distributions-other.json,comparable,[\"model\"],[],[],[]"},
		"06-comparable-runs-side-by-side": {30, "anvil-distributions-again.json,anvil-distributions.json,[],e2e,p95,ms,3,3,312.5,304.5,0.9744"},
		"07-how-far-repeats-differ":       {4, ""},
		"08-how-requests-failed":          {7, ""},
		"09-label-against-streams":        {1, "anvil-all-failed.json,0,capacity-v3,anvil/capacity-v4-reasoning,streams,0,3,9,3"},
		"10-time-to-first-output-by-tool": {9, "aiperf,aiperf/records,first_any,2,2,800,1,1500"},
		"11-answers-cut-at-their-limit":   {7, ""},
		"12-what-can-be-judged":           {120, "vllm-bench,vllm-bench/detailed,usage_exact,0,0,0,4"},
	}
	paths, err := filepath.Glob("examples/queries/[0-9]*.sql")
	if err != nil || len(paths) != len(want) {
		t.Fatalf("%d numbered queries, %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".sql")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(text), "-- ") {
				t.Error("the file does not say what it answers")
			}
			found := false
			rows := rowsOf(t, db, string(text))
			for _, row := range rows {
				found = found || strings.Join(row, ",") == want[name].row
			}
			if len(rows) != want[name].rows || !found && want[name].row != "" {
				t.Errorf("%d rows, want %d with %q:\n%q", len(rows), want[name].rows, want[name].row, rows)
			}
		})
	}
}

// Any DuckDB client opens the file: every view answers on a connection that has
// nothing but DuckDB's own functions.
func TestViewsNeedNothingButDuckDB(t *testing.T) {
	db, err := store.Open(artifactDatabase(t), store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	views, err := store.Strings(db.Query(t.Context(), "list views", "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1"))
	if err != nil || len(views) < 30 {
		t.Fatalf("%d views, %v", len(views), err)
	}
	for _, view := range views {
		if _, err := store.Strings(db.Query(t.Context(), "read "+view, "SELECT count(*)::VARCHAR FROM "+view)); err != nil {
			t.Error(err)
		}
	}
	custom, err := store.Strings(db.Query(t.Context(), "list functions", "SELECT function_name FROM duckdb_functions() WHERE NOT internal AND function_type NOT LIKE '%macro'"))
	if err != nil || len(custom) > 0 {
		t.Errorf("functions of our own: %q, %v", custom, err)
	}
}

// Any two files are comparable, different, unknown or invalid, with the fields.
func TestArtifactsAreComparedFieldByField(t *testing.T) {
	files := t.TempDir()
	write := func(name, from string, replace ...string) {
		data, err := os.ReadFile(filepath.Join("ingest/artifact/testdata/files", from))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer(replace...).Replace(string(data))
		if err := os.WriteFile(filepath.Join(files, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const v3, whole = "anvil-v3.json", "anvil-distributions.json"
	write("a-whole", whole)
	write("b-other-model", whole, `"model": "m"`, `"model": "m2"`)
	write("c-hotter", whole, `"effective_request": 0.0`, `"effective_request": 0.7`)
	write("d-other-prompts", whole, `"prompt_tokens": 8000,`, `"prompt_tokens": 8001,`)
	write("e-copy", whole)
	write("f-failed", "anvil-all-failed.json")
	write("g-old", v3)
	write("h-old-too", v3, `"gpu": "g"`, `"gpu": "G"`)
	write("i-legacy", "anvil-legacy.json")
	write("j-notes", "anvil-legacy.json", "anvil-serving.benchmark/v1", "anvil-serving.fast-tier-bakeoff/v1")
	db := filepath.Join(t.TempDir(), "a.duckdb")
	for _, args := range [][]string{{"ingest", files, "--db", db}, {"analyze", "--db", db}} {
		if code, _, stderr := command(t, args...); code != 0 {
			t.Fatalf("%v exits %d: %s", args, code, stderr)
		}
	}
	verdicts := map[string]string{}
	for _, row := range rowsOf(t, db, `SELECT least(path_a, path_b), greatest(path_a, path_b), verdict, different, unknown, subjects,
		replace(replace(invalid, '"a: ', '"'), '"b: ', '"'), same_run_id FROM artifact_comparability`) {
		verdicts[row[0][:1]+row[1][:1]] = strings.Join(row[2:], " ")
	}
	if len(verdicts) != 45 {
		t.Errorf("%d pairs of 10 files", len(verdicts))
	}
	for pair, want := range map[string]string{
		"ab": `comparable [] [] ["model"] [] true`,
		"ac": `different ["temperature"] [] [] [] true`,
		"ad": `different ["prompt_tokens"] [] [] [] true`,
		"ae": `invalid [] [] [] ["the same bytes under two paths"] true`,
		"af": `invalid [] ["prompt_tokens"] [] ["no request completed"] true`,
		"gh": `unknown [] ["prompt_cache_mode","shared_prefix_tokens","request_canaries","response_words","output_policy","temperature","top_p"] ["gpu"] [] true`,
		"gi": `different ["protocol","percentile_rule"] ["context_distribution","context_seed","prompt_cache_mode","shared_prefix_tokens","request_canaries","response_words","output_policy","temperature","top_p","prompt_tokens"] ["engine","gpu"] [] true`,
		"ij": `invalid [] [] ["model"] ["holds no run"] `,
	} {
		if verdicts[pair] != want {
			t.Errorf("%s is %s\nwant %s", pair, verdicts[pair], want)
		}
	}
	// The copy counts once, and the failed run stays with its configuration.
	repeats := rowsOf(t, db, "SELECT r.runs, r.failed_runs, s.runs, s.p50 FROM artifact_repeats r JOIN artifact_spread s USING (configuration) WHERE r.failed_runs > 0 AND s.source_key = 'e2e_p50_ms'")
	if len(repeats) != 1 || strings.Join(repeats[0], " ") != "3 1 2 302.5" {
		t.Errorf("repeats: %v", repeats)
	}
}
