package analyze

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequestVerdicts(t *testing.T) {
	controlled := row{"response_words": 3, "output_policy": "strict"}
	unsent := row{"dispatched": false, "t0_ns": nil, "http_status": nil, "event_stream": nil, "outcome": "not_dispatched", "end_kind": "not_dispatched"}
	refused := row{"http_status": 400, "event_stream": false, "outcome": "refused_context", "done_ns": nil, "content_events": 0}
	tests := []struct {
		name    string
		rule    string
		cell    row
		request row
		verdict string
		detail  string
	}{
		{"complete", "terminal", nil, nil, "pass", ""},
		{"no output with done", "terminal", nil, row{"outcome": "no_output"}, "pass", ""},
		{"no output without done", "terminal", nil, row{"outcome": "no_output", "done_ns": nil}, "fail", "no_output, HTTP 200"},
		{"timeout", "terminal", nil, row{"outcome": "idle_timeout", "done_ns": nil}, "fail", "idle_timeout, HTTP 200"},
		{"complete over HTTP 206", "terminal", nil, row{"http_status": 206}, "fail", "complete, HTTP 206"},
		{"complete without an event stream", "terminal", nil, row{"event_stream": false}, "fail", "complete, HTTP 200, no event stream"},
		{"connection failed", "terminal", nil, row{"http_status": nil, "event_stream": nil, "outcome": "connect_failed"}, "fail", "connect_failed, HTTP status unknown, no event stream"},
		{"never sent", "terminal", nil, unsent, "not_evaluable", "never dispatched"},
		{"record lost", "terminal", nil, row{"dispatched": false, "t0_ns": nil, "outcome": "not_dispatched", "end_kind": "not_recorded"}, "fail", "no record of the request"},
		{"refused before the stream", "terminal", nil, refused, "not_evaluable", "refused before a stream began: refused_context"},
		{"not ready", "usage_exact", nil, row{"http_status": 503, "event_stream": false, "outcome": "not_ready"}, "not_evaluable", "refused before a stream began: not_ready"},
		{"refused inside the stream", "usage_exact", nil, row{"outcome": "refused_kv_pool", "prompt_tokens": nil, "usage_fault": "absent"}, "fail", "usage absent"},

		{"usage", "usage_exact", nil, nil, "pass", ""},
		{"no usage", "usage_exact", nil, row{"prompt_tokens": nil, "completion_tokens": nil, "usage_fault": "absent"}, "fail", "usage absent"},
		{"half a usage", "usage_exact", nil, row{"completion_tokens": nil}, "fail", "usage absent"},
		{"contradictory usage", "usage_exact", nil, row{"usage_fault": "falling"}, "fail", "usage falling"},

		{"stop", "finish_allowed", nil, nil, "pass", ""},
		{"length", "finish_allowed", nil, row{"finish_reasons": `["length"]`}, "fail", "length: completed but truncated"},
		{"no reason", "finish_allowed", nil, row{"finish_reasons": `[]`}, "fail", "no finish reason"},
		{"null reason", "finish_allowed", nil, row{"finish_reasons": `[null]`}, "fail", "finish reasons [null]"},
		{"null beside stop", "finish_allowed", nil, row{"finish_reasons": `["stop",null]`}, "fail", `finish reasons ["stop",null]`},
		{"empty reason", "finish_allowed", nil, row{"finish_reasons": `[""]`}, "fail", `finish reasons [""]`},
		{"abort beside stop", "finish_allowed", nil, row{"finish_reasons": `["stop","abort"]`}, "fail", `finish reasons ["stop","abort"]`},

		{"visible", "visible_output", nil, nil, "pass", ""},
		{"reasoning only", "visible_output", nil, row{"content_events": 0}, "fail", "no visible content"},

		{"own marker first", "canary_first", nil, nil, "pass", ""},
		{"own marker late", "canary_first", nil, row{"canary_state": "own_late"}, "fail", "marker own_late"},
		{"no visible text", "canary_first", nil, row{"canary_state": nil}, "fail", "marker unknown: no visible text"},
		{"no markers asked for", "canary_first", row{"request_canaries": false}, row{"canary_state": nil}, "not_applicable", "the cell asks for no marker"},

		{"foreign marker", "no_foreign_marker", nil, row{"foreign_markers": `["ASSAY_REQ_1_00002"]`}, "fail", `request 0 carries the marker of no request of its arm (ASSAY_REQ_1_00002)`},
		{"no foreign marker", "no_foreign_marker", nil, nil, "pass", ""},

		{"whole capture", "capture_complete", nil, nil, "pass", ""},
		{"lost events", "capture_complete", nil, row{"events": 12}, "fail", "12 of 13 events kept"},
		{"unreadable event", "capture_complete", nil, row{"bad_events": 1}, "fail", "1 events unreadable"},
		{"cut last event", "capture_complete", nil, row{"tail_bytes": 4, "done_ns": nil}, "fail", "last event cut, the stream ended before [DONE]"},

		{"exact words", "controlled_exact", controlled, row{"words_observed": 3, "words_exact": true}, "pass", ""},
		{"a word short", "controlled_exact", controlled, row{"words_observed": 2, "words_exact": false}, "fail", "2 of 3 words, or other text"},
		{"words unknown", "controlled_exact", controlled, nil, "fail", "unknown of 3 words, or other text"},
		{"observed exact", "controlled_exact", row{"response_words": 3}, row{"words_observed": 3, "words_exact": true}, "not_applicable", "observed only: exact"},
		{"observed short", "controlled_exact", row{"response_words": 3}, row{"words_observed": 2, "words_exact": false}, "not_applicable", "observed only: 2 of 3 words, or other text"},
		{"natural", "controlled_exact", row{"output_policy": "strict"}, nil, "not_applicable", "the output is natural"},
		{"controlled and never sent", "controlled_exact", controlled, unsent, "not_evaluable", "never dispatched"},
		{"natural and never sent", "controlled_exact", nil, unsent, "not_applicable", "the output is natural"},
	}
	f := newFixture(t)
	for _, test := range tests {
		f.cell("baseline", test.name, test.cell)
		f.request("baseline", test.name, 0, test.request)
	}
	got := keyed(t, f.load(), "SELECT cell || ' / ' || rule, verdict, detail FROM request_verdicts")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff([]string{test.verdict, test.detail}, got[test.name+" / "+test.rule]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEveryPlannedRequestHasEveryRequestRule(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "ran", row{"requests": 3})
	for i := range 3 {
		f.request("baseline", "ran", i)
	}
	f.plannedCell("baseline", "never ran", row{"requests": 2})
	f.cell("baseline", "lost a record", row{"requests": 2})
	f.request("baseline", "lost a record", 0)
	db := f.load()
	want := [][]string{{"lost a record", "2", "8"}, {"never ran", "2", "8"}, {"ran", "3", "8"}}
	got := query(t, db, "SELECT cell, count(DISTINCT request_index), count(DISTINCT rule) FROM request_verdicts GROUP BY cell ORDER BY cell")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := one(t, db, "SELECT count(*) FROM request_verdicts")[0]; n != "56" {
		t.Errorf("%s verdicts, want 7 requests x 8 rules", n)
	}
	lost := one(t, db, "SELECT verdict, detail FROM request_verdicts WHERE cell = 'lost a record' AND request_index = 1 AND rule = 'terminal'")
	if diff := cmp.Diff([]string{"fail", "no record of the request"}, lost); diff != "" {
		t.Error(diff)
	}
	never := one(t, db, "SELECT DISTINCT verdict, detail FROM request_verdicts WHERE cell = 'never ran' AND rule = 'terminal'")
	if diff := cmp.Diff([]string{"not_evaluable", "never dispatched"}, never); diff != "" {
		t.Error(diff)
	}
}

func TestPlanWidensAllowedFinishReasons(t *testing.T) {
	f := newFixture(t)
	f.rows["campaigns"][0]["plan"] = planText(sentences, `"allowed_finish_reasons": ["stop", "length", "abort"]`)
	f.cell("baseline", "a", row{"requests": 2})
	f.request("baseline", "a", 0, row{"finish_reasons": `["length"]`})
	f.request("baseline", "a", 1, row{"finish_reasons": `["abort"]`})
	got := query(t, f.load(), "SELECT verdict FROM request_verdicts WHERE rule = 'finish_allowed' ORDER BY request_index")
	if diff := cmp.Diff([][]string{{"pass"}, {"fail"}}, got); diff != "" {
		t.Errorf("length is allowed by the plan, abort never is: %s", diff)
	}
}

func TestCellEligibility(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "whole", row{"requests": 2})
	f.request("baseline", "whole", 0)
	f.request("baseline", "whole", 1)

	f.cell("baseline", "eight", row{"requests": 8}) // C11
	for i := range 6 {
		f.request("baseline", "eight", i)
	}
	f.request("baseline", "eight", 6, row{"outcome": "idle_timeout", "done_ns": nil, "finish_reasons": "[]"})
	f.request("baseline", "eight", 7, row{"dispatched": false, "outcome": "not_dispatched"})

	f.cell("baseline", "refused", row{"requests": 2})
	f.request("baseline", "refused", 0)
	f.request("baseline", "refused", 1, row{"http_status": 400, "event_stream": false, "outcome": "refused_context"})

	f.cell("baseline", "warm", row{"excluded_warmup": true, "workload": "warmup"})
	f.request("baseline", "warm", 0)

	f.plannedCell("baseline", "blocked")
	f.attempt("baseline", "blocked", 0, row{"run_state": "blocked_by_stop"})
	f.request("baseline", "blocked", 0, row{"attempt": 0, "dispatched": false, "outcome": "not_dispatched"})

	f.plannedCell("candidate", "untouched", row{"requests": 4})

	want := [][]string{
		{"whole", "1", "complete", "eligible", "2", "2", "2", "2", "2", "[]"},
		{"eight", "1", "complete", "ineligible", "8", "7", "6", "6", "0", `["canary_first","capture_complete","cell_complete","finish_allowed","no_foreign_marker","terminal","usage_exact","visible_output"]`},
		{"refused", "1", "complete", "ineligible", "2", "2", "1", "1", "0", `["canary_first","capture_complete","cell_complete","finish_allowed","no_foreign_marker","terminal","usage_exact","visible_output"]`},
		{"warm", "1", "complete", "excluded_warmup", "1", "1", "1", "1", "0", "[]"},
		{"blocked", "0", "blocked_by_stop", "ineligible", "1", "0", "0", "0", "0", `["canary_first","capture_complete","cell_complete","finish_allowed","identity_stable","no_foreign_marker","terminal","usage_exact","visible_output"]`},
		{"untouched", "0", "not_run", "ineligible", "4", "0", "0", "0", "0", `["canary_first","capture_complete","cell_complete","finish_allowed","identity_stable","no_foreign_marker","terminal","usage_exact","visible_output"]`},
	}
	db := f.load()
	got := query(t, db, `SELECT cell, attempt, run_state, eligibility, planned, dispatched, terminal, passing, eligible, failed_rules
		FROM cell_eligibility ORDER BY cell_order`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	complete := one(t, db, "SELECT verdict, passing, failing, failing_requests FROM cell_verdicts WHERE cell = 'eight' AND rule = 'cell_complete'")
	if diff := cmp.Diff([]string{"fail", "6", "2", "[6,7]"}, complete); diff != "" {
		t.Error(diff)
	}
	terminal := one(t, db, "SELECT verdict, passing, failing, not_evaluable, failing_requests FROM cell_verdicts WHERE cell = 'eight' AND rule = 'terminal'")
	if diff := cmp.Diff([]string{"fail", "6", "1", "1", "[6]"}, terminal); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyDemandedRulesDecideEligibility(t *testing.T) {
	tests := []struct {
		name        string
		plan        string
		eligibility string
		failed      string
	}{
		{"every rule", planText(sentences, ""), "ineligible", `["canary_first"]`},
		{"no rule of canaries", planText(`"exact usage counts"`, ""), "eligible", "[]"},
		{"a sentence that no rule covers", planText(`"exact usage counts", "and it was fast"`, ""), "ineligible", `["unreadable_demand"]`},
		{"a plan that is no JSON", "not a plan", "ineligible", `["unreadable_demand"]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			f.rows["campaigns"][0]["plan"] = test.plan
			f.cell("baseline", "a")
			f.request("baseline", "a", 0, row{"canary_state": "absent"})
			got := one(t, f.load(), "SELECT eligibility, failed_rules FROM cell_eligibility")
			if diff := cmp.Diff([]string{test.eligibility, test.failed}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCellThatSentNothingIsEligibleUnderNoPlan(t *testing.T) {
	f := newFixture(t)
	f.rows["campaigns"][0]["plan"] = strings.Replace(planText("", ""), "identity_or_protocol_drift", "deadline", 1)
	f.plannedCell("baseline", "never ran", row{"requests": 3})
	f.cell("baseline", "ran")
	f.request("baseline", "ran", 0, row{"outcome": "truncated"})
	want := [][]string{{"never ran", "ineligible", "0", "0"}, {"ran", "eligible", "1", "1"}}
	got := query(t, f.load(), "SELECT cell, eligibility, passing, eligible FROM cell_eligibility")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCellIsCompleteOnlyWithItsOwnRecords(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "one too many", row{"requests": 1})
	f.request("baseline", "one too many", 0)
	f.request("baseline", "one too many", 1)
	got := one(t, f.load(), "SELECT verdict FROM cell_verdicts WHERE rule = 'cell_complete'")[0]
	if got != "fail" {
		t.Errorf("verdict %s, want fail: the plan asks for one request", got)
	}
}

func TestCountedAttemptStandsForItsCell(t *testing.T) {
	f := newFixture(t)
	f.plannedCell("baseline", "a")
	f.attempt("baseline", "a", 1, row{"run_state": "partial", "counted": false})
	f.attempt("baseline", "a", 2, nil)
	for _, phase := range []string{"before", "after"} {
		f.add("identities", row{"campaign": campaign, "arm": "baseline", "cell": "a", "attempt": 2, "phase": phase, "fact": "served_id", "value": "m", "source": "s"})
	}
	f.request("baseline", "a", 0, row{"outcome": "interrupted", "done_ns": nil})
	f.request("baseline", "a", 0, row{"attempt": 2, "ttfo_ns": 3_000_000})
	db := f.load()
	if diff := cmp.Diff([]string{"2", "complete", "eligible"}, one(t, db, "SELECT attempt, run_state, eligibility FROM cell_eligibility")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"1", "false"}, {"2", "true"}}, query(t, db, "SELECT attempt, counted FROM request_metrics ORDER BY attempt")); diff != "" {
		t.Error(diff)
	}
	if got := one(t, db, "SELECT n, p50 FROM cell_distributions WHERE metric = 'ttfo_ns'"); got[0] != "1" || got[1] != "3e+06" {
		t.Errorf("n and p50 are %v, want those of attempt 2 alone", got)
	}
}

func TestIdentityStable(t *testing.T) {
	facts := func(f *fixture, cell, fact string, before, after any) {
		for phase, value := range map[string]any{"before": before, "after": after} {
			f.add("identities", row{"campaign": campaign, "arm": "baseline", "cell": cell, "attempt": 1, "phase": phase, "fact": fact, "value": value, "source": "s"})
		}
	}
	tests := []struct {
		name    string
		change  func(f *fixture, cell string)
		verdict string
	}{
		{"equal", func(*fixture, string) {}, "pass"},
		{"a fact the engine never states", func(f *fixture, c string) { facts(f, c, "engine_version", nil, nil) }, "pass"},
		{"process start changed", func(f *fixture, c string) { facts(f, c, "process_start", "1000", "2000") }, "fail"},
		{"gone after the cell", func(f *fixture, c string) { facts(f, c, "engine_version", "1", nil) }, "fail"},
		{"stop for drift", func(f *fixture, c string) {
			f.add("stops", row{
				"campaign": campaign, "stop_seq": len(f.rows["stops"]), "at_ns": 0, "at_unix_ns": 0, "rule": "protocol_drift",
				"arm": "baseline", "cell": c, "attempt": 1, "detail": "", "blocks": "[]",
			})
		}, "fail"},
		{"another stop", func(f *fixture, c string) {
			f.add("stops", row{
				"campaign": campaign, "stop_seq": len(f.rows["stops"]), "at_ns": 0, "at_unix_ns": 0, "rule": "canary_or_loss",
				"arm": "baseline", "cell": c, "attempt": 1, "detail": "", "blocks": "[]",
			})
		}, "pass"},
		{"two HTTP versions", func(f *fixture, c string) { f.request("baseline", c, 1, row{"http_version": "HTTP/1.0"}) }, "fail"},
		{"two reasoning fields", func(f *fixture, c string) { f.request("baseline", c, 1, row{"reasoning_field": "reasoning_content"}) }, "fail"},
		{"no reasoning in one answer", func(f *fixture, c string) { f.request("baseline", c, 1, row{"reasoning_field": nil}) }, "pass"},
	}
	f := newFixture(t)
	for _, test := range tests {
		f.cell("baseline", test.name, row{"requests": 2})
		f.request("baseline", test.name, 0)
		test.change(f, test.name)
	}
	f.plannedCell("baseline", "no identity", nil)
	f.attempt("baseline", "no identity", 1, nil)
	f.request("baseline", "no identity", 0)
	f.plannedCell("baseline", "never ran", nil)
	verdicts := keyed(t, f.load(), "SELECT cell, verdict FROM cell_verdicts WHERE rule = 'identity_stable'")
	for _, test := range tests {
		if got := verdicts[test.name][0]; got != test.verdict {
			t.Errorf("%s: %s, want %s", test.name, got, test.verdict)
		}
	}
	if got := verdicts["no identity"][0]; got != "fail" {
		t.Errorf("an attempt without identity rows: %s, want fail, its evidence should be there", got)
	}
	if got := verdicts["never ran"][0]; got != "not_evaluable" {
		t.Errorf("a cell that never ran: %s, want not_evaluable", got)
	}
}

func TestEligibilityTableListsEveryCellAndAddsUpTheMeasured(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "warm", row{"excluded_warmup": true, "workload": "warmup"})
	f.request("baseline", "warm", 0)
	f.cell("baseline", "good")
	f.request("baseline", "good", 0)
	f.plannedCell("baseline", "blocked", row{"requests": 4})
	cells, err := Eligibility(t.Context(), f.load(), campaign)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := WriteEligibility(&b, cells); err != nil {
		t.Fatal(err)
	}
	want := `CELL            RUN       ELIGIBILITY      PLANNED  DISPATCHED  TERMINAL  PASSING  ELIGIBLE  FAILED RULES
warm            complete  excluded_warmup  1        1           1         1        0
good            complete  eligible         1        1           1         1        1
blocked         not_run   ineligible       4        0           0         0        0         canary_first capture_complete cell_complete finish_allowed identity_stable no_foreign_marker terminal usage_exact visible_output
measured cells            1 of 2 eligible  5        1           1         1        1
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
