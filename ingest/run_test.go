package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/collect/plan"
	"assay/collect/record"
	"assay/ingest"
	. "assay/ingest/ingesttest"
	"assay/ingest/store"
)

var tables = []string{
	"sources", "campaigns", "arms", "cells", "attempts", "request_facts", "events", "pages", "engine_samples",
	"gpu_samples", "cgroup_samples", "host_samples", "identities", "engine_facts", "stops", "problems",
}

// dump is every row of every table as sorted text.
func dump(t *testing.T, db *store.DB) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, table := range tables {
		rows := query(t, db, "SELECT * FROM "+table)
		slices.Sort(rows)
		all[table] = rows
	}
	return all
}

// codes lists the problems ingest found as "code source-file|position".
func codes(t *testing.T, db *store.DB) []string {
	t.Helper()
	return query(t, db, `SELECT code || ' ' || regexp_replace(source, '.*/', '') || coalesce('|' || nullif(position, ''), '')
		FROM problems WHERE stage = 'ingest' ORDER BY ALL`)
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const page = `# HELP vllm:num_requests_running x
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 0
# TYPE vllm:request_success_total counter
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_bucket{engine="0",le="0.3"} 1
vllm:e2e_request_latency_seconds_bucket{engine="0",le="+Inf"} 2
vllm:e2e_request_latency_seconds_sum{engine="0"} 1.5
vllm:e2e_request_latency_seconds_count{engine="0"} 2
process_start_time_seconds 1.7e9
`

// whole is a run of two arms with everything in it.
func whole(t *testing.T) *Run {
	t.Helper()
	specs := []CellSpec{
		{ID: "a-natural", Arm: "a", Requests: 2, Concurrency: 2, Seed: 1}, {ID: "a-controlled", Arm: "a", Requests: 2, ResponseWords: 3, Seed: 2},
		{ID: "b-natural", Arm: "b", Requests: 2, Concurrency: 2, Seed: 1}, {ID: "b-controlled", Arm: "b", Requests: 2, ResponseWords: 3, Seed: 2},
	}
	run := NewRun(t, Plan(t, specs...))
	for _, s := range specs[:3] {
		furnish(run.Cell(s.ID))
	}
	return run
}

func furnish(a *Attempt) *Attempt {
	a.Fill().Identity("before", "model", "0.1+sim.x", 327680).Identity("after", "model", "0.1+sim.x", 327680)
	for i, phase := range []string{"before", "during", "after"} {
		a.Page(phase, time.Duration(i)*time.Second, page)
	}
	used, rss := int64(5), int64(6)
	a.GPU = []record.GPUSample{{Phase: "during", AtNs: a.StartNs, AtUnixNs: AnchorUnixNs + a.StartNs, Status: "ok", UUID: "GPU-secret-1", MemoryUsedBytes: &used},
		{Phase: "during", AtNs: a.StartNs, AtUnixNs: AnchorUnixNs + a.StartNs, Status: "ok", UUID: "GPU-secret-0", GPUIndex: new(int64), MemoryUsedBytes: &used}}
	a.GPU[0].GPUIndex = &[]int64{1}[0]
	a.Host = []record.HostSample{{Phase: "during", AtNs: a.StartNs, Status: "ok", BootID: "secret-boot", ClientRSSBytes: &rss}}
	a.Cgroup = []record.CgroupSample{{Phase: "during", AtNs: a.StartNs, Status: "no_cgroup"}}
	a.Problems = []record.Problem{{Code: "page_timeout", Source: "pages", Detail: "one scrape was late"}}
	return a
}

func TestRunLoadsEveryTable(t *testing.T) {
	run := whole(t)
	run.Journal = []record.Entry{
		{Kind: record.EntryStop, Rule: "deadline", Attempt: 1, MonoNs: 5, UnixNs: 6, Detail: "over", Blocks: []string{"b-controlled"}},
		{Kind: record.EntryBlock, Arm: "b", Cell: "b-controlled", Rule: "deadline", Outcome: "not_run_deadline"},
	}
	db := openDB(t)
	summary := load(t, db, run.Write())
	if summary.Loaded != 3 || summary.Failed != 0 || summary.Problems != 0 || summary.Requests != 6 || summary.Events != 54 {
		t.Errorf("summary: %+v", summary)
	}
	want(t, query(t, db, "SELECT cell, attempt, run_state, counted, drain_verified FROM attempts ORDER BY ALL"),
		"a-controlled|1|complete|true|true", "a-natural|1|complete|true|true", "b-controlled|0|not_run_deadline|true|null", "b-natural|1|complete|true|true")
	want(t, query(t, db, "SELECT cell, attempt, outcome, words_exact, count(*) FROM requests GROUP BY ALL ORDER BY ALL"),
		"a-controlled|1|complete|true|2", "a-natural|1|complete|null|2", "b-controlled|0|not_dispatched|null|2", "b-natural|1|complete|null|2")
	want(t, query(t, db, "SELECT marker, prompt_sha256, end_kind, end_detail FROM requests WHERE cell = 'b-controlled' ORDER BY 1"),
		"ASSAY_REQ_2_00000|null|not_recorded|not_run_deadline", "ASSAY_REQ_2_00001|null|not_recorded|not_run_deadline")
	want(t, query(t, db, "SELECT DISTINCT gpu_index, gpu, memory_used_bytes FROM gpu_samples ORDER BY 1"), "0|gpu-1|5", "1|gpu-2|5")
	want(t, query(t, db, "SELECT rule, detail, blocks, arm, attempt FROM stops"), `deadline|over|["b-controlled"]|null|null`)
	want(t, query(t, db, "SELECT stage, code, count(*) FROM problems GROUP BY ALL"), "collect|page_timeout|3")
	want(t, query(t, db, "SELECT phase, count(*) FROM engine_samples WHERE cell = 'a-natural' GROUP BY ALL ORDER BY ALL"), "after|7", "before|7", "during|3")
	want(t, query(t, db, "SELECT series, value, declared FROM engine_samples WHERE cell = 'a-natural' AND phase = 'during' ORDER BY 1"),
		"process_start_time_seconds|1.7e+09|false", "vllm:num_requests_running|0|true", "vllm:request_success_total|null|true")
	want(t, query(t, db, "SELECT DISTINCT labels, le FROM engine_samples WHERE series LIKE '%bucket' ORDER BY le"), `{"engine":"0"}|0.3`, `{"engine":"0"}|+Inf`)
	want(t, query(t, db, "SELECT phase, fact, value, reason FROM identities WHERE cell = 'a-natural' AND phase = 'after' ORDER BY fact"),
		"after|engine_version|0.1+sim.x|null", "after|max_model_len|327680|null", "after|process_start|1700000000|null", "after|served_id|model|null")
	want(t, query(t, db, "SELECT kind, collector, anchor_unix_ns, deviations, settings FROM campaigns"), fmt.Sprintf("simulated|test|%d|[]|{}", AnchorUnixNs))
	want(t, query(t, db, "SELECT phase, http_status, series, body_bytes FROM pages WHERE cell = 'a-natural' ORDER BY page_seq"),
		fmt.Sprintf("before|200|6|%d", len(page)), fmt.Sprintf("during|200|6|%d", len(page)), fmt.Sprintf("after|200|6|%d", len(page)))
}

// No private thing and no text of an answer is in any table but the plan.
func TestTextAndPrivateThingsAreNotStored(t *testing.T) {
	db := openDB(t)
	dir := whole(t).Write()
	load(t, db, dir)
	for table, rows := range dump(t, db) {
		for _, row := range rows {
			for _, private := range []string{"thinking", "short summary", "GPU-secret", "secret-boot", filepath.Dir(dir)} {
				if strings.Contains(row, private) {
					t.Errorf("%s holds %q: %s", table, private, row)
				}
			}
		}
	}
	want(t, query(t, db, "SELECT table_name FROM duckdb_tables() WHERE temporary"))
}

func TestLoadingTwiceChangesNothing(t *testing.T) {
	db := openDB(t)
	dir := whole(t).Write()
	load(t, db, dir)
	first := dump(t, db)
	for _, table := range tables {
		if table != "stops" && len(first[table]) == 0 {
			t.Errorf("%s is empty: the test compares nothing", table)
		}
		if err := db.Exec(t.Context(), "copy", "CREATE TABLE first_"+table+" AS SELECT * FROM "+table); err != nil {
			t.Fatal(err)
		}
	}
	summary := load(t, db, dir)
	if summary.Unchanged != 1 || summary.Loaded != 0 || summary.Skipped != 3 {
		t.Errorf("summary: %+v", summary)
	}
	for _, table := range tables {
		for _, q := range []string{"FROM %[1]s EXCEPT ALL FROM first_%[1]s", "FROM first_%[1]s EXCEPT ALL FROM %[1]s"} {
			want(t, query(t, db, fmt.Sprintf(q, table)))
		}
	}
}

// What a database holds depends on the sources, not on how they came.
func TestGrownRunEqualsFreshLoad(t *testing.T) {
	run := whole(t)
	grown, fresh := openDB(t), openDB(t)
	load(t, grown, run.Write())
	furnish(run.Cell("b-controlled"))
	second := run.Cell("a-natural")
	second.State = "partial"
	second.Stream(0, Answer(time.Second, "x")...)
	summary := load(t, grown, run.Write())
	if summary.Loaded != 2 || summary.Skipped != 3 {
		t.Errorf("summary: %+v", summary)
	}
	load(t, fresh, run.Dir)
	if diff := cmp.Diff(dump(t, fresh), dump(t, grown)); diff != "" {
		t.Error(diff)
	}
	want(t, query(t, grown, "SELECT attempt, run_state, counted FROM attempts WHERE cell = 'a-natural' ORDER BY 1"), "1|complete|true", "2|partial|false")
}

func TestFirstCompleteAttemptCounts(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a"}, CellSpec{ID: "y", Arm: "a"}))
	for _, state := range []string{"partial", "complete", "complete"} {
		run.Cell("x").Fill().State = state
		run.Cell("y").Fill().State = "partial"
	}
	db := openDB(t)
	load(t, db, run.Write())
	want(t, query(t, db, "SELECT cell, attempt FROM attempts WHERE counted ORDER BY 1"), "x|2", "y|3")
}

func TestKilledAttemptIsPartialAndReported(t *testing.T) {
	run := NewRun(t, Plan(t, CellSpec{ID: "x", Arm: "a", Requests: 3}, CellSpec{ID: "y", Arm: "a"}))
	run.Cell("x").Stream(0, Answer(time.Second, "x")...).Killed = true
	db := openDB(t)
	load(t, db, run.Write())
	want(t, query(t, db, "SELECT cell, attempt, run_state, end_ns FROM attempts ORDER BY 1"), "x|1|partial|null", "y|0|not_run|null")
	want(t, query(t, db, "SELECT cell, outcome, count(*) FROM requests GROUP BY ALL ORDER BY ALL"), "x|not_dispatched|3", "y|not_dispatched|1")
	want(t, codes(t, db), "spool_left attempt=1")
	first := dump(t, db)
	load(t, db, run.Dir)
	if diff := cmp.Diff(first, dump(t, db)); diff != "" {
		t.Errorf("loading it again: %s", diff)
	}
	// Recovery turns the spool into Parquet; the finished request is then there.
	if _, err := record.Convert(filepath.Join(run.Dir, record.AttemptFolder("a", "x", 1)), map[string]string{"assay.plan_sha256": run.Info.PlanSHA256}); err != nil {
		t.Fatal(err)
	}
	load(t, db, run.Dir)
	want(t, query(t, db, "SELECT request_index, outcome, end_kind FROM requests WHERE cell = 'x' ORDER BY 1"),
		"0|complete|done", "1|not_dispatched|not_recorded", "2|not_dispatched|not_recorded")
	want(t, codes(t, db), "request_missing requests.parquet|request 1", "request_missing requests.parquet|request 2")
}

func TestSecondRunOfACampaignIsRefused(t *testing.T) {
	one := NewRun(t, PlanNamed(t, "same", CellSpec{ID: "x", Arm: "a"}))
	one.Cell("x").Fill()
	other := NewRun(t, PlanNamed(t, "same", CellSpec{ID: "x", Arm: "a", Requests: 2}))
	other.Cell("x").Fill()
	db := openDB(t)
	load(t, db, one.Write())
	first := dump(t, db)
	for range 2 {
		summary := load(t, db, other.Write())
		if summary.Failed != 1 || summary.Problems != 1 {
			t.Errorf("summary: %+v", summary)
		}
		want(t, codes(t, db), "campaign_conflict plan.json|"+other.Info.PlanSHA256)
	}
	second := dump(t, db)
	delete(first, "problems")
	delete(second, "problems")
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
}

func TestCampaignsLiveSideBySide(t *testing.T) {
	db := openDB(t)
	folder := t.TempDir()
	for _, name := range []string{"one", "two"} {
		run := NewRun(t, PlanNamed(t, name, CellSpec{ID: "x", Arm: "a"}))
		run.Cell("x").Fill()
		if err := os.Rename(run.Write(), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if summary := load(t, db, folder); summary.Runs != 2 || summary.Loaded != 2 {
		t.Errorf("summary: %+v", summary)
	}
	want(t, query(t, db, "SELECT campaign, count(*) FROM requests GROUP BY 1 ORDER BY 1"), "one|1", "two|1")
}

func TestWhatIsNoRunIsAProblemAndWhatIsNotThereAnError(t *testing.T) {
	db := openDB(t)
	empty := t.TempDir()
	for range 2 {
		load(t, db, empty)
	}
	want(t, query(t, db, "SELECT code, campaign FROM problems"), "unknown_source|null")
	_, err := runIngest(t, db, filepath.Join(t.TempDir(), "nowhere"))
	if err == nil || !strings.Contains(err.Error(), "nowhere does not exist") || strings.Contains(err.Error(), os.TempDir()) {
		t.Errorf("error: %v", err)
	}
}

// A folder may hold run directories and result files of other tools; each is
// known by its content.
func TestResultFilesBesideRunsLoad(t *testing.T) {
	folder := t.TempDir()
	run := NewRun(t, PlanNamed(t, "one", CellSpec{ID: "x", Arm: "a"}))
	run.Cell("x").Fill()
	if err := os.Rename(run.Write(), filepath.Join(folder, "run")); err != nil {
		t.Fatal(err)
	}
	result := []byte(`{"backend":"openai","num_prompts":1,"duration":2.0,"completed":1,"total_output_tokens":3}`)
	if err := os.WriteFile(filepath.Join(folder, "result.json"), result, 0o600); err != nil {
		t.Fatal(err)
	}
	db := openDB(t)
	first := load(t, db, folder)
	if first.Loaded != 1 || first.Artifacts.Files != 1 || first.Artifacts.Loaded != 1 || first.Problems != 0 {
		t.Errorf("summary: %+v", first)
	}
	if again := load(t, db, folder); again.Unchanged != 1 || again.Artifacts.Unchanged != 1 {
		t.Errorf("second load: %+v", again)
	}
	load(t, db, filepath.Join(folder, "run"), filepath.Join(folder, "result.json"))
	want(t, query(t, db, "SELECT path, protocol FROM artifacts"), "result.json|vllm-bench/plain")
	want(t, query(t, db, "SELECT campaign, count(*) FROM requests GROUP BY 1"), "one|1")
	want(t, query(t, db, "SELECT code FROM problems"))
}

func TestCancelledLoadStoresNoHalfFolder(t *testing.T) {
	db := openDB(t)
	dir := whole(t).Write()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ingest.Run(ctx, db, []string{dir}, slog.New(slog.DiscardHandler)); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
	load(t, db, dir)
	want(t, query(t, db, "SELECT outcome, count(*) FROM requests GROUP BY ALL ORDER BY ALL"), "complete|6", "not_dispatched|2")
}

// The seed plan has 48 cells and 534 requests; each has its row also when
// nothing ran.
func TestEveryPlannedRequestOfTheSeedHasARow(t *testing.T) {
	seeds, err := filepath.Glob("../../shared/seeds/000_*.json")
	if err != nil || len(seeds) == 0 {
		t.Skip("the seed plan is not here (../shared)")
	}
	p, _, err := plan.Load(seeds[0])
	if err != nil {
		t.Fatal(err)
	}
	run := NewRun(t, p)
	run.Cell(p.Cells[0].ID).Fill()
	db := openDB(t)
	load(t, db, run.Write())
	want(t, query(t, db, "SELECT (SELECT count(*) FROM cells), (SELECT count(*) FROM requests), (SELECT count(*) FROM attempts), (SELECT count(*) FROM requests WHERE dispatched)"), "48|534|48|1")
}

// Every table, view and column says what it is.
func TestEveryColumnHasAComment(t *testing.T) {
	db := openDB(t)
	load(t, db)
	want(t, query(t, db, "SELECT table_name || '.' || column_name FROM duckdb_columns() WHERE NOT internal AND coalesce(comment, '') = ''"))
	want(t, query(t, db, "SELECT table_name FROM duckdb_tables() WHERE coalesce(comment, '') = '' UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal AND coalesce(comment, '') = ''"))
}
