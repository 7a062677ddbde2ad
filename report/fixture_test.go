package report

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"assay/analyze"
	"assay/collect/plan"
	"assay/ingest/store"
)

// campaign is a small made-up campaign for the tests: two arms, two contexts,
// two concurrencies, natural and controlled cells, one warm-up an arm.
type campaign struct {
	kind string
	// notRun cells never start; failing cells have one request without usage and
	// one that timed out.
	notRun, failing []string
	mutate          func(p map[string]any) // of the plan, before it is stored
	detail          string                 // of a problem
	noPages         bool
	planText        []byte                                 // instead of the small plan
	change          func(table string, row map[string]any) // of each row, before it is stored
	// repeat adds a campaign of the same plan, in which each first output comes this
	// much later.
	repeat int64
}

type testCell struct {
	id, arm, workload              string
	context, concurrency, requests int64
	seed                           int64
	warmup                         bool
}

const testID = "2026-10-17-small-serving-test"

var testArms = []string{"baseline", "candidate"}

func testCells() []testCell {
	var out []testCell
	for _, arm := range testArms {
		add := func(workload string, context, concurrency, requests, seed int64, warmup bool) {
			out = append(out, testCell{fmt.Sprintf("%s-%s-ctx%d-c%d", arm, workload, context, concurrency), arm, workload, context, concurrency, requests, seed, warmup})
		}
		add("warmup", 4096, 1, 1, 1001, true)
		for i, context := range []int64{4096, 16384} {
			for j, c := range []int64{1, 2} {
				add("natural", context, c, 8, 2000+int64(10*i+j), false)
				add("controlled", context, c, 20, 3000+int64(10*i+j), false)
			}
		}
		add("capacity-edge", 31744, 1, 4, 4001, false)
	}
	return out
}

func (c campaign) plan(t testing.TB) *plan.Plan {
	t.Helper()
	if c.planText != nil {
		return decodePlan(t, c.planText)
	}
	matrix := []any{}
	models := map[string]any{}
	for i, arm := range testArms {
		models[arm] = map[string]any{
			"container": arm + "-recipe-r1", "engine": "vllm-test-" + arm, "model": "tiny-" + arm, "port": 31841 + i,
			"registry": "[PRIVATE_OPERATOR_ROOT]/recipes.toml", "repository": "example/Tiny-" + arm, "revision": strings.Repeat("ab", 20),
		}
	}
	for _, cell := range testCells() {
		words := "0"
		policy := "observe"
		if cell.workload == "controlled" {
			words, policy = "32", "strict"
		}
		matrix = append(matrix, map[string]any{
			"id": cell.id, "arm": cell.arm, "workload": cell.workload, "concurrency": cell.concurrency, "planned_context_tokens": cell.context,
			"requests": cell.requests, "seed": cell.seed, "outer_timeout_seconds": 600, "excluded_warmup": cell.warmup,
			"argv": []string{
				"bench", "--base-url", fmt.Sprintf("http://127.0.0.1:%d/v1", 31841+slices.Index(testArms, cell.arm)), "--model", "tiny-" + cell.arm,
				"--requests", fmt.Sprint(cell.requests), "--concurrency", fmt.Sprint(cell.concurrency), "--ctx-tokens", fmt.Sprint(cell.context),
				"--seed", fmt.Sprint(cell.seed), "--max-tokens", "1024", "--prompt-cache-mode", "unique", "--request-canaries",
				"--controlled-output-policy", policy, "--max-model-len", "32768", "--reasoning-effort", "max", "--temperature", "0.6", "--top-p", "0.95",
				"--timeout", "300", "--response-words", words,
			},
		})
	}
	p := map[string]any{
		"campaign_id": "small-serving-test", "status": "frozen-before-dispatch", "metric_profile": "serving-comparison/v1",
		"source_revision": strings.Repeat("5e", 20), "owner": "root sole lifecycle owner", "authorization": "[REDACTED]",
		"created_at": "2026-10-17T10:00:00+00:00", "frozen_at": "2026-10-17T10:10:00+00:00", "dispatch_clock_started_at": "2026-10-17T10:10:00+00:00",
		"absolute_request_cutoff": "2026-10-17T11:10:00+00:00", "absolute_campaign_deadline": "2026-10-17T12:10:00+00:00",
		"request_cutoff_seconds": 3600, "load_bound_seconds": 1200, "restoration_reserve_seconds": 3600, "total_bound_seconds": 7200,
		"eligibility": []string{
			"all planned requests completed and terminal", "exact usage counts", "allowed finish reason and visible output",
			"own canary first; no foreign marker; complete capture", "controlled cells additionally exact repeated output", "same measurement_protocol in compared arms",
		},
		"metrics": []string{"TTFO (first reasoning or visible delta)"},
		"controls": map[string]any{
			"hardware": "two Example GPUs, same order", "max_tokens": 1024, "model_max_len": 32768, "natural_requests_per_cell": 8,
			"controlled_requests_per_cell": 20, "prompt_cache_mode": "unique", "reasoning_effort": "max", "request_canaries": true,
			"temperature": 0.6, "top_p": 0.95, "context_labels": "Targets are not token counts; publish min/p50/max.", "prefix_cache_flush": false,
		},
		"models":          models,
		"publication":     map[string]any{"finding": "docs/findings/" + testID + ".md", "bundle": "docs/findings/" + testID + "-evidence", "old_evidence": "none"},
		"quality_ledger":  map[string]any{"SWE": "not run; outside", "capacity": "fresh complete matrix", "context": "reuse old", "stability": "single scout only"},
		"restoration":     map[string]any{"postconditions": []string{"candidate absent"}},
		"stops":           map[string]any{"deadline": "stop new requests at cutoff"},
		"telemetry":       "Before and after every cell.",
		"deadline_starts": "First request", "matrix": matrix,
	}
	if c.mutate != nil {
		c.mutate(p)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return decodePlan(t, text)
}

func decodePlan(t testing.TB, text []byte) *plan.Plan {
	t.Helper()
	decoded, problems := plan.Decode(text)
	if len(problems) > 0 {
		t.Fatalf("the test plan has problems: %v", problems)
	}
	return decoded
}

// store fills a database in memory with the campaign and makes its views.
func (c campaign) store(t testing.TB) *store.DB {
	t.Helper()
	ctx := context.Background()
	db, err := store.Open("", store.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.CreateTables(ctx); err != nil {
		t.Fatal(err)
	}
	f := &filler{t: t, db: db, c: c, p: c.plan(t), rows: map[string][]map[string]any{}}
	f.campaign()
	f.cells()
	f.flush()
	if c.repeat > 0 {
		again := c
		again.mutate = func(p map[string]any) { p["campaign_id"] = testName + "-again" }
		f = &filler{t: t, db: db, c: again, p: again.plan(t), rows: map[string][]map[string]any{}, late: c.repeat}
		f.campaign()
		f.cells()
		f.flush()
	}
	if err := analyze.CreateViews(ctx, db); err != nil {
		t.Fatal(err)
	}
	return db
}

const (
	testSecond = int64(1_000_000_000)
	testAnchor = int64(1_792_231_800) * testSecond // 2026-10-17 10:10 UTC
	testName   = "small-serving-test"
)

type filler struct {
	t    testing.TB
	db   *store.DB
	c    campaign
	p    *plan.Plan
	now  int64 // ns since the anchor
	page int64
	seen map[string]int64 // engine counters by arm
	late int64            // added to each first output, ns
	rows map[string][]map[string]any
}

// row keeps one row for flush; columns that are not named are null.
func (f *filler) row(table string, pairs ...any) {
	row := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		row[pairs[i].(string)] = pairs[i+1]
	}
	f.rows[table] = append(f.rows[table], row)
}

// flush appends all rows, table by table.
func (f *filler) flush() {
	f.t.Helper()
	ctx := context.Background()
	err := f.db.Tx(ctx, func(tx *store.Tx) error {
		for table, rows := range f.rows {
			columns, err := store.Strings(tx.Query(ctx, "columns", "SELECT column_name FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", table))
			if err != nil {
				return err
			}
			err = tx.Append(table, func(add func(...any) error) error {
				for _, row := range rows {
					if f.c.change != nil {
						f.c.change(table, row)
					}
					values := make([]any, len(columns))
					for i, c := range columns {
						values[i] = row[c]
						delete(row, c)
					}
					if len(row) > 0 {
						return fmt.Errorf("%s has no columns %v", table, row)
					}
					if err := add(values...); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *filler) campaign() {
	redacted, _, err := plan.Redact(f.p)
	if err != nil {
		f.t.Fatal(err)
	}
	f.seen = map[string]int64{}
	f.row("campaigns", "campaign", f.p.CampaignID, "kind", f.c.kind, "plan_sha256", f.p.Digest(), "redacted_plan_sha256", redacted.Digest(),
		"locked_at_unix_ns", testAnchor, "collector", "assay test", "anchor_unix_ns", testAnchor, "clock_restarted", true,
		"dispatch_unix_ns", testAnchor, "cutoff_unix_ns", testAnchor+3600*testSecond, "deadline_unix_ns", testAnchor+7200*testSecond,
		"deviations", `["sampling every 50 ms"]`, "settings", `{"sample_every_ns":"50000000"}`, "plan", string(f.p.Bytes))
	f.row("sources", "sha256", f.p.BytesSHA256(), "path", "plan.json", "kind", "plan", "bytes", int64(len(f.p.Bytes)), "campaign", f.p.CampaignID)
	f.row("sources", "sha256", strings.Repeat("12", 32), "path", "cells/arm=baseline/cell=x/attempt=1/events.parquet", "kind", "events", "bytes", int64(4711), "campaign", f.p.CampaignID)
	for i, arm := range testArms {
		m := f.p.Models[arm]
		f.row("arms", "campaign", f.p.CampaignID, "arm", arm, "arm_order", int64(i), "model", m.Model, "engine", m.Engine, "repository", m.Repository,
			"revision", m.Revision, "endpoint", fmt.Sprintf("endpoint-%d", i+1), "loopback", true)
	}
	if f.c.detail != "" {
		f.row("problems", "campaign", f.p.CampaignID, "arm", "baseline", "stage", "ingest", "code", "bad_event", "source", "events.parquet", "position", "row 7", "detail", f.c.detail)
	}
	for i, id := range f.c.failing {
		f.row("stops", "campaign", f.p.CampaignID, "stop_seq", int64(i), "at_ns", int64(i), "at_unix_ns", testAnchor+int64(i), "rule", "canary_or_loss",
			"arm", strings.SplitN(id, "-", 2)[0], "cell", id, "attempt", int64(1), "detail", "a request was lost", "blocks", `[]`)
	}
}

func (f *filler) cells() {
	for i, planned := range f.p.Cells {
		c := planned.Request
		cell := testCell{planned.ID, planned.Arm, planned.Workload, planned.PlannedContextTokens, planned.Concurrency, planned.Requests, planned.Seed, planned.ExcludedWarmup}
		f.row("cells", "campaign", f.p.CampaignID, "arm", cell.arm, "cell", cell.id, "cell_order", int64(i), "workload", cell.workload, "context_tokens", cell.context,
			"concurrency", cell.concurrency, "requests", cell.requests, "seed", cell.seed, "excluded_warmup", cell.warmup, "outer_timeout_s", int64(600),
			"idle_timeout_s", int64(300), "max_tokens", int64(1024), "max_model_len", int64(32768), "response_words", c.ResponseWords,
			"output_policy", c.ControlledOutputPolicy, "reasoning_effort", "max", "temperature", "0.6", "top_p", "0.95", "prompt_cache_mode", "unique", "request_canaries", true)
		if slices.Contains(f.c.notRun, cell.id) {
			f.row("attempts", "campaign", f.p.CampaignID, "arm", cell.arm, "cell", cell.id, "attempt", int64(0), "run_state", "not_run_deadline", "counted", true)
			for k := range cell.requests {
				f.row("request_facts", f.idle(cell, k)...)
			}
			continue
		}
		f.attempt(cell)
	}
}

func (f *filler) attempt(cell testCell) {
	start := f.now
	f.samples(cell, "before", start)
	failing := slices.Contains(f.c.failing, cell.id)
	free := make([]int64, cell.concurrency) // when each worker is free
	for k := range cell.requests {
		w := int64(slices.Index(free, slices.Min(free)))
		t0 := start + testSecond + free[w]
		end := f.request(cell, k, w, t0, failing)
		free[w] = t0 + end + 1000 - start - testSecond
		f.samples(cell, "during", t0+end/2)
	}
	f.now = start + testSecond + slices.Max(free) + testSecond
	f.samples(cell, "after", f.now)
	state := "complete"
	if failing {
		state = "partial"
	}
	f.row("attempts", "campaign", f.p.CampaignID, "arm", cell.arm, "cell", cell.id, "attempt", int64(1), "run_state", state, "counted", true,
		"start_ns", start, "end_ns", f.now, "start_unix_ns", testAnchor+start, "end_unix_ns", testAnchor+f.now,
		"drain_before_ns", int64(12_000_000), "drain_after_ns", int64(15_000_000), "drain_verified", true, "clock_drift_ns", int64(-40_000))
	for _, phase := range []string{"before", "after"} {
		for _, fact := range []struct{ name, value, source string }{
			{"served_id", "tiny-" + cell.arm, "/v1/models"}, {"max_model_len", "32768", "/v1/models"}, {"engine_version", "0.1." + fmt.Sprint(len(cell.arm)), "/version"},
		} {
			f.row("identities", "campaign", f.p.CampaignID, "arm", cell.arm, "cell", cell.id, "attempt", int64(1), "phase", phase, "fact", fact.name, "value", fact.value, "source", fact.source)
		}
	}
	f.now += testSecond
}

func (f *filler) common(cell testCell, k int64) []any {
	return []any{
		"campaign", f.p.CampaignID, "arm", cell.arm, "cell", cell.id, "request_index", k, "template_version", "v1",
		"marker", fmt.Sprintf("ASSAY_REQ_%d_%05d", cell.seed, k), "prompt_sha256", fmt.Sprintf("%064x", cell.seed*1000+k), "prompt_chars", cell.context * 3,
		"foreign_markers", "[]", "raised_stamps", int64(0), "output_read_stamped", int64(0), "alias_conflicts", int64(0), "bad_events", int64(0),
		"tool_events", int64(0), "trailing_bytes", int64(0), "tail_bytes", int64(0), "short_gaps", int64(0), "same_read_gaps", int64(0),
	}
}

func (f *filler) idle(cell testCell, k int64) []any {
	return append(f.common(cell, k), "attempt", int64(0), "dispatched", false, "end_kind", "not_dispatched", "end_detail", "", "outcome", "not_dispatched",
		"events", int64(0), "events_seen", int64(0), "output_events", int64(0), "reasoning_events", int64(0), "content_events", int64(0), "kernel_stamped_events", int64(0),
		"gaps", int64(0), "usage_chunks", int64(0), "finish_reasons", "[]", "visible_chars", int64(0), "reasoning_chars", int64(0))
}

// request adds one request and returns when it ended, ns after its t0.
func (f *filler) request(cell testCell, k, worker, t0 int64, failing bool) int64 {
	speed := int64(1)
	if cell.arm == "candidate" {
		speed = 2
	}
	ms := testSecond / 1000
	ttfo := (cell.context/20/speed+40*k*cell.concurrency/cell.requests+30*cell.concurrency)*ms + f.late
	tokens := 200 + (k*37+cell.seed)%90
	if cell.workload == "controlled" {
		tokens = 150
	}
	step := (18 + 4*cell.concurrency + k%3) * ms / speed
	ttft, last := ttfo+40*step, ttfo+tokens*step
	end := last + 3*ms
	row := append(f.common(cell, k), "attempt", int64(1), "dispatched", true, "worker", worker, "t0_ns", t0, "t0_unix_ns", testAnchor+t0,
		"connect_ns", ms/4, "wrote_ns", ms/2, "first_byte_ns", ttfo-ms, "head_ns", ttfo-ms, "first_event_ns", ttfo-ms,
		"http_status", int64(200), "http_version", "HTTP/1.1", "event_stream", true, "reasoning_field", "reasoning", "end_detail", "")
	if failing && k == 2 {
		f.row("request_facts", append(row, "end_ns", 300*testSecond/100, "end_kind", "idle_timeout", "outcome", "idle_timeout",
			"events", int64(1), "events_seen", int64(1), "output_events", int64(0), "reasoning_events", int64(0), "content_events", int64(0), "kernel_stamped_events", int64(1),
			"gaps", int64(0), "usage_chunks", int64(0), "usage_fault", "absent", "finish_reasons", "[]", "visible_chars", int64(0), "reasoning_chars", int64(0))...)
		return 300 * testSecond / 100
	}
	row = append(row, "ttfo_ns", ttfo, "ttft_ns", ttft, "ttft_nonblank_ns", ttft, "last_output_ns", last, "finish_ns", last, "usage_ns", last+ms,
		"done_ns", end, "close_ns", end, "end_ns", end, "end_kind", "done", "outcome", "complete", "events", tokens+3, "events_seen", tokens+3,
		"output_events", tokens, "reasoning_events", int64(40), "content_events", tokens-40, "kernel_stamped_events", tokens+3, "lag_p99_ns", 20_000+k*100,
		"gaps", tokens-1, "gap_min_ns", step, "gap_p50_ns", step, "gap_p95_ns", step, "gap_max_ns", step, "finish_reasons", `["stop"]`,
		"visible_chars", (tokens-40)*4, "reasoning_chars", int64(160), "visible_sha256", fmt.Sprintf("%064x", k+7), "leading_white_chars", int64(0), "canary_state", "own_first")
	if cell.workload == "controlled" {
		row = append(row, "words_observed", int64(32), "words_exact", true)
	}
	if failing && k == 1 {
		row = append(row, "usage_chunks", int64(0), "usage_fault", "absent")
	} else {
		row = append(row, "usage_chunks", int64(1), "prompt_tokens", cell.context*8/10+k, "completion_tokens", tokens, "reasoning_tokens", int64(40))
	}
	f.row("request_facts", row...)
	f.seen[cell.arm]++
	return end
}

// samples adds one engine page, one GPU and one host reading.
func (f *filler) samples(cell testCell, phase string, at int64) {
	f.page++
	key := []any{"campaign", f.p.CampaignID, "arm", cell.arm, "cell", cell.id, "attempt", int64(1), "phase", phase}
	gpu := append(slices.Clone(key), "sample_seq", f.page, "at_ns", at)
	f.row("host_samples", append(slices.Clone(gpu), "status", "ok", "mem_total_bytes", int64(256)<<30, "mem_available_bytes", int64(200)<<30-f.page<<20, "load_1m", 1.5, "oom_kills", int64(0), "client_rss_bytes", int64(80)<<20)...)
	f.row("cgroup_samples", append(slices.Clone(gpu), "status", "unavailable")...)
	for g := range int64(2) {
		f.row("gpu_samples", append(slices.Clone(gpu), "status", "ok", "gpu_index", g, "gpu", fmt.Sprintf("gpu-%d", g+1), "gpu_name", "Example GPU", "memory_total_bytes", int64(96)<<30,
			"memory_used_bytes", int64(80)<<30+g<<28, "memory_free_bytes", int64(16)<<30-g<<28, "utilization_percent", (f.page*13)%100, "power_mw", int64(250_000), "sm_clock_mhz", int64(2100))...)
	}
	if f.c.noPages {
		return
	}
	f.row("pages", append(slices.Clone(key), "page_seq", f.page, "start_ns", at-1_000_000, "end_ns", at, "start_unix_ns", testAnchor+at-1_000_000, "http_status", int64(200),
		"error", "", "body_sha256", strings.Repeat("cd", 32), "body_bytes", int64(9000), "series", int64(30))...)
	n := f.seen[cell.arm]
	busy := 0.0
	if phase == "during" {
		busy = float64(cell.concurrency)
	}
	sample := func(series, labels string, le any, value float64) {
		f.row("engine_samples", append(slices.Clone(key), "page_seq", f.page, "at_ns", at, "series", series, "labels", labels, "le", le, "value", value, "declared", true)...)
	}
	sample("vllm:num_requests_running", `{"model_name":"tiny"}`, nil, busy)
	sample("vllm:num_requests_waiting", `{"model_name":"tiny"}`, nil, 0)
	sample("vllm:kv_cache_usage_perc", `{"model_name":"tiny"}`, nil, busy*float64(cell.context)/200_000)
	sample("vllm:prompt_tokens_total", `{"model_name":"tiny"}`, nil, float64(n*1000))
	sample("vllm:request_success_total", `{"finished_reason":"stop","model_name":"tiny"}`, nil, float64(n))
	sample("process_start_time_seconds", `{}`, nil, 1000)
	if phase == "during" {
		return
	}
	for _, family := range []string{"vllm:e2e_request_latency_seconds", "vllm:time_to_first_token_seconds"} {
		for i, le := range []float64{1, 2.5, 5, 10, math.Inf(1)} {
			sample(family+"_bucket", `{"model_name":"tiny"}`, le, float64(n*min(int64(i)+1, 4)/4))
		}
		sample(family+"_count", `{"model_name":"tiny"}`, nil, float64(n))
		sample(family+"_sum", `{"model_name":"tiny"}`, nil, float64(n)*2.25)
	}
}
