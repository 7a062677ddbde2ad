package ingest_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/collect/record"
	. "assay/ingest/ingesttest"
	"assay/ingest/store"
)

// two is a run of two one-request cells; the tests damage cell x.
func two(t *testing.T) (run *Run, folder string) {
	t.Helper()
	run = NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a"}, CellSpec{ID: "y", Arm: "a"}))
	x := furnish(run.Cell("x"))
	furnish(run.Cell("y"))
	run.Write()
	return run, run.Folder(x)
}

func change(t *testing.T, path string, edit func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, edit(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeTable replaces a Parquet file with rows of a table and metadata.
func writeTable[T any](t *testing.T, path string, table *record.Table[T], meta map[string]string, rows ...T) {
	t.Helper()
	err := record.WriteFile(path, func(w io.Writer) error {
		out, err := record.NewWriter(struct{ io.Writer }{w}, table, meta)
		if err != nil {
			return err
		}
		if err := out.Write(rows); err != nil {
			return err
		}
		return out.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// onlyYLoaded holds that the damaged folder left nothing but problems and the
// other one is whole.
func onlyYLoaded(t *testing.T, db *store.DB) {
	t.Helper()
	want(t, query(t, db, "SELECT cell, outcome, end_kind FROM requests ORDER BY 1"), "x|not_dispatched|not_recorded", "y|complete|done")
	want(t, query(t, db, `SELECT DISTINCT cell FROM events UNION SELECT cell FROM pages UNION SELECT cell FROM engine_samples UNION SELECT cell FROM gpu_samples
		UNION SELECT cell FROM host_samples UNION SELECT cell FROM identities UNION SELECT cell FROM sources WHERE cell IS NOT NULL ORDER BY 1`), "y")
}

// F03: a file that was cut is named; the other cells are still loaded.
func TestF03DamagedFileLeavesAProblemAndTheRestLoads(t *testing.T) {
	plan := map[string]string{"assay.plan_sha256": "another"}
	for _, tt := range []struct {
		name, file string
		damage     func(t *testing.T, path string)
		want       string
		detail     string
	}{
		{"the last 100 bytes are gone", "events.parquet", func(t *testing.T, path string) {
			change(t, path, func(b []byte) []byte { return b[:len(b)-100] })
		}, "incomplete_file events.parquet", "incomplete (no footer)"},
		{"three bytes", "requests.parquet", func(t *testing.T, path string) {
			change(t, path, func(b []byte) []byte { return b[:3] })
		}, "incomplete_file requests.parquet", "incomplete (no footer)"},
		{"an empty file", "gpu.parquet", func(t *testing.T, path string) {
			change(t, path, func([]byte) []byte { return nil })
		}, "incomplete_file gpu.parquet", "incomplete (no footer)"},
		{"right at both ends, cut in the middle", "events.parquet", func(t *testing.T, path string) {
			change(t, path, func(b []byte) []byte { return append(bytes.Clone(b[:200]), b[300:]...) })
		}, "incomplete_file events.parquet", "incomplete (its footer names bytes the file does not have)"},
		{"a footer of rubbish", "events.parquet", func(t *testing.T, path string) {
			change(t, path, func(b []byte) []byte {
				for i := len(b) - 200; i < len(b)-8; i++ {
					b[i] = 0xAA
				}
				return b
			})
		}, "incomplete_file events.parquet", "incomplete (its footer cannot be read)"},
		{"another table", "gpu.parquet", func(t *testing.T, path string) {
			writeTable(t, path, record.Host, nil)
		}, "wrong_schema gpu.parquet|assay.table", "the file holds another table than its name says"},
		{"another plan", "host.parquet", func(t *testing.T, path string) {
			writeTable(t, path, record.Host, plan)
		}, "other_plan host.parquet|assay.plan_sha256", "the file belongs to a run of another plan"},
		{"no events", "events.parquet", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, "missing_file events.parquet", "the attempt has no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run, folder := two(t)
			tt.damage(t, filepath.Join(folder, tt.file))
			db := openDB(t)
			summary := load(t, db, run.Dir)
			if summary.Failed != 1 || summary.Loaded != 1 || summary.Problems != 1 {
				t.Errorf("summary: %+v", summary)
			}
			want(t, codes(t, db), tt.want)
			onlyYLoaded(t, db)
			if tt.detail != "" {
				want(t, query(t, db, "SELECT detail FROM problems WHERE stage = 'ingest'"), tt.detail)
			}
			first := dump(t, db)
			load(t, db, run.Dir)
			want(t, codes(t, db), tt.want)
			if second := dump(t, db); len(first["problems"]) != len(second["problems"]) {
				t.Error("loading it again changed the problems")
			}
		})
	}
}

// A flipped bit is noticed, or lies where nothing is read from: rows never
// differ without a problem.
func TestFlippedBitIsNeverSilent(t *testing.T) {
	run, folder := two(t)
	good := openDB(t)
	load(t, good, run.Dir)
	const rows = "SELECT * FROM request_facts WHERE cell = 'x' UNION ALL BY NAME SELECT * FROM events WHERE cell = 'x'"
	whole := query(t, good, rows)
	path := filepath.Join(folder, "events.parquet")
	intact, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	noticed := 0
	for i := range 10 {
		at := 8 + i*(len(intact)/3)/10
		change(t, path, func([]byte) []byte { b := bytes.Clone(intact); b[at] ^= 4; return b })
		db := openDB(t)
		load(t, db, run.Dir)
		if len(codes(t, db)) > 0 {
			noticed++
			onlyYLoaded(t, db)
		} else if diff := cmp.Diff(whole, query(t, db, rows)); diff != "" {
			t.Errorf("byte %d: %s", at, diff)
		}
	}
	if noticed == 0 {
		t.Error("no flipped bit was noticed")
	}
}

// A file that was good and is damaged now leaves no old rows behind.
func TestDamageAfterLoadingReplacesTheRows(t *testing.T) {
	run, folder := two(t)
	db := openDB(t)
	load(t, db, run.Dir)
	change(t, filepath.Join(folder, "events.parquet"), func(b []byte) []byte { return b[:len(b)-1] })
	load(t, db, run.Dir)
	want(t, codes(t, db), "incomplete_file events.parquet")
	onlyYLoaded(t, db)
}

func TestMissingSamplesAndUnknownFilesAreProblemsOnly(t *testing.T) {
	run, folder := two(t)
	if err := os.Remove(filepath.Join(folder, "gpu.parquet")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(folder, "notes.txt"), filepath.Join(run.Dir, "extra.parquet"), filepath.Join(run.Dir, "cells", "odd")} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(run.Dir, "cells", "arm=a", "cell=z", "attempt=1"), 0o755); err != nil {
		t.Fatal(err)
	}
	db := openDB(t)
	load(t, db, run.Dir)
	problems := []string{"missing_file gpu.parquet", "unknown_file extra.parquet", "unknown_file notes.txt", "unknown_file odd", "unplanned_folder attempt=1"}
	want(t, codes(t, db), problems...)
	want(t, query(t, db, "SELECT cell, outcome FROM requests ORDER BY 1"), "x|complete", "y|complete")
	want(t, query(t, db, "SELECT DISTINCT cell FROM gpu_samples"), "y")
	load(t, db, run.Dir)
	want(t, codes(t, db), problems...)
}

func TestRowsOutOfPlaceAreReportedAndNotUsed(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a", Requests: 2}))
	a := run.Cell("x").Fill()
	a.Events = append(a.Events, a.Events[2])                                     // a second row with a key
	a.Events = append(a.Events, record.Event{Request: 7, Payload: []byte("{}")}) // no such request
	extra := *a.Row(0)
	extra.HTTPVersion = "HTTP/9"
	unplanned := *a.Row(1)
	unplanned.Index = 2
	a.Requests = append(a.Requests, extra, unplanned)
	db := openDB(t)
	load(t, db, run.Write())
	want(t, codes(t, db), "duplicate_rows events.parquet", "duplicate_rows requests.parquet", "unplanned_rows events.parquet", "unplanned_rows requests.parquet")
	want(t, query(t, db, "SELECT request_index, outcome, events, http_version FROM requests ORDER BY 1"), "0|complete|9|HTTP/1.1", "1|complete|9|HTTP/1.1")
}

func TestEventsWithoutADispatchedRequestAndLostEvents(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a", Requests: 2}))
	a := run.Cell("x").Fill()
	a.Row(0).T0Ns = nil
	a.Row(1).EventsSeen = 12
	db := openDB(t)
	load(t, db, run.Write())
	want(t, codes(t, db), "events_lost events.parquet|request 1", "stray_events events.parquet|request 0")
	want(t, query(t, db, "SELECT request_index, dispatched, outcome FROM requests ORDER BY 1"), "0|true|interrupted", "1|true|complete")
}

func TestBadEventsAndAliasConflictsAreProblems(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a"}))
	run.Cell("x").Stream(0, Delta(1*ms, `{"reasoning":"a","reasoning_content":"b"}`), Raw(2*ms, "no json"), Done(3*ms))
	db := openDB(t)
	load(t, db, run.Write())
	want(t, codes(t, db), "alias_conflict events.parquet|request 0", "bad_events events.parquet|request 0")
}

func TestBadPageIsAProblemAndAFailedScrapeHasNoSeries(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a"}))
	a := run.Cell("x").Fill().Page("before", 0, "<html>login</html>").Page("during", time.Second, "good 1\nbad{ 2\n").Page("after", 2*time.Second, "")
	a.Pages[2].HTTPStatus, a.Pages[2].Body, a.Pages[2].BodySHA256, a.Pages[2].Error = nil, nil, "", "timeout"
	db := openDB(t)
	load(t, db, run.Write())
	want(t, query(t, db, "SELECT phase, error, series FROM pages ORDER BY page_seq"), "before|not_metrics|null", "during||1", "after|timeout|null")
	want(t, query(t, db, "SELECT series, value FROM engine_samples"), "good|1")
	want(t, query(t, db, "SELECT phase, value, reason FROM identities ORDER BY 1 DESC"), "before|null|no_page", "after|null|no_page")
	want(t, codes(t, db), "page_line pages.parquet|page 0, line 0", "page_line pages.parquet|page 1, line 2")
}

func TestJournalAndRunFilesThatAreWrong(t *testing.T) {
	run, _ := two(t)
	for name, text := range map[string]string{"plan.lock.json": "{}", "run.json": "[1"} {
		if err := os.WriteFile(filepath.Join(run.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db := openDB(t)
	load(t, db, run.Dir)
	want(t, codes(t, db), "bad_lock plan.lock.json", "bad_run_file run.json")
	want(t, query(t, db, "SELECT locked_at_unix_ns, anchor_unix_ns FROM campaigns"), "null|null")
	want(t, query(t, db, "SELECT count(*) FROM requests WHERE outcome = 'complete'"), "2")
}

func TestPlanThatIsNoPlanLoadsNothing(t *testing.T) {
	run, _ := two(t)
	db := openDB(t)
	change(t, filepath.Join(run.Dir, "plan.json"), func([]byte) []byte { return []byte("not json") })
	load(t, db, run.Dir)
	load(t, db, run.Dir)
	if got := codes(t, db); len(got) != 1 || !strings.HasPrefix(got[0], "bad_plan plan.json") {
		t.Errorf("problems: %q", got)
	}
	want(t, query(t, db, "SELECT (SELECT count(*) FROM cells) + (SELECT count(*) FROM requests)"), "0")
}
