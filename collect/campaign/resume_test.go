package campaign

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/simengine"
	"assay/collect/stream"
)

// cutShort runs a campaign that is interrupted after n requests.
func cutShort(t *testing.T, o Options, n int64) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	o.Progress = &counting{after: func(ended int64) {
		if ended == n {
			cancel(stream.ErrInterrupted)
		}
	}}
	if _, err := Run(ctx, o); err != nil {
		t.Fatal(err)
	}
}

func TestResumeRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, o *Options)
		want   error
	}{
		"another plan": {func(t *testing.T, o *Options) {
			text := strings.Replace(string(o.Plan.Bytes), `"owner"`, `"owner2"`, 1)
			text = strings.Replace(text, "small", "other", 1)
			p, _ := plan.Decode([]byte(text))
			o.Plan = p
		}, ErrPlanChanged},
		"another engine behind the arm": {func(t *testing.T, o *Options) {
			_, o.BaseURLs["baseline"] = sim(t, "model-a", func(c *simengine.Config) { c.MaxModelLen = 40000 })
		}, ErrArmChanged},
		"an expired clock": {func(_ *testing.T, o *Options) {
			o.Now = func() time.Time { return time.Now().Add(time.Hour) }
		}, ErrCutoffPassed},
		"a run that is open": {func(t *testing.T, o *Options) {
			j, err := record.OpenJournal(o.Dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = j.Close() })
		}, record.ErrBusy},
		"a folder of something else": {func(t *testing.T, o *Options) {
			o.Dir = t.TempDir()
			if err := os.WriteFile(filepath.Join(o.Dir, "notes"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, ErrRunExists},
	} {
		t.Run(name, func(t *testing.T) {
			engine, a := sim(t, "model-a", nil)
			_, b := sim(t, "model-b", nil)
			o := options(t, smallPlan(t, nil), a, b)
			cutShort(t, o, 2)
			before := len(completions(engine))
			o.Resume = true
			test.change(t, &o)
			if _, err := Run(t.Context(), o); !errors.Is(err, test.want) {
				t.Fatalf("got %v", err)
			}
			if n := len(completions(engine)); n != before {
				t.Errorf("%d requests were sent", n-before)
			}
		})
	}
}

func TestAnExpiredClockIsInTheJournal(t *testing.T) {
	_, a := sim(t, "model-a", nil)
	o := options(t, smallPlan(t, nil), a, a)
	cutShort(t, o, 2)
	o.Resume, o.Now = true, func() time.Time { return time.Now().Add(time.Hour) }
	if _, err := Run(t.Context(), o); !errors.Is(err, ErrCutoffPassed) {
		t.Fatal(err)
	}
	entries := journal(t, o.Dir)
	if got := outcomes(entries)["candidate-natural-ctx4096-c2"]; got != "not_run_deadline" || !slices.Contains(rulesOf(entries), "deadline") {
		t.Errorf("state %q, rules %v", got, rulesOf(entries))
	}
}

// TestEngineThatDiesAndComesBack resumes after an engine fault: the plan stops
// all dispatch, so nothing more is sent although the engine is there again.
func TestEngineThatDiesAndComesBack(t *testing.T) {
	_, a := sim(t, "model-a", func(c *simengine.Config) { c.Faults = []string{"engine_dies=3"} })
	other, b := sim(t, "model-b", nil)
	o := options(t, smallPlan(t, nil), a, b)
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	again, url := sim(t, "model-a", nil)
	o.BaseURLs["baseline"], o.Resume = url, true
	summary, err := Run(t.Context(), o)
	if err != nil || !summary.NothingToDo || summary.Complete() {
		t.Fatal(err, summary)
	}
	if len(completions(again))+len(completions(other)) != 0 {
		t.Error("requests were sent after an engine fault")
	}
	checkRequests(t, o.Dir, "baseline", "baseline-natural-ctx4096-c1")
}

// checkRequests reads the requests of one attempt.
func checkRequests(t *testing.T, dir, arm, cell string) {
	t.Helper()
	rows, err := record.ReadTable(filepath.Join(dir, record.AttemptFolder(arm, cell, 1)), record.Requests)
	if err != nil || len(rows) != 4 {
		t.Errorf("%d requests: %v", len(rows), err)
	}
}

func TestReadHistory(t *testing.T) {
	start := func(cell string, n int) record.Entry {
		return record.Entry{Kind: record.EntryAttemptStart, Arm: "a", Cell: cell, Attempt: n}
	}
	end := func(cell string, n int, outcome string, recovered int64) record.Entry {
		return record.Entry{Kind: record.EntryAttemptEnd, Arm: "a", Cell: cell, Attempt: n, Outcome: outcome, Figures: map[string]int64{"recovered": recovered}}
	}
	stop := func(rule StopRule, cell string, n int) record.Entry {
		return record.Entry{Kind: record.EntryStop, Arm: "a", Cell: cell, Attempt: n, Rule: string(rule)}
	}
	block := func(rule StopRule, cell string, state RunState) record.Entry {
		return record.Entry{Kind: record.EntryBlock, Arm: "a", Cell: cell, Rule: string(rule), Outcome: string(state)}
	}
	c := plan.Cell{ID: "x", Arm: "a"}
	for name, test := range map[string]struct {
		entries []record.Entry
		open    bool
	}{
		"never run":                         {nil, true},
		"complete":                          {[]record.Entry{start("x", 1), end("x", 1, "complete", 0)}, false},
		"killed":                            {[]record.Entry{start("x", 1)}, true},
		"killed and recovered":              {[]record.Entry{start("x", 1), end("x", 1, "partial", 1)}, true},
		"killed, then complete":             {[]record.Entry{start("x", 1), end("x", 1, "partial", 1), start("x", 2), end("x", 2, "complete", 0)}, false},
		"interrupted inside":                {[]record.Entry{start("x", 1), stop(StopInterrupted, "x", 1), end("x", 1, "partial", 0)}, true},
		"not run for an interrupt":          {[]record.Entry{block(StopInterrupted, "x", StateNotRun)}, true},
		"an outer timeout is a result":      {[]record.Entry{start("x", 1), end("x", 1, "outer_timeout", 0)}, false},
		"partial for another reason":        {[]record.Entry{start("x", 1), end("x", 1, "partial", 0)}, false},
		"blocked as a superset":             {[]record.Entry{block(StopCapacityRefusal, "x", StateBlocked)}, false},
		"killed on an arm that is over":     {[]record.Entry{stop(StopIdentityDrift, "y", 1), start("x", 1)}, false},
		"killed in a campaign that is over": {[]record.Entry{stop(StopEngineFault, "y", 1), start("x", 1)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ReadHistory(test.entries).open(c); got != test.open {
				t.Errorf("open is %v", got)
			}
		})
	}
}

func TestEstimateRest(t *testing.T) {
	cell := func(id, workload string, context, concurrency, requests int64) plan.Cell {
		return plan.Cell{ID: id, Arm: "a", Workload: workload, PlannedContextTokens: context, Concurrency: concurrency, Requests: requests}
	}
	p := &plan.Plan{Cells: []plan.Cell{cell("n8", "natural", 8, 1, 4), cell("n8c2", "natural", 8, 2, 4), cell("n32", "natural", 32, 1, 4), cell("e", "edge", 32, 1, 1)}}
	second := int64(time.Second)
	e := EstimateRest(p, map[string]int64{"n8": 40 * second}, p.Cells[1:], 0, 100*second)
	// n8c2: 2 rounds of 10 s; n32: 4 rounds of 40 s; e: one of 40 s, and it would
	// start at 180 s.
	if e.Left != 3 || e.Known != 3 || e.Took != 220*time.Second || !slices.Equal(e.Unreached, []string{"e"}) {
		t.Errorf("got %+v", e)
	}
	if e := EstimateRest(p, nil, p.Cells, 0, 0); e.Known != 0 || len(e.Unreached) != 0 {
		t.Errorf("an estimate from nothing: %+v", e)
	}
}
