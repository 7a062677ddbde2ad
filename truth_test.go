package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"assay/collect/simengine"
)

// truthSpec is one arm with one measured cell of four requests in flight.
const truthSpec = `
schema: assay/plan-spec/v1
campaign_id: truth-of-time
metric_profile: serving-comparison/v1
created_at: 2026-10-17T10:00:00Z
frozen_at: 2026-10-17T10:30:00Z
dispatch_clock_started_at: 2026-10-17T11:00:00Z
request_cutoff_seconds: 600
restoration_reserve_seconds: 300
load_bound_seconds: 200
controls: {max_tokens: 4096, model_max_len: 32768, prompt_cache_mode: unique, request_canaries: true}
arms:
  - {name: baseline, model: model-a, engine: sim, port: 31841}
command: [bench]
request_timeout_seconds: 60
cells:
  - {workload: natural, contexts: [4096], concurrency: [4], requests: 12, seed_base: 700, outer_timeout_seconds: 60}
eligibility:
  - all planned requests completed and terminal
publication: {finding: findings/2026-10-17-truth.md}
`

// TestEventTimesAreTrue compares each stored event's time with the simulated
// engine's own record of when it wrote that event: four streams, unscaled, a
// chunk every 20 ms, every event matched by its sequence number.
func TestEventTimesAreTrue(t *testing.T) {
	dir := t.TempDir()
	spec, planFile, run, db := filepath.Join(dir, "spec.yaml"), filepath.Join(dir, "plan.json"), filepath.Join(dir, "run"), filepath.Join(dir, "a.duckdb")
	if err := os.WriteFile(spec, []byte(truthSpec), 0o600); err != nil {
		t.Fatal(err)
	}
	profile, _ := simengine.LookupProfile("glm53-baseline")
	engine, url, stop, err := simengine.Start(context.Background(), simengine.Config{
		Profile: profile, Model: "model-a", MaxModelLen: 32768, Seed: 1, ChunkInterval: 20 * time.Millisecond, Chunks: 40,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	mustRun(t, "plan", "expand", spec, "-o", planFile)
	mustRun(t, "collect", planFile, "-o", run, "--base-url", "baseline="+url, "--restart-clock", "--confirm")
	mustRun(t, "ingest", run, "--db", db)

	sent := map[string]int64{} // by marker and sequence number, ns since 1970
	for _, s := range engine.Sends() {
		if s.Marker == "" {
			continue // the smoke check's answer, which is no request of the plan
		}
		sent[fmt.Sprintf("%s %d", s.Marker, s.Seq)] = s.UnixNs
	}
	var errorsNs []int64
	for _, r := range rows(t, db, "SELECT marker, seq, t0_unix_ns + at_ns FROM events JOIN request_facts USING (campaign, cell, attempt, request_index)") {
		at, err := strconv.ParseInt(r[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		written, ok := sent[r[0]+" "+r[1]]
		if !ok {
			t.Fatalf("event %s of %s was never sent", r[1], r[0])
		}
		errorsNs = append(errorsNs, at-written)
		delete(sent, r[0]+" "+r[1])
	}
	if len(sent) != 0 || len(errorsNs) < 12*40 {
		t.Fatalf("%d events stored, %d sent and not stored", len(errorsNs), len(sent))
	}
	slices.Sort(errorsNs)
	rank := func(q int) time.Duration { return time.Duration(errorsNs[(q*len(errorsNs)+99)/100-1]) }
	t.Logf("%d events, error min %s p50 %s p99 %s max %s", len(errorsNs), time.Duration(errorsNs[0]), rank(50), rank(99), rank(100))
	if rank(50) > 200*time.Microsecond || rank(99) > 2*time.Millisecond || errorsNs[0] < 0 {
		t.Errorf("event times are off: min %s p50 %s p99 %s", time.Duration(errorsNs[0]), rank(50), rank(99))
	}
}

// mustRun runs a command line that must exit with 0.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := command(t, args...)
	if code != 0 {
		t.Fatalf("assay %v exits %d\n%s\n%s", args, code, stdout, stderr)
	}
	return stdout
}
