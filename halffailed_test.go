package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/collect/campaign"
	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/simengine"
)

// halfFailedSpec is two arms of nine cells each.
const halfFailedSpec = `
schema: assay/plan-spec/v1
campaign_id: half-failed
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
  - {workload: warmup, contexts: [2048], concurrency: [1], requests: 1, seed_base: 100, outer_timeout_seconds: 60}
  - {workload: natural, contexts: [2048], concurrency: [1, 2], requests: 8, seed_base: 200, outer_timeout_seconds: 60}
  - {workload: natural, contexts: [8192], concurrency: [1, 2], requests: 8, seed_base: 300, outer_timeout_seconds: 60}
  - {workload: controlled, contexts: [2048], concurrency: [1, 2], requests: 4, response_words: 16, controlled_output_policy: strict, seed_base: 400, outer_timeout_seconds: 60}
  - {workload: capacity-edge, contexts: [27648], concurrency: [1, 2], requests: 2, seed_base: 500, outer_timeout_seconds: 60}
eligibility:
  - all planned requests completed and terminal
  - exact usage counts
  - allowed finish reason and visible output
  - own canary first; no foreign marker; complete capture
  - same measurement_protocol in compared arms
publication: {finding: findings/2026-10-17-half-failed.md}
restoration:
  postconditions: [candidate gone, same container as before, healthy under its own name, requests answered, primary alias back, files as they were]
`

// halfFailedFaults are the faults of each arm by cell.
var halfFailedFaults = map[string]map[string]string{
	"baseline": {
		"baseline-natural-ctx8192-c1":    "finish_length@index=1",
		"baseline-natural-ctx8192-c2":    "cut@index=2",
		"baseline-controlled-ctx2048-c2": "no_usage@index=1",
	},
	"candidate": {
		"candidate-natural-ctx2048-c1":        "foreign_marker@index=3",
		"candidate-capacity-edge-ctx27648-c1": "vllm_context_at_least",
	},
}

// brokenHost is a host whose restoration fails two checks.
type brokenHost struct{ loaded map[string]bool }

func (h brokenHost) Load(_ context.Context, arm string, changes func(map[string]string) error, _ func(record.Entry) error) error {
	if arm == "baseline" || h.loaded[arm] {
		return nil
	}
	h.loaded[arm] = true
	return changes(map[string]string{"served_id": "model-a"})
}

func (brokenHost) Restore(_ context.Context, _ map[string]string, note func(record.Entry) error) (bool, error) {
	for _, c := range [][3]string{
		{"candidate_absent", "pass", "no other arm answers"},
		{"same_container", "fail", "changed: container_id"},
		{"health_and_identity", "pass", "healthy, and what the engine says is as at the start"},
		{"direct_and_primary_requests", "not_evaluable", "the direct JSON request is answered; the lifecycle file names no primary alias"},
		{"primary_readmitted", "not_evaluable", "the lifecycle file names no primary alias"},
		{"files_unchanged", "fail", "1 of 3 files do not have their digests"},
	} {
		if err := note(record.Entry{Kind: record.EntryRestoreCheck, Rule: c[0], Outcome: c[1], Detail: c[2]}); err != nil {
			return false, err
		}
	}
	return false, nil
}

// halfFailed collects the campaign and publishes its finding.
func halfFailed(t *testing.T) (finding, folder, db string) {
	t.Helper()
	text, problems := plan.Expand([]byte(halfFailedSpec), time.Now())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, problems := plan.Decode(text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	dir := t.TempDir()
	o := campaign.Options{
		Plan: p, Dir: filepath.Join(dir, "run"), Version: "test", RestartClock: true, SampleEvery: 20 * time.Millisecond, Smoke: true,
		BaseURLs: map[string]string{}, Lifecycle: brokenHost{map[string]bool{}},
	}
	for arm, model := range map[string]string{"baseline": "model-a", "candidate": "model-b"} {
		profile, _ := simengine.LookupProfile("glm53-baseline")
		c := simengine.Config{Profile: profile, Model: model, MaxModelLen: 32768, Seed: 1, TimeScale: 50, OutputScale: 0.02, DecodeScale: 0.2}
		for id, fault := range halfFailedFaults[arm] {
			cell, ok := p.Cell(id)
			if !ok {
				t.Fatal(id)
			}
			name, where, _ := strings.Cut(fault, "@")
			c.Faults = append(c.Faults, name+"@"+strings.TrimSuffix("seed="+strconv.FormatInt(cell.Seed, 10)+","+where, ","))
		}
		_, url, stop, err := simengine.Start(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		o.BaseURLs[arm] = url
	}
	if summary, err := campaign.Run(t.Context(), o); err != nil || summary.Complete() || !summary.NotRestored {
		t.Fatal(err, summary)
	}
	db = filepath.Join(dir, "a.duckdb")
	for _, args := range [][]string{
		{"ingest", o.Dir, "--db", db}, {"analyze", "--db", db}, {"report", "--db", db, "-o", filepath.Join(dir, "findings")},
		{"verify", filepath.Join(dir, "findings", "2026-10-17-half-failed-evidence")}, {"report", "--check", filepath.Join(dir, "findings")},
	} {
		if code, stdout, stderr := command(t, args...); code != 0 {
			t.Fatalf("%v exits %d\n%s\n%s", args, code, stdout, stderr)
		}
	}
	if keep := os.Getenv("ASSAY_KEEP"); keep != "" {
		if err := os.CopyFS(keep, os.DirFS(filepath.Join(dir, "findings"))); err != nil {
			t.Fatal(err)
		}
	}
	narrative, err := os.ReadFile(filepath.Join(dir, "findings", "2026-10-17-half-failed.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(narrative), filepath.Join(dir, "findings", "2026-10-17-half-failed-evidence"), db
}

// partOf is the text of a narrative below a heading of the second level.
func partOf(t *testing.T, narrative, heading string) string {
	t.Helper()
	_, text, ok := strings.Cut(narrative, "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("the finding has no section %s", heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// inOrder holds that texts follow each other.
func inOrder(t *testing.T, where, text string, wants ...string) {
	t.Helper()
	rest := text
	for _, want := range wants {
		at := strings.Index(rest, want)
		if at < 0 {
			t.Errorf("%s does not say %q, or not in this order: %q\n%s", where, want, wants, text)
			return
		}
		rest = rest[at+len(want):]
	}
}

// TestFindingOfACampaignInWhichHalfFailed reads the finding of a campaign in which
// most cells failed, were blocked or were refused, and the host was not restored.
// It has every part that the finding of a campaign without a fault has, every
// planned cell, and no zero where there is no value.
func TestFindingOfACampaignInWhichHalfFailed(t *testing.T) {
	finding, folder, db := halfFailed(t)
	good, err := os.ReadFile("findings/2026-10-17-glm53-serving-example.md")
	if err != nil {
		t.Fatal(err)
	}
	headings := regexp.MustCompile(`(?m)^## .*$`)
	if a, b := headings.FindAllString(string(good), -1), headings.FindAllString(finding, -1); !slices.Equal(a, b) {
		t.Errorf("sections %q, of a sound campaign %q", b, a)
	}
	if got, want := value(t, db, "SELECT count(*) FILTER (eligibility = 'eligible') || ' ' || count(*) FILTER (eligibility = 'ineligible') FROM cell_eligibility"), "5 11"; got != want {
		t.Fatalf("eligible and ineligible cells: %s, want %s", got, want)
	}
	eligibility, results := partOf(t, finding, "Eligibility"), partOf(t, finding, "Results")
	for _, row := range rows(t, db, "SELECT cell, eligibility, dispatched FROM cell_eligibility ORDER BY cell") {
		if !strings.Contains(eligibility, "`"+row[0]+"`") {
			t.Errorf("cell %s is not in the finding", row[0])
		}
		if blocked := regexp.MustCompile("\\| `" + row[0] + "` \\| blocked by stop \\| nothing was sent, so no rule could be judged: blocked by `[a-z_]+`"); row[2] == "0" && !blocked.MatchString(eligibility) {
			t.Errorf("cell %s was not run, and the finding does not name the stop", row[0])
		}
		if named := strings.Contains(results, "`"+row[0]+"`"); named != (row[1] == "ineligible") {
			t.Errorf("cell %s is %s; named beside the results: %v", row[0], row[1], named)
		}
	}
	checkNoZero(t, finding)
	checkWorstFirst(t, finding)
	checkNotRestored(t, finding, folder)
}

// checkNoZero looks for values where there is none.
func checkNoZero(t *testing.T, finding string) {
	t.Helper()
	for _, bad := range []string{"NaN", "<nil>", "%!", "null", "``", "`@`"} {
		if strings.Contains(finding, bad) {
			t.Errorf("the finding holds %q", bad)
		}
	}
	for _, heading := range []string{"Results", "Comparisons", "Sensitivity"} {
		zeros := `\| 0\x{00a0}(ns|ms|s) \|`
		if heading == "Results" { // a difference of two equal medians may be 0
			zeros = `\| 0(\x{00a0}(ns|ms|s))? \|`
		}
		// Events that share a read have a gap of 0, which a busy machine makes many.
		text := regexp.MustCompile(`(?s)\nGaps between output events\..*?\n(?:###|!\[)`).ReplaceAllString(partOf(t, finding, heading), "\n")
		if zero := regexp.MustCompile(zeros).FindString(text); zero != "" {
			t.Errorf("%s holds %q", heading, zero)
		}
	}
	if rows := strings.Count(partOf(t, finding, "Results"), "\n| 27,648 |"); rows != 0 {
		t.Errorf("%d rows of results for a context at which no cell is eligible", rows)
	}
}

func checkWorstFirst(t *testing.T, finding string) {
	t.Helper()
	card := partOf(t, finding, "Result card")
	inOrder(t, "the result card", card, "11 of 16 measured cells are not eligible; 5 passed", "| Measured cells that are not eligible | 11 of 16 |",
		"| Earlier service after the campaign | **not restored** | checks that failed: `same_container`, `files_unchanged`", "| Deepest eligible context", "| Pairs that can be compared | 1 of 8 |")
	inOrder(t, "the outcome", partOf(t, finding, "Outcome"), "The earlier service is not restored", "Stop rule `canary_or_loss` fired in", "cells it blocked: 4",
		"Stop rule `protocol_drift` fired in `baseline-controlled-ctx2048-c2`; stops of this rule: 1, cells it blocked: 2", "11 of 16 measured cells are not eligible", "Requests: 90 planned")
	inOrder(t, "eligibility", partOf(t, finding, "Eligibility"), "### Cells that are not eligible", "| `baseline-natural-ctx8192-c1` | complete | `finish_allowed` | \\[1\\] |",
		"| `baseline-natural-ctx8192-c2` | truncated | 1 | 8 |", "| `candidate-capacity-edge-ctx27648-c1` | refused context | 2 | 2 |", "### All cells")
	inOrder(t, "sensitivity", partOf(t, finding, "Sensitivity"), "| `baseline-natural-ctx8192-c1` | E2E | 7 of 8 |", "| `candidate-natural-ctx2048-c1` | E2E | 7 of 8 |")
	inOrder(t, "comparisons", partOf(t, finding, "Comparisons"), "1 of 8 pairs can be compared", "candidate refused (proven): refused_context", "baseline ineligible (blocked_by_stop), nothing was sent")
	inOrder(t, "what to test next", partOf(t, finding, "What to test next"), "Bring the earlier service back", "Run the cells again that are not eligible")
}

func checkNotRestored(t *testing.T, finding, folder string) {
	t.Helper()
	text := partOf(t, finding, "Smoke and restoration")
	inOrder(t, "restoration", text, "| `candidate` | plain | passed |", "**The earlier service is not restored:** failed: `same_container`, `files_unchanged`; could not be judged:",
		"| `same_container` | **failed** | changed: container_id | same container as before |", "| `files_unchanged` | **failed** | 1 of 3 files do not have their digests | files as they were |",
		"| `primary_readmitted` | could not be judged |", "| `candidate_absent` | passed | no other arm answers | candidate gone |")
	data, err := os.ReadFile(filepath.Join(folder, "restoration.json"))
	if err != nil {
		t.Fatal(err)
	}
	var record struct {
		State  string
		Checks []struct{ Check, Outcome string }
	}
	if err := json.Unmarshal(data, &record); err != nil || record.State != "not restored" || len(record.Checks) != 6 || record.Checks[1].Outcome != "fail" {
		t.Errorf("restoration.json says %+v, %v", record, err)
	}
	for _, name := range []string{"data/restoration.parquet", "data/smoke.parquet", "queries/restoration.sql", "tables/smoke.csv"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Errorf("the bundle has no %s", name)
		}
	}
	post, err := os.ReadFile(filepath.Join(folder, "publication-summary.md"))
	if err != nil {
		t.Fatal(err)
	}
	inOrder(t, "the short post", string(post), "## Short post", "The earlier service is not restored. 11 of 16 measured cells are not eligible", "## Longer post")
}
