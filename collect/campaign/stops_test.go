package campaign

import (
	"slices"
	"testing"

	"assay/collect/plan"
	"assay/collect/record"
)

// grid is an arm's cells at two contexts and three concurrencies, and one cell
// of another arm.
var grid = []plan.Cell{
	{ID: "a-8-1", Arm: "a", PlannedContextTokens: 8, Concurrency: 1}, {ID: "a-8-2", Arm: "a", PlannedContextTokens: 8, Concurrency: 2},
	{ID: "a-8-4", Arm: "a", PlannedContextTokens: 8, Concurrency: 4}, {ID: "a-32-1", Arm: "a", PlannedContextTokens: 32, Concurrency: 1},
	{ID: "a-32-2", Arm: "a", PlannedContextTokens: 32, Concurrency: 2}, {ID: "b-32-4", Arm: "b", PlannedContextTokens: 32, Concurrency: 4},
}

func gridCell(id string) plan.Cell {
	return grid[slices.IndexFunc(grid, func(c plan.Cell) bool { return c.ID == id })]
}

func gridWithout(id string) []plan.Cell {
	return filter(grid, func(c plan.Cell) bool { return c.ID != id })
}

func ids(cells []plan.Cell) (list []string) {
	for _, c := range cells {
		list = append(list, c.ID)
	}
	return list
}

func TestDecideStops(t *testing.T) {
	sent := answer{dispatched: true, terminal: true, end: "done", atNs: 10e9}
	with := func(change func(*answer)) []answer { a := sent; change(&a); return []answer{sent, a} }
	near, far := []span{{9e9, 9.1e9}}, []span{{1e9, 4.9e9}, {15.1e9, 15.2e9}}
	all := func(but string) []string { return ids(gridWithout(but)) }
	for name, test := range map[string]struct {
		cell   string
		e      evidence
		rule   StopRule // "" when none fires
		state  RunState
		blocks []string
	}{
		"a sound cell": {"a-8-2", evidence{answers: []answer{sent}, scrapes: near}, "", "", nil},

		"a refused connection after an answer":  {"a-8-2", evidence{connectFailed: 1}, StopEngineFault, StateBlocked, all("a-8-2")},
		"an error that names a dead GPU":        {"a-8-2", evidence{answers: with(func(a *answer) { a.terminal, a.fault, a.end = false, "gpu_oom", "interrupted" })}, StopEngineFault, StateBlocked, all("a-8-2")},
		"a sign of death beside the requests":   {"a-8-2", evidence{deaths: []string{"killed"}}, StopEngineFault, StateBlocked, all("a-8-2")},
		"a C1 context refusal blocks supersets": {"a-8-1", evidence{answers: with(func(a *answer) { a.terminal, a.refusal = false, "refused_context" }), scrapes: near}, StopCapacityRefusal, StateBlocked, []string{"a-8-2", "a-8-4", "a-32-1", "a-32-2"}},
		"a C2 refusal blocks no smaller cell":   {"a-8-2", evidence{answers: with(func(a *answer) { a.terminal, a.refusal = false, "refused_kv_pool" }), scrapes: near}, StopCapacityRefusal, StateBlocked, []string{"a-8-4", "a-32-2"}},
		"an edge refusal blocks no shorter one": {"a-32-1", evidence{answers: with(func(a *answer) { a.terminal, a.refusal = false, "refused_queue_full" }), scrapes: near}, StopCapacityRefusal, StateBlocked, []string{"a-32-2"}},
		"a refusal without a scrape near it":    {"a-8-1", evidence{answers: with(func(a *answer) { a.terminal, a.refusal = false, "refused_context" }), scrapes: far}, "", "", nil},
		"a context refusal without metrics":     {"a-32-1", evidence{answers: with(func(a *answer) { a.terminal, a.refusal = false, "refused_context" })}, StopCapacityRefusal, StateBlocked, []string{"a-32-2"}},
		"a pool refusal without metrics":        {"a-32-1", evidence{answers: with(func(a *answer) { a.terminal, a.refusal = false, "refused_kv_pool" })}, "", "", nil},

		"a foreign marker at C2":          {"a-8-2", evidence{answers: with(func(a *answer) { a.foreign = "x" })}, StopCanaryOrLoss, StateBlocked, []string{"a-8-4"}},
		"a wrong first text at C1":        {"a-32-1", evidence{answers: with(func(a *answer) { a.wrongFirst = true })}, StopCanaryOrLoss, StateBlocked, []string{"a-8-2", "a-8-4", "a-32-2"}},
		"an idle timeout":                 {"a-8-2", evidence{answers: with(func(a *answer) { a.terminal, a.end = false, "idle_timeout" })}, StopCanaryOrLoss, StateBlocked, []string{"a-8-4"}},
		"an unclassified refusal is loss": {"a-8-2", evidence{answers: with(func(a *answer) { a.terminal, a.refusal = false, "refused_rate_limited" })}, StopCanaryOrLoss, StateBlocked, []string{"a-8-4"}},
		"what the operator cut off":       {"a-8-2", evidence{answers: with(func(a *answer) { a.terminal, a.end = false, "interrupted" })}, "", "", nil},
		"what was never sent":             {"a-8-2", evidence{answers: []answer{{end: "not_dispatched"}}}, "", "", nil},

		"the cutoff":              {"a-8-2", evidence{cutoffReached: true}, StopDeadline, StateNotDeadline, all("a-8-2")},
		"an outer timeout":        {"a-8-2", evidence{outerTimeout: true}, StopDeadline, StateNotDeadline, nil},
		"another identity":        {"a-8-2", evidence{identity: drift{[]string{"served_id changed"}}}, StopIdentityDrift, StateBlocked, []string{"a-8-1", "a-8-4", "a-32-1", "a-32-2"}},
		"another reasoning field": {"a-8-2", evidence{protocol: protocol{reasoning: "reasoning"}, answers: with(func(a *answer) { a.reasoning = "reasoning_content" })}, StopProtocolDrift, StateBlocked, []string{"a-8-1", "a-8-4", "a-32-1", "a-32-2"}},
		"usage within one cell":   {"a-8-2", evidence{answers: append(with(func(a *answer) { a.usage = "present" }), with(func(a *answer) { a.usage = "absent" })...)}, StopProtocolDrift, StateBlocked, []string{"a-8-1", "a-8-4", "a-32-1", "a-32-2"}},
		"another HTTP version":    {"a-8-2", evidence{protocol: protocol{http: "HTTP/1.1"}, answers: with(func(a *answer) { a.http = "HTTP/1.0" })}, StopProtocolDrift, StateBlocked, []string{"a-8-1", "a-8-4", "a-32-1", "a-32-2"}},
		"an undrained engine":     {"a-8-2", evidence{notDrained: true, stuck: "vllm:num_requests_running"}, StopNotDrained, StateBlocked, []string{"a-8-1", "a-8-4", "a-32-1", "a-32-2"}},
		"a failed smoke check":    {"a-8-2", evidence{smoke: "HTTP status 500"}, StopSmokeFailed, StateBlocked, []string{"a-8-1", "a-8-4", "a-32-1", "a-32-2"}},
		"an interrupt":            {"a-8-2", evidence{interrupted: true}, StopInterrupted, StateNotRun, all("a-8-2")},
	} {
		t.Run(name, func(t *testing.T) {
			test.e.cell, test.e.attempt, test.e.rest = gridCell(test.cell), 1, gridWithout(test.cell)
			stops := decideStops(test.e)
			if test.rule == "" {
				if len(stops) != 0 {
					t.Fatalf("stops: %+v", stops)
				}
				return
			}
			if len(stops) != 1 {
				t.Fatalf("stops: %+v", stops)
			}
			s := stops[0]
			if s.Rule != test.rule || s.State != test.state || !slices.Equal(ids(s.Blocks), test.blocks) || s.Detail == "" || s.Cell != test.cell || s.Attempt != 1 {
				t.Errorf("got %+v, blocks %v", s, ids(s.Blocks))
			}
		})
	}
}

func TestEveryRuleThatFiresIsKept(t *testing.T) {
	stops := decideStops(evidence{cell: grid[0], attempt: 2, rest: grid[1:], connectFailed: 1, notDrained: true, outerTimeout: true})
	if len(stops) != 3 {
		t.Errorf("stops: %+v", stops)
	}
}

func TestReadAnswer(t *testing.T) {
	one, status, end, t0 := int64(1), int64(200), int64(5), int64(7)
	const own = "ASSAY_REQ_7_00001"
	row := func(change func(*record.Request)) record.Request {
		r := record.Request{Index: one, Marker: own, T0Ns: &t0, EndNs: &end, HTTPStatus: &status, HTTPVersion: "HTTP/1.1", ContentType: "text/event-stream", End: "done"}
		if change != nil {
			change(&r)
		}
		return r
	}
	say := func(payloads ...string) (list []record.Event) {
		for i, p := range payloads {
			list = append(list, record.Event{Seq: int64(i), Payload: []byte(p)})
		}
		return list
	}
	text := func(s string) string { return `{"choices":[{"delta":{"content":"` + s + `"}}]}` }
	code := func(n int64, body string) record.Request {
		return row(func(r *record.Request) {
			r.HTTPStatus, r.ContentType, r.Body, r.End = &n, "application/json", []byte(body), "eof"
		})
	}
	sound := answer{index: 1, dispatched: true, end: "done", atNs: 12, terminal: true, http: "HTTP/1.1", usage: "absent"}
	but := func(change func(*answer)) answer { a := sound; change(&a); return a }
	for name, test := range map[string]struct {
		row    record.Request
		events []record.Event
		want   answer
	}{
		"own marker first, split over chunks": {row(nil), say(text(`\n ASSAY_REQ_7`), text("_00001 hello"), "[DONE]"), sound},
		"usage and reasoning":                 {row(nil), say(`{"choices":[{"delta":{"reasoning":"x"}}]}`, text(own), `{"choices":[],"usage":{"prompt_tokens":1}}`, "[DONE]"), but(func(a *answer) { a.reasoning, a.usage = "reasoning", "present" })},
		"marker with more digits":             {row(nil), say(text(own + "9 x")), but(func(a *answer) { a.wrongFirst = true })},
		"foreign marker in the reasoning":     {row(nil), say(`{"choices":[{"delta":{"reasoning_content":"see ASSAY_REQ_7_00002"}}]}`, text(own+" x")), but(func(a *answer) { a.foreign, a.reasoning = "ASSAY_REQ_7_00002", "reasoning_content" })},
		"another text first":                  {row(nil), say(text("Sure. " + own)), but(func(a *answer) { a.wrongFirst = true })},
		"nothing visible":                     {row(nil), say("[DONE]"), sound},
		"cut off before the marker":           {row(func(r *record.Request) { r.End = "idle_timeout" }), say(text("ASSAY_R")), but(func(a *answer) { a.terminal, a.end, a.usage = false, "idle_timeout", "" })},
		"not sent":                            {row(func(r *record.Request) { r.T0Ns, r.End = nil, "not_dispatched" }), nil, answer{index: 1, end: "not_dispatched", http: "HTTP/1.1"}},
		"refused context":                     {code(400, `{"error":{"message":"This model's maximum context length is 10 tokens. However, you requested 11 tokens (1 in the messages, 10 in the completion).","type":"BadRequestError"}}`), nil, but(func(a *answer) { a.terminal, a.usage, a.end, a.refusal = false, "", "eof", "refused_context" })},
		"a GPU out of memory":                 {code(500, `{"error":{"message":"CUDA out of memory. Tried to allocate 2.00 GiB."}}`), nil, but(func(a *answer) { a.terminal, a.usage, a.end, a.fault = false, "", "eof", "gpu_oom" })},
		"an error event after output":         {row(nil), say(text(own), `{"error":{"message":"The request queue is full.","code":503}}`, "[DONE]"), but(func(a *answer) { a.terminal, a.usage = false, "" })},
		"a refusal as the first event":        {row(nil), say(`{"error":{"message":"The request queue is full.","code":503}}`, "[DONE]"), but(func(a *answer) { a.terminal, a.usage, a.refusal = false, "", "refused_queue_full" })},
		"an event named error":                {row(nil), []record.Event{{Name: "error", Payload: []byte("x")}}, but(func(a *answer) { a.terminal, a.usage = false, "" })},
		"payloads of any shape":               {row(nil), say("null", `{"choices":7}`, `[1]`, "\xff", `{"choices":[{"delta":null}]}`), sound},
	} {
		t.Run(name, func(t *testing.T) {
			got := readAnswer(test.row, test.events, true)
			if (got.refusal != "" || got.fault != "") == (got.pattern == "") && name != "an error event after output" {
				t.Errorf("refusal and pattern do not go together: %+v", got)
			}
			got.pattern = ""
			if got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
	if a := readAnswer(row(nil), say(text("no marker")), false); a.wrongFirst {
		t.Error("a cell without canaries was judged by them")
	}
}

func TestSuspect(t *testing.T) {
	n := func(v float64) *float64 { return &v }
	series := func(count int, step int64, running, waiting float64, token float64) (list []engineState) {
		for i := range count {
			list = append(list, engineState{atNs: int64(i) * step, running: n(running), waiting: n(waiting), kv: n(0), generated: n(token * float64(i)), promptedTokens: n(5)})
		}
		return list
	}
	for name, test := range map[string]struct {
		states []engineState
		want   string
	}{
		"waiting while none runs":            {series(10, 5e8, 0, 1, 0), "kv_admission_stall_suspected"},
		"too few pages":                      {series(9, 5e8, 0, 1, 0), ""},
		"too short":                          {series(50, 1e7, 0, 1, 0), ""},
		"ordinary queueing":                  {series(200, 5e8, 1, 1, 3), ""},
		"running without a token for long":   {series(200, 5e8, 1, 0, 0), "engine_hang_suspected"},
		"a long prefill":                     {series(60, 5e8, 1, 0, 0), ""},
		"idle":                               {series(200, 5e8, 0, 0, 0), ""},
		"an engine that does not say":        {make([]engineState, 50), ""},
		"a stall that a working page breaks": {append(series(6, 5e8, 0, 1, 0), series(6, 5e8, 1, 0, 1)...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := suspect(test.states)
			if test.want == "" && len(found) != 0 || test.want != "" && (len(found) != 1 || found[0].code != test.want) {
				t.Errorf("got %+v", found)
			}
		})
	}
}

func TestIdentityDriftNeedsTwoKnownValues(t *testing.T) {
	was := identity{"served_id": "m", "engine_version": "1", "container_id": "c1"}
	for name, test := range map[string]struct {
		is      identity
		changes int
	}{
		"the same":                     {identity{"served_id": "m", "engine_version": "1"}, 0},
		"unknown is no change":         {identity{}, 0},
		"newly known is no change":     {identity{"max_model_len": "5"}, 0},
		"another model":                {identity{"served_id": "n"}, 1},
		"another container and engine": {identity{"container_id": "c2", "engine_version": "2"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := compare(was, test.is, phaseAfter); len(got.changes) != test.changes {
				t.Errorf("got %v", got.changes)
			}
		})
	}
}

func TestClockChanges(t *testing.T) {
	start := Reading{MonoNs: 1e9, BootNs: 1e9, UnixNs: 100e9}
	for name, test := range map[string]struct {
		now  Reading
		want clockChange
	}{
		"nothing":              {Reading{2e9, 2e9, 101e9}, clockChange{}},
		"slewed a little":      {Reading{2e9, 2e9, 101.04e9}, clockChange{}},
		"set back by 3.2 s":    {Reading{2e9, 2e9, 97.8e9}, clockChange{stepNs: -3.2e9}},
		"set ahead by an hour": {Reading{2e9, 2e9, 3701e9}, clockChange{stepNs: 3600e9}},
		"600 s asleep":         {Reading{2e9, 602e9, 701e9}, clockChange{suspendNs: 600e9}},
		"asleep and set":       {Reading{2e9, 602e9, 700e9}, clockChange{suspendNs: 600e9, stepNs: -1e9}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := changeOf(start, test.now); got != test.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}
