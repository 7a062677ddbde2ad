package analyze

import (
	"context"
	"strings"
	"testing"

	"assay/ingest/store"
)

func open(t *testing.T, threads int) *store.DB {
	t.Helper()
	db, err := store.Open("", store.Options{Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.CreateTables(context.Background()); err != nil {
		t.Fatal(err)
	}
	return db
}

// createViews makes the views. The store hides the driver's texts, so a failure
// is repeated here on the bare pool, where no private data is at stake.
func createViews(t *testing.T, db *store.DB) {
	t.Helper()
	err := CreateViews(context.Background(), db)
	if err == nil {
		return
	}
	for _, name := range ViewNames() {
		text, _ := ViewSQL(name)
		if _, raw := db.SQL().Exec(text); raw != nil {
			t.Errorf("%s: %v", name, raw)
		}
	}
	t.Fatal(err)
}

func TestViewsAreEmptyOnAnEmptyDatabase(t *testing.T) {
	db := open(t, 2)
	createViews(t, db)
	for _, name := range ViewNames() {
		var n int64
		if err := db.SQL().QueryRow("SELECT count(*) FROM " + name).Scan(&n); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if n != 0 {
			t.Errorf("%s has %d rows, want none", name, n)
		}
	}
}

func TestEveryViewHasABodyToRun(t *testing.T) {
	for _, name := range ViewNames() {
		body, ok := ViewBody(name)
		if !ok || strings.Contains(body, "COMMENT ON") || !strings.Contains(body, "FROM ") || strings.Contains(body, "CREATE ") {
			t.Errorf("%s: %v, %.200q", name, ok, body)
		}
	}
	if _, ok := ViewBody("elsewhere"); ok {
		t.Error("a view that is not there has a body")
	}
}
