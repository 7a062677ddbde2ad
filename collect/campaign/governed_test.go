package campaign

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/simengine"
	"assay/collect/stream"
)

// gridSpec is two arms of the same cells.
const gridSpec = `
schema: assay/plan-spec/v1
campaign_id: governed
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
request_timeout_seconds: 60
cells:
%s
eligibility:
  - all planned requests completed and terminal
`

// edgeCells is a capacity edge after a shorter context, at three concurrencies.
const edgeCells = `
  - {workload: natural, contexts: [4096], concurrency: [1, 2], requests: 2, seed_base: 200, outer_timeout_seconds: 60}
  - {workload: capacity-edge, contexts: [27648], concurrency: [1, 2, 4], requests: 4, seed_base: 300, outer_timeout_seconds: 60}
`

// naturalCells has an independent C1 cell after those of higher concurrency.
const naturalCells = `
  - {workload: natural, contexts: [4096], concurrency: [1, 2, 4], requests: 4, seed_base: 200, outer_timeout_seconds: 60}
  - {workload: natural, name: late, contexts: [8192], concurrency: [1], requests: 2, seed_base: 400, outer_timeout_seconds: 60}
`

func gridPlan(t *testing.T, cells string) *plan.Plan {
	t.Helper()
	text, problems := plan.Expand(fmt.Appendf(nil, gridSpec, cells), time.Now())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, problems := plan.Decode(text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return p
}

// states lists the last state of each cell by its short name.
func shortStates(t *testing.T, dir, arm string) string {
	t.Helper()
	var list []string
	for cell, state := range outcomes(journal(t, dir)) {
		if name, ok := strings.CutPrefix(cell, arm+"-"); ok {
			list = append(list, name+"="+state)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func rulesOf(entries []record.Entry) (rules []string) {
	for _, e := range entries {
		if e.Kind == record.EntryStop {
			rules = append(rules, e.Rule)
			if e.Detail == "" {
				rules = append(rules, "without evidence")
			}
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// TestStopRulesInWholeCampaigns lets a simulated fault trigger each rule and
// looks at the journal and at the state of every cell.
func TestStopRulesInWholeCampaigns(t *testing.T) {
	const otherEdge = "capacity-edge-ctx27648-c1=complete capacity-edge-ctx27648-c2=complete capacity-edge-ctx27648-c4=complete natural-ctx4096-c1=complete natural-ctx4096-c2=complete"
	const otherNatural = "late-ctx8192-c1=complete natural-ctx4096-c1=complete natural-ctx4096-c2=complete natural-ctx4096-c4=complete"
	const blockedNatural = "late-ctx8192-c1=blocked_by_stop natural-ctx4096-c1=blocked_by_stop natural-ctx4096-c2=blocked_by_stop natural-ctx4096-c4=blocked_by_stop"
	seed := func(p *plan.Plan, id string) int64 { c, _ := p.Cell(id); return c.Seed }
	for _, test := range []struct {
		name, cells string
		fault       func(p *plan.Plan) []string
		rules       []string
		baseline    string
		candidate   string
	}{
		{"a refused C1 edge blocks exactly C2 and C4", edgeCells,
			func(p *plan.Plan) []string {
				return []string{fmt.Sprintf("vllm_context_at_least@seed=%d", seed(p, "baseline-capacity-edge-ctx27648-c1"))}
			},
			[]string{"capacity_refusal"},
			"capacity-edge-ctx27648-c1=complete capacity-edge-ctx27648-c2=blocked_by_stop capacity-edge-ctx27648-c4=blocked_by_stop natural-ctx4096-c1=complete natural-ctx4096-c2=complete", otherEdge},
		{"a refused C2 edge blocks C4", edgeCells,
			func(p *plan.Plan) []string {
				return []string{fmt.Sprintf("sglang_kv_pool@seed=%d,index=1", seed(p, "baseline-capacity-edge-ctx27648-c2"))}
			},
			[]string{"capacity_refusal"},
			"capacity-edge-ctx27648-c1=complete capacity-edge-ctx27648-c2=complete capacity-edge-ctx27648-c4=blocked_by_stop natural-ctx4096-c1=complete natural-ctx4096-c2=complete", otherEdge},
		{"a canary failure at C2 blocks C4 and lets an independent C1 run", naturalCells,
			func(p *plan.Plan) []string {
				return []string{fmt.Sprintf("foreign_marker@seed=%d,index=2", seed(p, "baseline-natural-ctx4096-c2"))}
			},
			[]string{"canary_or_loss"},
			"late-ctx8192-c1=complete natural-ctx4096-c1=complete natural-ctx4096-c2=complete natural-ctx4096-c4=blocked_by_stop", otherNatural},
		{"a timeout proves no limit: the larger context runs", naturalCells,
			func(p *plan.Plan) []string {
				return []string{fmt.Sprintf("stall@seed=%d,index=0", seed(p, "baseline-natural-ctx4096-c2"))}
			},
			[]string{"canary_or_loss"},
			"late-ctx8192-c1=complete natural-ctx4096-c1=complete natural-ctx4096-c2=complete natural-ctx4096-c4=blocked_by_stop", otherNatural},
		{"an engine that dies stops everything", naturalCells,
			func(*plan.Plan) []string { return []string{"engine_dies=1"} },
			[]string{"canary_or_loss", "engine_fault"},
			"late-ctx8192-c1=blocked_by_stop natural-ctx4096-c1=partial natural-ctx4096-c2=blocked_by_stop natural-ctx4096-c4=blocked_by_stop", blockedNatural},
		{"a GPU out of memory stops everything", naturalCells,
			func(p *plan.Plan) []string {
				return []string{fmt.Sprintf("gpu_out_of_memory@seed=%d,index=3", seed(p, "baseline-natural-ctx4096-c1"))}
			},
			[]string{"canary_or_loss", "engine_fault"},
			"late-ctx8192-c1=blocked_by_stop natural-ctx4096-c1=complete natural-ctx4096-c2=blocked_by_stop natural-ctx4096-c4=blocked_by_stop", blockedNatural},
		{"a sick engine stops everything", naturalCells,
			func(*plan.Plan) []string { return []string{"health_fails=5"} },
			[]string{"engine_fault"},
			"late-ctx8192-c1=blocked_by_stop natural-ctx4096-c1=complete natural-ctx4096-c2=complete natural-ctx4096-c4=blocked_by_stop", blockedNatural},
		{"a restarted engine ends its arm", naturalCells,
			func(*plan.Plan) []string { return []string{"restart=4"} },
			[]string{"identity_drift"},
			"late-ctx8192-c1=blocked_by_stop natural-ctx4096-c1=complete natural-ctx4096-c2=complete natural-ctx4096-c4=blocked_by_stop", otherNatural},
		{"another reasoning field ends its arm", naturalCells,
			func(p *plan.Plan) []string {
				return []string{fmt.Sprintf("reasoning_old_name@seed=%d", seed(p, "baseline-natural-ctx4096-c2"))}
			},
			[]string{"protocol_drift"},
			"late-ctx8192-c1=blocked_by_stop natural-ctx4096-c1=complete natural-ctx4096-c2=complete natural-ctx4096-c4=blocked_by_stop", otherNatural},
		{"usage that goes missing ends its arm", naturalCells,
			func(p *plan.Plan) []string {
				return []string{fmt.Sprintf("no_usage@seed=%d", seed(p, "baseline-natural-ctx4096-c2"))}
			},
			[]string{"protocol_drift"},
			"late-ctx8192-c1=blocked_by_stop natural-ctx4096-c1=complete natural-ctx4096-c2=complete natural-ctx4096-c4=blocked_by_stop", otherNatural},
		{"an engine that goes on for ever ends its arm", naturalCells,
			func(p *plan.Plan) []string {
				return []string{fmt.Sprintf("stall@seed=%[1]d,index=0", seed(p, "baseline-natural-ctx4096-c1")), fmt.Sprintf("goes_on=60000@seed=%d,index=0", seed(p, "baseline-natural-ctx4096-c1"))}
			},
			[]string{"canary_or_loss", "not_drained"},
			"late-ctx8192-c1=blocked_by_stop natural-ctx4096-c1=complete natural-ctx4096-c2=blocked_by_stop natural-ctx4096-c4=blocked_by_stop", otherNatural},
		{"a failed plain answer ends its arm before its first cell", naturalCells,
			func(*plan.Plan) []string { return []string{"unknown_error"} },
			[]string{"smoke_failed"}, blockedNatural, otherNatural},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := gridPlan(t, test.cells)
			faults := test.fault(p)
			_, a := sim(t, "model-a", func(c *simengine.Config) { c.Faults = faults })
			_, b := sim(t, "model-b", nil)
			o := options(t, p, a, b)
			o.Smoke = strings.Contains(test.name, "plain answer")
			// A request that stalls is waited for in its own cell only.
			for i := range p.Cells {
				if strings.Contains(strings.Join(faults, " "), fmt.Sprintf("stall@seed=%d,", p.Cells[i].Seed)) && p.Cells[i].Arm == "baseline" {
					p.Cells[i].Request.TimeoutSeconds = 2
				}
			}
			if slices.Contains(test.rules, "not_drained") {
				o.DrainBound = 10 * time.Second
			}
			if _, err := Run(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			entries := journal(t, o.Dir)
			if got := rulesOf(entries); !slices.Equal(got, test.rules) {
				t.Errorf("rules %v, want %v", got, test.rules)
			}
			if got := shortStates(t, o.Dir, "baseline"); got != test.baseline {
				t.Errorf("baseline\n got %s\nwant %s", got, test.baseline)
			}
			if got := shortStates(t, o.Dir, "candidate"); got != test.candidate {
				t.Errorf("candidate\n got %s\nwant %s", got, test.candidate)
			}
		})
	}
}

func TestSmokeChecksAreRecordedAndOnlyThePlainOneEndsAnArm(t *testing.T) {
	_, a := sim(t, "model-a", func(c *simengine.Config) { c.Faults = []string{"bad_request@nth=2", "bad_request@nth=3"} })
	_, b := sim(t, "model-b", nil)
	o := options(t, smallPlan(t, nil), a, b)
	o.Smoke = true
	summary, err := Run(t.Context(), o)
	if err != nil || !summary.Complete() {
		t.Fatal(err, summary)
	}
	got := map[string]string{}
	for _, e := range journal(t, o.Dir) {
		if e.Kind == record.EntrySmoke {
			got[e.Arm+" "+e.Rule] = e.Outcome
		}
	}
	want := map[string]string{
		"baseline plain": "pass", "baseline json": "fail", "baseline tool": "fail",
		"candidate plain": "pass", "candidate json": "pass", "candidate tool": "pass",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// TestNoRequestStartsAtOrAfterTheCutoff races 64 workers against a cutoff in
// the middle of their cell and reads the server's own arrival log.
func TestNoRequestStartsAtOrAfterTheCutoff(t *testing.T) {
	p := gridPlan(t, `  - {workload: natural, contexts: [1024], concurrency: [64], requests: 1500, seed_base: 200, outer_timeout_seconds: 60}`)
	engine, a := sim(t, "model-a", func(c *simengine.Config) {
		c.Chunks, c.ChunkInterval, c.TimeScale, c.PrefillScale = 5, 20*time.Millisecond, 1, 1000
	})
	o := options(t, p, a, a)
	o.OnlyArm = "baseline"
	o.Plan.RequestCutoffSeconds = 2
	o.SampleEvery = 0
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	described, err := record.LoadRun(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	arrivals := completions(engine)
	if len(arrivals) < 64 || len(arrivals) >= 1500 {
		t.Fatalf("%d arrivals: the cell did not run into the cutoff", len(arrivals))
	}
	for _, arrival := range arrivals {
		if late := arrival.UnixNs - described.Clock.CutoffUnixNs; late >= int64(50*time.Millisecond) {
			t.Errorf("a request arrived %s after the cutoff", time.Duration(late))
		}
	}
	t.Logf("%d requests arrived, none at or after the cutoff", len(arrivals))
}

// moving is a host clock that a test sets, ahead of the real one.
type moving struct {
	mu         sync.Mutex
	wall, boot int64
}

func (m *moving) now() Reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := systemReading()
	r.BootNs += m.boot
	r.UnixNs = time.Now().UnixNano() + m.wall
	return r
}

func (m *moving) set(wall, boot time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wall += int64(wall)
	m.boot += int64(boot)
}

func TestClockStepsAndSuspendsAreFlaggedAndTheCutoffStaysOnTheWall(t *testing.T) {
	for _, test := range []struct {
		name       string
		wall, boot time.Duration
		code       string
		rest       string // state of the last cell
	}{
		{"stepped back by 3.2 s", -3200 * time.Millisecond, 0, "clock_step", "complete"},
		{"stepped ahead by an hour", time.Hour, 0, "clock_step", "not_run_deadline"},
		{"600 s asleep", 600 * time.Second, 600 * time.Second, "suspend", "not_run_deadline"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clock := &moving{}
			_, a := sim(t, "model-a", func(c *simengine.Config) { c.Chunks, c.ChunkInterval, c.TimeScale = 6, 50*time.Millisecond, 1 })
			o := options(t, smallPlan(t, nil), a, a)
			o.OnlyArm = "baseline"
			o.Clock = clock.now
			o.Progress = &counting{after: func(ended int64) {
				if ended == 3 {
					clock.set(test.wall, test.boot)
				}
			}}
			if _, err := Run(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			const cell = "baseline-natural-ctx4096-c1"
			for _, e := range journal(t, o.Dir) {
				if e.Kind != record.EntryAttemptEnd || e.Cell != cell {
					continue
				}
				took := time.Duration(e.Figures["end_ns"] - e.Figures["start_ns"])
				drift := time.Duration(e.Figures["clock_drift_ns"])
				if took < 0 || took > time.Minute || drift < test.wall-time.Second/2 || drift > test.wall+time.Second/2 {
					t.Errorf("took %s, drift %s", took, drift)
				}
			}
			if got := outcomes(journal(t, o.Dir))["baseline-natural-ctx4096-c2"]; got != test.rest {
				t.Errorf("the cell after it is %s, want %s", got, test.rest)
			}
			if codes := problemCodes(t, o.Dir, "baseline", cell, 1); !slices.Contains(codes, test.code) {
				t.Errorf("problems %v, want %s", codes, test.code)
			}
		})
	}
}

// problemCodes reads the problems of an attempt.
func problemCodes(t *testing.T, dir, arm, cell string, number int) (codes []string) {
	t.Helper()
	rows, err := record.ReadTable(dir+"/"+record.AttemptFolder(arm, cell, number), record.Problems)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		codes = append(codes, r.Code)
	}
	return codes
}

func TestWallClockEndsRequestsAtTheReserve(t *testing.T) {
	clock := &moving{}
	_, a := sim(t, "model-a", func(c *simengine.Config) { c.Chunks, c.ChunkInterval, c.TimeScale = 400, 50*time.Millisecond, 1 })
	o := options(t, smallPlan(t, nil), a, a)
	o.OnlyArm, o.CellGlob, o.Clock = "baseline", "*-natural-*-c2", clock.now
	time.AfterFunc(time.Second, func() { clock.set(701*time.Second, 701*time.Second) }) // deadline 900 s, load bound 200 s
	start := time.Now()
	summary, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 55*time.Second || summary.States[StateOuter] != 1 {
		t.Errorf("took %s, %+v", took, summary)
	}
}

func TestAdmissionStallIsSuspectedAndBlocksNoSuperset(t *testing.T) {
	p := gridPlan(t, `
  - {workload: natural, contexts: [4096], concurrency: [1], requests: 1, seed_base: 200, outer_timeout_seconds: 60}
  - {workload: natural, contexts: [8192], concurrency: [1], requests: 1, seed_base: 400, outer_timeout_seconds: 60}`)
	for i := range p.Cells {
		p.Cells[i].Request.TimeoutSeconds = 4
	}
	c, _ := p.Cell("baseline-natural-ctx4096-c1")
	_, a := sim(t, "model-a", func(e *simengine.Config) { e.Faults = []string{fmt.Sprintf("never_scheduled@seed=%d", c.Seed)} })
	o := options(t, p, a, a)
	o.OnlyArm = "baseline"
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if codes := problemCodes(t, o.Dir, "baseline", c.ID, 1); !slices.Contains(codes, "kv_admission_stall_suspected") {
		t.Errorf("problems %v", codes)
	}
	if got := shortStates(t, o.Dir, "baseline"); got != "natural-ctx4096-c1=complete natural-ctx8192-c1=complete" {
		t.Error(got)
	}
}

func TestInterruptIsResumedToTheEnd(t *testing.T) {
	_, a := sim(t, "model-a", nil)
	_, b := sim(t, "model-b", nil)
	o := options(t, smallPlan(t, nil), a, b)
	ctx, cancel := context.WithCancelCause(t.Context())
	o.Progress = &counting{after: func(ended int64) {
		if ended == 2 {
			cancel(stream.ErrInterrupted)
		}
	}}
	if summary, err := Run(ctx, o); err != nil || summary.Complete() {
		t.Fatal(err, summary)
	}
	o.Progress, o.Resume = nil, true
	summary, err := Run(t.Context(), o)
	if err != nil || !summary.Complete() || !summary.Resumed {
		t.Fatal(err, summary)
	}
	attempts := map[string]int{}
	for _, e := range journal(t, o.Dir) {
		if e.Kind == record.EntryAttemptEnd {
			attempts[e.Cell] = e.Attempt
		}
	}
	if attempts["baseline-warmup-ctx4096-c1"] != 1 || attempts["baseline-natural-ctx4096-c1"] != 2 || attempts["candidate-natural-ctx4096-c2"] != 1 {
		t.Errorf("attempts %v", attempts)
	}
	before := len(journal(t, o.Dir))
	again, err := Run(t.Context(), o)
	if err != nil || !again.NothingToDo || !again.Complete() || again.Dispatched != 0 || len(journal(t, o.Dir)) != before {
		t.Errorf("resuming a finished campaign: %v %+v", err, again)
	}
}
