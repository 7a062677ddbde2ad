package analyze

import (
	"regexp"
	"strings"
	"testing"
)

func TestEveryTableViewAndColumnHasAComment(t *testing.T) {
	db := newFixture(t).load()
	for _, line := range query(t, db, `SELECT table_name FROM duckdb_tables() WHERE NOT internal AND coalesce(comment, '') = ''
		UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal AND coalesce(comment, '') = ''
		UNION ALL SELECT table_name || '.' || column_name FROM duckdb_columns() WHERE NOT internal AND coalesce(comment, '') = ''`) {
		t.Errorf("%s has no comment", line[0])
	}
	createViews(t, db) // replaces the views, which drops their comments
	if n := one(t, db, "SELECT count(*) FROM duckdb_columns() WHERE NOT internal AND comment IS NULL")[0]; n != "0" {
		t.Errorf("%s columns lost their comment when the views were made again", n)
	}
}

func TestViewFilesAreOneViewEachWithAHeader(t *testing.T) {
	entries, err := files.ReadDir("sql")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(ViewNames()) {
		t.Errorf("%d files for %d views", len(entries), len(ViewNames()))
	}
	view := regexp.MustCompile(`(?m)^CREATE OR REPLACE VIEW (\w+) AS$`)
	for _, name := range ViewNames() {
		sql, ok := ViewSQL(name)
		if !ok {
			t.Errorf("%s has no file", name)
			continue
		}
		made := view.FindAllStringSubmatch(sql, -1)
		if len(made) != 1 || made[0][1] != name {
			t.Errorf("%s.sql makes %v", name, made)
		}
		if !strings.HasPrefix(sql, "-- One row per ") {
			t.Errorf("%s.sql does not begin with what one row is", name)
		}
	}
	if _, ok := ViewSQL("events"); ok {
		t.Error("events is a view")
	}
}

func TestViewsReadOnlyWhatABundleHas(t *testing.T) {
	forbidden := regexp.MustCompile(`(?i)\b(FROM|JOIN)\s+(events|requests|sources|artifacts?)\b`)
	unordered := regexp.MustCompile(`(?i)\b(any_value|first|last|approx_\w+|random|now|current_timestamp|today)\(`)
	for _, name := range ViewNames() {
		sql, _ := ViewSQL(name)
		own := regexp.MustCompile(`(?s)WITH.*?;`).FindString(sql)
		if name == "overlap_figures" { // it names one of its parts requests
			own = strings.ReplaceAll(own, "FROM requests", "")
		}
		// No finding renders the views of artifacts, so no bundle has to hold those.
		if found := forbidden.FindString(own); found != "" && !strings.HasPrefix(name, "artifact_") {
			t.Errorf("%s reads %q", name, found)
		}
		if found := unordered.FindString(sql); found != "" {
			t.Errorf("%s uses %s", name, found)
		}
	}
}

func TestSchemaMarkdownHasEveryRelationWithUnits(t *testing.T) {
	db := newFixture(t).load()
	text, err := SchemaMarkdown(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	again, err := SchemaMarkdown(t.Context(), db)
	if err != nil || again != text {
		t.Error("two texts of one schema differ")
	}
	for _, line := range query(t, db, "SELECT DISTINCT table_name FROM duckdb_columns() WHERE NOT internal") {
		if !strings.Contains(text, "\n### "+line[0]+"\n\n") {
			t.Errorf("%s is missing", line[0])
		}
	}
	columns := query(t, db, "SELECT count(*) FROM duckdb_columns() WHERE NOT internal")[0][0]
	rows := regexp.MustCompile(`(?m)^\| [a-z]\w* \| [A-Z]`).FindAllString(text, -1)
	if got := len(rows); columns != count(int64(got)) {
		t.Errorf("%d column rows, want %s", got, columns)
	}
	for _, want := range []string{
		"| ttfo_ns | BIGINT | ns | First output, reasoning or visible, ns after t0. |",
		"| decode_tok_s | DOUBLE | tokens/s |",
		"| start_unix_ns | BIGINT | ns since 1970 UTC |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q", want)
		}
	}
	if strings.Index(text, "### request_values") > strings.Index(text, "### request_metrics") {
		t.Error("views are not in their order")
	}
}
