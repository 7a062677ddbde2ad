package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/collect/campaign"
	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/simengine"
	"assay/collect/stream"
)

// governedSpec is two arms whose capacity edge is the last thing they do.
const governedSpec = `
schema: assay/plan-spec/v1
campaign_id: governed-finding
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
  - {name: candidate, model: model-b, engine: sim, port: 31843}
command: [bench]
request_timeout_seconds: 10
cells:
  - {workload: natural, contexts: [4096], concurrency: [1, 2], requests: 4, seed_base: 200, outer_timeout_seconds: 60}
  - {workload: capacity-edge, contexts: [27648], concurrency: [1, 2, 4], requests: 4, seed_base: 300, outer_timeout_seconds: 60}
eligibility:
  - all planned requests completed and terminal
  - exact usage counts
  - allowed finish reason and visible output
  - own canary first; no foreign marker; complete capture
publication: {finding: findings/2026-10-17-governed.md}
`

// TestFindingOfAGovernedCampaign interrupts a campaign, resumes it into a
// refused capacity edge, and reads the finding's failures section.
func TestFindingOfAGovernedCampaign(t *testing.T) {
	text, problems := plan.Expand([]byte(governedSpec), time.Now())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, problems := plan.Decode(text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	edge, _ := p.Cell("baseline-capacity-edge-ctx27648-c1")
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	o := campaign.Options{Plan: p, Dir: run, Version: "test", RestartClock: true, SampleEvery: 20 * time.Millisecond, Smoke: true, BaseURLs: map[string]string{}}
	for arm, model := range map[string]string{"baseline": "model-a", "candidate": "model-b"} {
		profile, _ := simengine.LookupProfile("glm53-baseline")
		c := simengine.Config{Profile: profile, Model: model, MaxModelLen: 32768, Seed: 1, TimeScale: 50, OutputScale: 0.02, DecodeScale: 0.2}
		if arm == "baseline" {
			c.Faults = []string{"vllm_context_at_least@seed=" + strconv.FormatInt(edge.Seed, 10), "bad_request@nth=2"}
		}
		_, url, stop, err := simengine.Start(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		o.BaseURLs[arm] = url
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	o.Progress = stopper{cancel: func() { cancel(stream.ErrInterrupted) }}
	if summary, err := campaign.Run(ctx, o); err != nil || !summary.Interrupted {
		t.Fatal(err, summary)
	}
	o.Progress, o.Resume = nil, true
	if summary, err := campaign.Run(t.Context(), o); err != nil || summary.Complete() {
		t.Fatal(err, summary)
	}
	db := filepath.Join(dir, "a.duckdb")
	for _, args := range [][]string{
		{"ingest", run, "--db", db}, {"analyze", "--db", db}, {"report", "--db", db, "--campaign", "governed-finding", "-o", filepath.Join(dir, "findings")},
	} {
		if code, stdout, stderr := command(t, args...); code != 0 {
			t.Fatalf("%v exits %d\n%s\n%s", args, code, stdout, stderr)
		}
	}
	for query, want := range map[string]string{
		"SELECT string_agg(rule, ' ' ORDER BY stop_seq) FROM stops":                                                                     "interrupted capacity_refusal",
		"SELECT string_agg(cell, ' ' ORDER BY cell_order) FROM cell_eligibility WHERE run_state = 'blocked_by_stop'":                    "baseline-capacity-edge-ctx27648-c2 baseline-capacity-edge-ctx27648-c4",
		"SELECT count(*) FROM attempts WHERE attempt = 2 AND counted":                                                                   "1",
		"SELECT string_agg(arm || ' ' || question || ' ' || outcome, ', ' ORDER BY smoke_seq) FROM smoke_checks WHERE outcome = 'fail'": "baseline json fail",
		"SELECT count(*) FROM problems WHERE code = 'smoke_failed'":                                                                     "1",
		"SELECT count(*) FROM cell_eligibility WHERE eligibility = 'eligible'":                                                          "7",
	} {
		if got := value(t, db, query); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
	finding, err := os.ReadFile(filepath.Join(dir, "findings", "2026-10-17-governed.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, failures, found := strings.Cut(string(finding), "## Failures, stops and attempts")
	if !found {
		t.Fatal("the finding has no failures section")
	}
	failures, _, _ = strings.Cut(failures, "\n## ")
	for _, want := range []string{"capacity refusal", "interrupted", "baseline-capacity-edge-ctx27648-c4", "explicitly refused", "smoke"} {
		if !strings.Contains(failures, want) {
			t.Errorf("the failures section does not say %q:\n%s", want, failures)
		}
	}
}

// stopper interrupts a campaign at its fifth cell's worth of requests.
type stopper struct{ cancel func() }

func (stopper) CellStarted(plan.Cell, int, int)        {}
func (stopper) CellEnded(plan.Cell, campaign.RunState) {}
func (stopper) Estimated(campaign.Estimate)            {}
func (stopper) Waiting(string)                         {}
func (s stopper) RequestEnded(c plan.Cell, _ record.Request) {
	if c.Concurrency == 1 && c.Workload == plan.WorkloadNatural {
		s.cancel()
	}
}
