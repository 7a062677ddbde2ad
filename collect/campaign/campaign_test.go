package campaign

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/simengine"
	"assay/collect/stream"
)

// smallSpec is two arms of three cells: a warm-up, one request at a time, two
// at a time. Everything else is as in the example.
const smallSpec = `
schema: assay/plan-spec/v1
campaign_id: small
metric_profile: serving-comparison/v1
created_at: 2026-10-17T10:00:00Z
frozen_at: 2026-10-17T10:30:00Z
dispatch_clock_started_at: 2026-10-17T11:00:00Z
request_cutoff_seconds: 600
restoration_reserve_seconds: 300
load_bound_seconds: 200
controls: {max_tokens: 4096, model_max_len: 32768, prompt_cache_mode: unique, request_canaries: true, temperature: 0.6}
arms:
  - {name: baseline, model: model-a, engine: sim, port: 31841}
  - {name: candidate, model: model-b, engine: sim, port: 31843}
command: [bench]
request_timeout_seconds: 60
cells:
  - {workload: warmup, contexts: [4096], concurrency: [1], requests: 1, seed_base: 100, outer_timeout_seconds: 60}
  - {workload: natural, contexts: [4096], concurrency: [1, 2], requests: 4, seed_base: 200, outer_timeout_seconds: 60}
eligibility:
  - all planned requests completed and terminal
`

// smallPlan is the expanded small spec. edit changes it before it is used.
func smallPlan(t *testing.T, edit func(*plan.Plan)) *plan.Plan {
	t.Helper()
	text, problems := plan.Expand([]byte(smallSpec), time.Now())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, problems := plan.Decode(text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if edit != nil {
		edit(p)
	}
	return p
}

// sim starts a simulated engine that ends with the test.
func sim(t *testing.T, model string, change func(*simengine.Config)) (*simengine.Engine, string) {
	t.Helper()
	profile, _ := simengine.LookupProfile("glm53-baseline")
	config := simengine.Config{Profile: profile, Model: model, MaxModelLen: 32768, Seed: 1, TimeScale: 50, OutputScale: 0.05}
	if change != nil {
		change(&config)
	}
	engine, url, stop, err := simengine.Start(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return engine, url
}

// options run the small plan on two fresh engines.
func options(t *testing.T, p *plan.Plan, a, b string) Options {
	t.Helper()
	return Options{
		Plan: p, Dir: filepath.Join(t.TempDir(), "run"), Version: "test",
		BaseURLs: map[string]string{"baseline": a, "candidate": b}, RestartClock: true, SampleEvery: 20 * time.Millisecond,
	}
}

func journal(t *testing.T, dir string) []record.Entry {
	t.Helper()
	entries, bad, err := record.ReadJournal(dir)
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	return entries
}

// outcomes lists the last state of each cell in the journal.
func outcomes(entries []record.Entry) map[string]string {
	states := map[string]string{}
	for _, e := range entries {
		if e.Kind == record.EntryAttemptEnd || e.Kind == record.EntryBlock {
			states[e.Cell] = e.Outcome
		}
	}
	return states
}

func completions(e *simengine.Engine) []simengine.Arrival {
	return slices.DeleteFunc(e.Arrivals(), func(a simengine.Arrival) bool { return a.Path != "/v1/chat/completions" })
}

func TestRunLeavesACompleteRunDirectory(t *testing.T) {
	baseline, a := sim(t, "model-a", nil)
	candidate, b := sim(t, "model-b", nil)
	o := options(t, smallPlan(t, nil), a, b)
	summary, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !summary.Complete() || summary.Dispatched != 18 || len(summary.Stops) != 0 {
		t.Errorf("summary: %+v", summary)
	}
	if n := len(completions(baseline)) + len(completions(candidate)); n != 18 {
		t.Errorf("the engines saw %d requests", n)
	}
	for _, c := range o.Plan.Cells {
		folder := filepath.Join(o.Dir, record.AttemptFolder(c.Arm, c.ID, 1))
		for _, table := range record.AllTables {
			if _, err := os.Stat(filepath.Join(folder, table.TableName()+".parquet")); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(filepath.Join(folder, record.SpoolName)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the spool was left: %v", c.ID, err)
		}
	}
	stored, err := os.ReadFile(filepath.Join(o.Dir, record.PlanName))
	if err != nil || string(stored) != string(o.Plan.Bytes) {
		t.Errorf("plan.json is not the plan's exact bytes: %v", err)
	}
}

func TestLockIsOnDiskBeforeTheFirstRequest(t *testing.T) {
	p := smallPlan(t, nil)
	dir := filepath.Join(t.TempDir(), "run")
	var locked atomic.Bool
	_, a := sim(t, "model-a", func(c *simengine.Config) {
		c.ArrivalLog = func(arrival simengine.Arrival) {
			if arrival.Path != "/v1/chat/completions" || locked.Load() {
				return
			}
			text, err := os.ReadFile(filepath.Join(dir, record.LockName))
			lock, bad := plan.DecodeLock(text)
			if err != nil || bad != nil || lock.CanonicalSHA256 != p.Digest() || lock.LockedAtUnixNs >= arrival.UnixNs {
				t.Errorf("first request without a good lock: %v %v %+v", err, bad, lock)
			}
			locked.Store(true)
		}
	})
	_, b := sim(t, "model-b", nil)
	o := options(t, p, a, b)
	o.Dir = dir
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if !locked.Load() {
		t.Error("no request arrived")
	}
}

func TestPassedCutoffIsNamedAndNothingIsSentOrWritten(t *testing.T) {
	engine, a := sim(t, "model-a", nil)
	o := options(t, smallPlan(t, nil), a, a)
	o.RestartClock = false
	_, err := Run(t.Context(), o)
	if !errors.Is(err, ErrCutoffPassed) {
		t.Fatalf("want ErrCutoffPassed, got %v", err)
	}
	if len(engine.Arrivals()) != 0 {
		t.Error("something was sent")
	}
	if _, err := os.Stat(o.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("the run directory was made")
	}
}

func TestAbsentEndpointLeavesNothingBehind(t *testing.T) {
	o := options(t, smallPlan(t, nil), "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1")
	if _, err := Run(t.Context(), o); !errors.Is(err, ErrUnreachable) {
		t.Fatalf("want ErrUnreachable, got %v", err)
	}
	if _, err := os.Stat(o.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("the run directory was made")
	}
}

func TestExistingRunDirectoryIsRefused(t *testing.T) {
	engine, a := sim(t, "model-a", nil)
	o := options(t, smallPlan(t, nil), a, a)
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(o.Dir, "kept")
	if err := os.WriteFile(kept, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o); !errors.Is(err, ErrRunExists) {
		t.Fatalf("want ErrRunExists, got %v", err)
	}
	if names, _ := os.ReadDir(o.Dir); len(names) != 1 || len(completions(engine)) != 0 {
		t.Errorf("folder %v, requests %d", names, len(completions(engine)))
	}
}

// clockAfter is a wall clock that jumps an hour ahead once n requests are over.
func clockAfter(n int64, ended *atomic.Int64) func() time.Time {
	return func() time.Time {
		if ended.Load() >= n {
			return time.Now().Add(time.Hour)
		}
		return time.Now()
	}
}

type counting struct {
	silent
	ended atomic.Int64
	after func(ended int64)
}

func (c *counting) RequestEnded(plan.Cell, record.Request) {
	n := c.ended.Add(1)
	if c.after != nil {
		c.after(n)
	}
}

func TestCutoffInsideACellStopsBetweenTwoRequests(t *testing.T) {
	engine, a := sim(t, "model-a", nil)
	o := options(t, smallPlan(t, nil), a, a)
	progress := &counting{}
	o.Progress, o.Now = progress, clockAfter(3, &progress.ended)
	summary, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(completions(engine)); n != 3 {
		t.Errorf("%d requests were sent, the cutoff allowed 3", n)
	}
	want := map[string]string{
		"baseline-warmup-ctx4096-c1": "complete", "baseline-natural-ctx4096-c1": "partial", "baseline-natural-ctx4096-c2": "not_run_deadline",
		"candidate-warmup-ctx4096-c1": "not_run_deadline", "candidate-natural-ctx4096-c1": "not_run_deadline", "candidate-natural-ctx4096-c2": "not_run_deadline",
	}
	for cell, state := range want {
		if got := outcomes(journal(t, o.Dir))[cell]; got != state {
			t.Errorf("%s: %s, want %s", cell, got, state)
		}
	}
	if len(summary.Stops) != 1 || summary.Stops[0].Rule != StopDeadline || summary.Complete() {
		t.Errorf("summary: %+v", summary)
	}
}

func TestInterruptClosesTheCellAndStartsNoOther(t *testing.T) {
	_, a := sim(t, "model-a", nil)
	o := options(t, smallPlan(t, nil), a, a)
	ctx, cancel := context.WithCancelCause(t.Context())
	o.Progress = &counting{after: func(ended int64) {
		if ended == 2 {
			cancel(stream.ErrInterrupted)
		}
	}}
	summary, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if !summary.Interrupted || summary.Complete() {
		t.Errorf("summary: %+v", summary)
	}
	states := outcomes(journal(t, o.Dir))
	if states["baseline-natural-ctx4096-c1"] != "partial" || states["candidate-natural-ctx4096-c2"] != "not_run" {
		t.Errorf("states: %v", states)
	}
	folder := filepath.Join(o.Dir, record.AttemptFolder("baseline", "baseline-natural-ctx4096-c1", 1))
	if _, err := os.Stat(filepath.Join(folder, "requests.parquet")); err != nil {
		t.Error(err)
	}
}

func TestEngineThatDiesStopsAllDispatch(t *testing.T) {
	_, a := sim(t, "model-a", func(c *simengine.Config) { c.Faults = []string{"engine_dies=3"} })
	other, b := sim(t, "model-b", nil)
	o := options(t, smallPlan(t, nil), a, b)
	summary, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(summary.Stops, func(s Stop) bool { return s.Rule == StopEngineFault }) {
		t.Errorf("stops: %+v", summary.Stops)
	}
	if n := len(completions(other)); n != 0 {
		t.Errorf("the other arm was sent %d requests", n)
	}
	if state := outcomes(journal(t, o.Dir))["candidate-natural-ctx4096-c1"]; state != "blocked_by_stop" {
		t.Errorf("candidate cell: %s", state)
	}
}

func TestOuterTimeoutCutsTheCellAndBlocksNoSuperset(t *testing.T) {
	_, a := sim(t, "model-a", func(c *simengine.Config) { c.ChunkInterval, c.Chunks, c.TimeScale = 200*time.Millisecond, 40, 1 })
	_, b := sim(t, "model-b", nil)
	o := options(t, smallPlan(t, func(p *plan.Plan) {
		for i := range p.Cells {
			if p.Cells[i].Arm == "baseline" {
				p.Cells[i].OuterTimeoutSeconds = 1
			}
		}
	}), a, b)
	summary, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	// The timeout is no proof of a limit. The requests it cut off are lost, and
	// that blocks higher concurrency on the arm.
	if summary.States[StateOuter] != 2 || summary.States[StateComplete] != 3 || summary.States[StateBlocked] != 1 {
		t.Errorf("states: %v", summary.States)
	}
	for _, s := range summary.Stops {
		if s.Rule == StopDeadline && len(s.Blocks) != 0 || s.Rule != StopDeadline && s.Rule != StopCanaryOrLoss {
			t.Errorf("a timeout blocked cells: %+v", s)
		}
	}
}

func TestSelectionRunsOnlyTheNamedCells(t *testing.T) {
	engine, a := sim(t, "model-b", nil)
	o := options(t, smallPlan(t, nil), a, a)
	o.OnlyArm, o.CellGlob = "candidate", "*-natural-*-c2"
	summary, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if summary.Selected != 1 || len(completions(engine)) != 4 || summary.Complete() {
		t.Errorf("summary %+v, requests %d", summary, len(completions(engine)))
	}
	o.CellGlob = "nothing*"
	if _, err := Run(t.Context(), o); !errors.Is(err, ErrUsage) {
		t.Errorf("empty selection: %v", err)
	}
}

func TestPreviewSendsNothing(t *testing.T) {
	engine, a := sim(t, "model-a", nil)
	view, err := Preview(options(t, smallPlan(t, nil), a, a))
	if err != nil {
		t.Fatal(err)
	}
	if view.Cells != 6 || view.Requests != 18 || len(view.Arms) != 2 || len(engine.Arrivals()) != 0 {
		t.Errorf("view %+v, arrivals %d", view, len(engine.Arrivals()))
	}
}

func TestDispatchClock(t *testing.T) {
	p := smallPlan(t, nil)
	before := p.AbsoluteRequestCutoff.Add(-time.Nanosecond)
	clock, err := dispatchClock(p, before, false)
	if err != nil || clock.CutoffUnixNs != p.AbsoluteRequestCutoff.UnixNano() || clock.DeadlineUnixNs != p.AbsoluteCampaignDeadline.UnixNano() || clock.Restarted {
		t.Errorf("frozen clock: %+v %v", clock, err)
	}
	if _, err := dispatchClock(p, p.AbsoluteRequestCutoff, false); !errors.Is(err, ErrCutoffPassed) {
		t.Errorf("at the cutoff: %v", err)
	}
	now := p.AbsoluteRequestCutoff.Add(time.Hour)
	clock, err = dispatchClock(p, now, true)
	if err != nil || clock.DispatchUnixNs != now.UnixNano() || clock.CutoffUnixNs != now.Add(600*time.Second).UnixNano() || clock.DeadlineUnixNs != now.Add(900*time.Second).UnixNano() {
		t.Errorf("restarted clock: %+v %v", clock, err)
	}
	// Requests in flight never go on into the time reserved for restoration.
	c := p.Cells[0]
	if got := cellBound(c, p, clock, now); got != 60*time.Second {
		t.Errorf("bound at the start: %s", got)
	}
	if got := cellBound(c, p, clock, now.Add(690*time.Second)); got != 10*time.Second {
		t.Errorf("bound near the reserve: %s", got)
	}
}
