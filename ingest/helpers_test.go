package ingest_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"assay/ingest"
	"assay/ingest/store"
)

const ms = time.Millisecond

// openDB opens a database in memory.
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
	return db
}

func load(t *testing.T, db *store.DB, dirs ...string) ingest.Summary {
	t.Helper()
	summary, err := runIngest(t, db, dirs...)
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

func runIngest(t *testing.T, db *store.DB, dirs ...string) (ingest.Summary, error) {
	t.Helper()
	return ingest.Run(t.Context(), db, dirs, slog.New(slog.DiscardHandler))
}

// query returns every row of a query as one text: columns joined by "|", null
// for a missing value.
func query(t *testing.T, db *store.DB, sql string, args ...any) []string {
	t.Helper()
	rows, err := db.SQL().Query(sql, args...)
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

// facts returns columns of a cell's request 0 as text, null for a missing value.
func facts(t *testing.T, db *store.DB, cell string, columns ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, c := range columns {
		found[c] = query(t, db, "SELECT "+c+" FROM request_facts WHERE request_index = 0 AND cell = ?", cell)[0]
	}
	return found
}
