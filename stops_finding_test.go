package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/collect/campaign"
	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/simengine"
	"assay/collect/stream"
)

// TestEveryStopRuleIsInTheFinding lets each rule stop a campaign and reads the
// row of the finding's failures section: rule, evidence and blocked cells.
func TestEveryStopRuleIsInTheFinding(t *testing.T) {
	const c1, c2, edge1 = "baseline-natural-ctx4096-c1", "baseline-natural-ctx4096-c2", "baseline-capacity-edge-ctx27648-c1"
	for _, test := range []struct {
		rule, cell, fault string   // the fault befalls the cell's first request, unless it counts for itself
		evidence          string   // part of the row
		blocks, runs      []string // some of the cells it must and must not block
	}{
		{"engine fault", "", "engine_dies=1", "", []string{c2, edge1, "candidate-natural-ctx4096-c1"}, nil},
		{"capacity refusal", edge1, "vllm_context_at_least", "explicitly refused", []string{"baseline-capacity-edge-ctx27648-c2", "baseline-capacity-edge-ctx27648-c4"}, []string{c2, "candidate-capacity-edge-ctx27648-c2"}},
		{"canary or loss", c1, "foreign_marker", "marker", []string{c2}, []string{edge1}},
		{"identity drift", "", "restart=3", "", []string{edge1}, []string{"candidate-natural-ctx4096-c1"}},
		{"protocol drift", c2, "reasoning_old_name", "reasoning_content", []string{edge1}, []string{"candidate-natural-ctx4096-c1"}},
		{"not drained", c1, "stall goes_on=60000", "idle", []string{c2, edge1}, []string{"candidate-natural-ctx4096-c1"}},
		{"smoke failed", "", "unknown_error", "", []string{c1, c2}, []string{"candidate-natural-ctx4096-c1"}},
		{"deadline", "", "", "", []string{"candidate-natural-ctx4096-c1"}, nil},
		{"interrupted", "", "", "", nil, nil},
	} {
		t.Run(test.rule, func(t *testing.T) {
			t.Parallel()
			id := "stopped-" + strings.ReplaceAll(test.rule, " ", "-")
			p := governedPlan(t, id)
			var faults []string
			for fault := range strings.FieldsSeq(test.fault) {
				if test.cell != "" {
					c, _ := p.Cell(test.cell)
					fault += fmt.Sprintf("@seed=%d,index=0", c.Seed)
				}
				faults = append(faults, fault)
			}
			o := governedOptions(t, p, faults)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			switch test.rule {
			case "interrupted":
				o.Progress = &onRequest{do: func() { cancel(stream.ErrInterrupted) }}
			case "deadline":
				var ahead atomic.Int64
				o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
				o.Progress = &onRequest{do: func() { ahead.Store(int64(601 * time.Second)) }}
			case "not drained":
				for i := range p.Cells {
					p.Cells[i].Request.TimeoutSeconds = 2
				}
				o.DrainBound = 3 * time.Second
			case "smoke failed":
			default:
				o.Smoke = false
			}
			if _, err := campaign.Run(ctx, o); err != nil {
				t.Fatal(err)
			}
			failures := failuresOf(t, publishRun(t, o.Dir, id))
			var row string
			for line := range strings.Lines(failures) {
				if strings.Contains(line, "| "+test.rule+" |") {
					row = line
				}
			}
			if row == "" || !strings.Contains(row, test.evidence) {
				t.Fatalf("no row of the rule with %q in\n%s", test.evidence, failures)
			}
			columns := strings.Split(row, " | ")
			if evidence := columns[3]; len(evidence) < 10 {
				t.Errorf("evidence %q", evidence)
			}
			blocked := columns[4]
			for _, cell := range test.blocks {
				if !strings.Contains(blocked, cell) {
					t.Errorf("%s is not among the blocked: %s", cell, blocked)
				}
			}
			for _, cell := range test.runs {
				if strings.Contains(blocked, cell) {
					t.Errorf("%s is among the blocked: %s", cell, blocked)
				}
			}
		})
	}
}

// onRequest does something once, when the first request ends.
type onRequest struct {
	once sync.Once
	do   func()
}

func (*onRequest) CellStarted(plan.Cell, int, int)              {}
func (*onRequest) CellEnded(plan.Cell, campaign.RunState)       {}
func (*onRequest) Estimated(campaign.Estimate)                  {}
func (*onRequest) Waiting(string)                               {}
func (o *onRequest) RequestEnded(_ plan.Cell, _ record.Request) { o.once.Do(o.do) }

func governedPlan(t *testing.T, id string) *plan.Plan {
	t.Helper()
	text, problems := plan.Expand([]byte(strings.ReplaceAll(governedSpec, "governed-finding", id)), time.Now())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, problems := plan.Decode(text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return p
}

// governedOptions collects a plan from two simulated engines; the faults are the
// baseline's.
func governedOptions(t *testing.T, p *plan.Plan, faults []string) campaign.Options {
	t.Helper()
	o := campaign.Options{
		Plan: p, Dir: filepath.Join(t.TempDir(), "run"), Version: "test", RestartClock: true, SampleEvery: 20 * time.Millisecond,
		Smoke: true, BaseURLs: map[string]string{},
	}
	for arm, model := range map[string]string{"baseline": "model-a", "candidate": "model-b"} {
		profile, _ := simengine.LookupProfile("glm53-baseline")
		c := simengine.Config{Profile: profile, Model: model, MaxModelLen: 32768, Seed: 1, TimeScale: 50, OutputScale: 0.02, DecodeScale: 0.2}
		if arm == "baseline" {
			c.Faults = faults
		}
		_, url, stop, err := simengine.Start(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		o.BaseURLs[arm] = url
	}
	return o
}

// publishRun takes a run through ingest, analyze and report, as its author does,
// and returns the database and the finding.
func publishRun(t *testing.T, run, id string) (finding string) {
	t.Helper()
	dir := filepath.Dir(run)
	db := filepath.Join(dir, "a.duckdb")
	for _, args := range [][]string{
		{"ingest", run, "--db", db}, {"analyze", "--db", db}, {"report", "--db", db, "--campaign", id, "-o", filepath.Join(dir, "findings")},
	} {
		if code, stdout, stderr := command(t, args...); code != 0 {
			t.Fatalf("%v exits %d\n%s\n%s", args, code, stdout, stderr)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "findings", "2026-10-17-governed.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// failuresOf cuts the failures section out of a finding.
func failuresOf(t *testing.T, finding string) string {
	t.Helper()
	_, failures, found := strings.Cut(finding, "## Failures, stops and attempts")
	if !found {
		t.Fatal("the finding has no failures section")
	}
	failures, _, _ = strings.Cut(failures, "\n## ")
	return failures
}
