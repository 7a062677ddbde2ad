package artifact

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/ingest/store"
)

// openDB opens a database in memory with its tables.
func openDB(t *testing.T) *store.DB {
	t.Helper()
	db, err := store.Open("", store.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.CreateTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

func load(t *testing.T, db *store.DB, source string) Summary {
	t.Helper()
	s, err := Load(t.Context(), db, source, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// loadFile loads one file of testdata.
func loadFile(t *testing.T, name string) *store.DB {
	t.Helper()
	db := openDB(t)
	load(t, db, filepath.Join("testdata", "files", name))
	return db
}

// loadText loads a file of the given content.
func loadText(t *testing.T, name, text string) *store.DB {
	t.Helper()
	db := openDB(t)
	load(t, db, writeFile(t, t.TempDir(), name, text))
	return db
}

func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// query returns every row as one text: columns joined by "|", null for a
// missing value.
func query(t *testing.T, db *store.DB, sql string) []string {
	t.Helper()
	rows, err := db.SQL().Query(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for rows.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = fmt.Sprint(v)
			if v == nil {
				texts[i] = "null"
			}
		}
		all = append(all, strings.Join(texts, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func want(t *testing.T, db *store.DB, sql string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, query(t, db, sql)); diff != "" {
		t.Errorf("%s\n%s", sql, diff)
	}
}

const problems = "SELECT code || ' ' || source || coalesce(' ' || nullif(position, ''), '') FROM problems ORDER BY ALL"
