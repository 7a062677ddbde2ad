package ingest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/collect/record"
	. "assay/ingest/ingesttest"
	"assay/ingest/store"
)

// F01: nanoseconds are the same number after every hop, in any time zone.
func TestF01NanosecondsSurviveEveryHop(t *testing.T) {
	t.Setenv("TZ", "America/New_York")
	const unixNs int64 = 1792234551522595123
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a"}))
	a := run.Cell("x").Stream(0, Content(1*ms+1, "a"), Done(2*ms+3)).Page("before", 0, page)
	*a.Row(0).T0UnixNs = unixNs
	for i := range a.Events {
		a.Events[i].ReadUnixNs = unixNs + a.Events[i].ReadNs
		*a.Events[i].KernelUnixNs = a.Events[i].ReadUnixNs - 1
	}
	a.Pages[0].StartUnixNs = unixNs
	db := openDB(t)
	load(t, db, run.Write())
	var t0, scraped int64
	err := errors.Join(
		db.SQL().QueryRow("SELECT t0_unix_ns FROM request_facts").Scan(&t0),
		db.SQL().QueryRow("SELECT start_unix_ns FROM pages").Scan(&scraped))
	if err != nil || t0 != unixNs || scraped != unixNs {
		t.Errorf("t0 %d, page %d, %v", t0, scraped, err)
	}
	want(t, query(t, db, "SELECT ttfo_ns, done_ns FROM request_facts"), "1000000|2000002")
	want(t, query(t, db, "SELECT DISTINCT data_type FROM duckdb_columns() WHERE column_name LIKE '%\\_ns' ESCAPE '\\' AND NOT internal"), "BIGINT")
}

// F04: bodies beyond the row group's bound in bytes are cut into several row
// groups, and load.
func TestF04LargeBodiesAreCutIntoRowGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("280 MB of pages")
	}
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a"}))
	a := run.Cell("x").Fill()
	run.Write()
	body, ok := []byte(page+"# "+strings.Repeat("x", 20<<20)+"\n"), int64(200)
	rows, sum := make([]record.Page, 14), sha256.Sum256(body)
	for i := range rows {
		rows[i] = record.Page{Seq: int64(i), Phase: "during", HTTPStatus: &ok, BodySHA256: hex.EncodeToString(sum[:]), Body: body}
	}
	writeTable(t, filepath.Join(run.Folder(a), "pages.parquet"), record.Pages, map[string]string{"assay.plan_sha256": run.Info.PlanSHA256}, rows...)
	db := openDB(t)
	load(t, db, run.Dir)
	want(t, query(t, db, "SELECT count(*), min(series), CAST(sum(body_bytes) AS BIGINT) FROM pages"), fmt.Sprintf("14|6|%d", 14*len(body)))
	groups := query(t, db, "SELECT num_row_groups > 1 FROM parquet_file_metadata('"+filepath.Join(run.Folder(a), "pages.parquet")+"')")
	want(t, groups, "true")
}

// F06 (a second process) and F07 (another version's file) are tests of store.

// F08: an attempt far larger than the memory limit loads, because each folder
// spills; what does not fit at all fails with the name of the step and leaves
// nothing behind.
func TestF08AttemptBeyondTheMemoryLimitLoads(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a", Requests: 4}))
	a := run.Cell("x")
	const events = 30_000
	const text = "word "
	for r := range int64(4) {
		chunks := make([]Chunk, 0, events+2)
		for i := range events {
			chunks = append(chunks, Content(time.Duration(i+1)*ms, text))
		}
		a.Stream(r, append(chunks, Usage(40*time.Second, 10, events), Done(41*time.Second))...)
	}
	run.Write()
	for _, limit := range []string{"64MB", "8MB"} {
		db, err := store.Open(filepath.Join(t.TempDir(), "a.duckdb"), store.Options{MemoryLimit: limit, Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		_, err = runIngest(t, db, run.Dir)
		if limit == "64MB" {
			if err != nil {
				t.Fatal(err)
			}
			want(t, query(t, db, "SELECT count(*), min(output_events), min(gap_p50_ns), min(visible_chars) FROM requests"), "4|30000|1000000|150000")
		} else {
			var failure *store.Failure
			if !errors.As(err, &failure) || failure.Class != store.ClassMemory || failure.Step == "" {
				t.Errorf("8 MB: %v", err)
			}
			want(t, query(t, db, "SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM sources)"), "0")
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// F09: a sum is 128 bits wide in DuckDB; cast in SQL it scans into an int64.
func TestF09SumsScanIntoInt64(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a", Requests: 8}))
	a := run.Cell("x")
	for r := range int64(8) {
		a.Stream(r, Content(1*ms, "a"), Usage(2*ms, 10, 16384), Done(3*ms))
	}
	db := openDB(t)
	load(t, db, run.Write())
	var sum int64
	if err := db.SQL().QueryRow("SELECT CAST(sum(completion_tokens) AS BIGINT) FROM requests").Scan(&sum); err != nil || sum != 131072 {
		t.Errorf("sum %d, %v", sum, err)
	}
	want(t, query(t, db, "SELECT DISTINCT data_type FROM duckdb_columns() WHERE NOT internal ORDER BY 1"), "BIGINT", "BOOLEAN", "DOUBLE", "VARCHAR")
}

// F10: whole journal lines are used; half a line and two entries on one line
// are reported with their place and never guessed at.
func TestF10JournalLinesThatAreNotOneEntry(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a"}, CellSpec{ID: "y", Arm: "a"}))
	run.Cell("x").Fill()
	run.Cell("y").Fill()
	run.Write()
	path := filepath.Join(run.Dir, record.JournalName)
	change(t, path, func(b []byte) []byte {
		lines := strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
		if len(lines) != 4 {
			t.Fatalf("journal has %d lines", len(lines))
		}
		// The end of x and the start of y come on one line; the end of y is cut.
		return []byte(lines[0] + strings.TrimSuffix(lines[1], "\n") + lines[2] + lines[3][:len(lines[3])/2])
	})
	info, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := strings.Index(string(info), "\n") + 1
	second := first + strings.Index(string(info)[first:], "\n") + 1
	db := openDB(t)
	load(t, db, run.Dir)
	want(t, codes(t, db), fmt.Sprintf("journal_line journal.jsonl|line 2, byte %d", first), fmt.Sprintf("journal_line journal.jsonl|line 3, byte %d", second), "not_in_journal attempt=1")
	want(t, query(t, db, "SELECT cell, run_state, counted FROM attempts ORDER BY 1"), "x|partial|true", "y|partial|true")
	want(t, query(t, db, "SELECT cell, outcome FROM requests ORDER BY 1"), "x|complete", "y|complete")
}
