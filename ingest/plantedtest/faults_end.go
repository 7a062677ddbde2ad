package plantedtest

// ending is how an exchange ends: one outcome of the closed list.
type ending struct {
	name    string
	outcome string
	class   string // fault class; "" for none
	// text: the whole text came, so that faults of the text stand beside the
	// ending; counts: usage and finish reason came too.
	text, counts bool
	refused      bool // before a stream began: nothing can be judged
	plant        func(x *cell, a *answer, e *exchange)
	fails        []string
}

var (
	// noText are the rules that a stream without a visible text breaks.
	noText = []string{ruleVisible, ruleCanary, ruleControlled}
	// noEnd are the rules that a stream cut after its text breaks.
	noEnd = []string{ruleTerminal, ruleUsage, ruleFinish, ruleCapture}
	// nothing are the rules that an exchange without a stream breaks. What was
	// never said holds no foreign marker.
	nothing = append(append([]string{}, noText...), noEnd...)
)

func with(list []string, more ...string) []string {
	return append(append([]string{}, list...), more...)
}

// cutAt ends a stream early; kind is the collector's word for how.
func cutAt(at stage, kind string) func(*cell, *answer, *exchange) {
	return func(_ *cell, a *answer, _ *exchange) { a.cut, a.end, a.done = at, kind, false }
}

// failWith puts an error event behind the text. With done the stream still
// ends with [DONE].
func failWith(at stage, done bool, failure event) func(*cell, *answer, *exchange) {
	return func(_ *cell, a *answer, _ *exchange) {
		a.done = done
		if !done {
			a.end = "eof"
		}
		switch at {
		case cutAfterRole:
			a.early, a.reasoning, a.visible = []event{failure}, nil, nil
		default:
			a.late = []event{failure}
		}
		a.finish, a.usage = nil, usage{absent: true}
	}
}

// noStream answers without an event stream.
func noStream(status int64, contentType, body string) func(*cell, *answer, *exchange) {
	return func(x *cell, a *answer, e *exchange) {
		a.end, a.silent = "eof", true
		e.row.HTTPStatus, e.row.HTTPVersion, e.row.ContentType, e.row.Body = &status, x.httpVersion, contentType, []byte(body)
	}
}

func noHead(kind string) func(*cell, *answer, *exchange) {
	return func(_ *cell, a *answer, _ *exchange) { a.end, a.silent = kind, true }
}

// refusal is an answer of a real engine to a request it does not take.
func refusal(name, outcome string, status int64, body string) ending {
	return ending{name: name, outcome: outcome, refused: true, plant: noStream(status, "application/json", body)}
}

const (
	contextText = `This model's maximum context length is 32768 tokens. However, you requested 49152 tokens (32768 in the messages, 16384 in the completion). Please reduce the length of the messages or completion.`
	poolText    = `Input length (131072 tokens) exceeds the maximum allowed length (98304 tokens). Use a shorter input or enable --allow-auto-truncate.`
	cudaText    = `CUDA error: an illegal memory access was encountered`
)

// complete is the ending of a sound exchange.
var complete = ending{name: "complete", outcome: "complete", text: true, counts: true}

// endings are all others.
var endings = []ending{
	{"truncated_after_role", "truncated", "", false, false, false, cutAt(cutAfterRole, "eof"), nothing},
	{"truncated_in_reasoning", "truncated", "", false, false, false, cutAt(cutAfterReasoning, "eof"), nothing},
	{"truncated_after_text", "truncated", "", true, false, false, cutAt(cutAfterText, "short_body"), noEnd},
	{"truncated_in_event", "truncated", "", true, false, false, func(x *cell, a *answer, e *exchange) {
		cutAt(cutAfterText, "short_body")(x, a, e)
		a.tail = `data: {"choices":[{"index":0,"del`
	}, noEnd},
	{"missing_done", "missing_done", "", true, false, false, cutAt(cutAfterUsage, "eof"), []string{ruleTerminal}},
	{"no_output", "no_output", "", false, false, false, func(_ *cell, a *answer, _ *exchange) {
		a.reasoning, a.visible = nil, nil
		a.usage.completion, a.usage.reasoning = "0", ""
	}, noText},
	{"no_output_in_text_field", "no_output", "", false, false, false, func(_ *cell, a *answer, _ *exchange) {
		a.reasoning, a.visible = nil, nil
		a.early = []event{{data: delta(`{"content":null,"reasoning":""}`, "")}}
		a.usage.completion, a.usage.reasoning = "0", ""
	}, noText},

	{"error_then_done", "in_band_error", "", true, false, false,
		failWith(cutAfterText, true, event{data: `{"error":{"message":"internal error","type":"InternalServerError","code":500}}`}),
		[]string{ruleTerminal, ruleUsage, ruleFinish}},
	{"error_then_end", "in_band_error", "", true, false, false,
		failWith(cutAfterText, false, event{data: `{"error":{"message":"internal error","code":500}}`}), noEnd},
	{"error_false", "in_band_error", "", true, false, false, failWith(cutAfterText, true, event{data: `{"error":false,"choices":[]}`}),
		[]string{ruleTerminal, ruleUsage, ruleFinish}},
	{"error_object", "in_band_error", "", true, false, false,
		failWith(cutAfterText, true, event{data: `{"object":"error","message":"something went wrong"}`}), []string{ruleTerminal, ruleUsage, ruleFinish}},
	{"error_event", "in_band_error", "", true, false, false, failWith(cutAfterText, true, event{data: "out of luck", name: "error"}),
		[]string{ruleTerminal, ruleUsage, ruleFinish}},
	{"error_beside_usage", "in_band_error", "", true, true, false, func(_ *cell, a *answer, _ *exchange) {
		a.late = []event{{data: `{"error":"late","choices":[]}`}}
	}, []string{ruleTerminal}},
	{"error_cuda", "in_band_error", "cuda_fault", true, false, false,
		failWith(cutAfterText, false, event{data: `{"error":{"message":"` + cudaText + `","code":500}}`}), noEnd},
	{"error_engine_dead", "in_band_error", "engine_dead", true, false, false,
		failWith(cutAfterText, false, event{data: `{"error":{"message":"EngineCore encountered an issue. See stack trace","type":"EngineDeadError","code":500}}`}), noEnd},
	{"error_gpu_oom_first", "in_band_error", "gpu_oom", false, false, false,
		failWith(cutAfterRole, true, event{data: `{"error":{"message":"CUDA out of memory. Tried to allocate 2 GiB","code":500}}`}),
		with(noText, ruleTerminal, ruleUsage, ruleFinish)},
	{"refused_in_stream", "refused_context", "", false, false, false,
		failWith(cutAfterRole, true, event{data: `{"error":{"message":"` + contextText + `","code":400}}`}),
		with(noText, ruleTerminal, ruleUsage, ruleFinish)},
	{"refusal_text_after_output", "in_band_error", "", true, false, false,
		failWith(cutAfterText, true, event{data: `{"error":{"message":"` + contextText + `","code":400}}`}),
		[]string{ruleTerminal, ruleUsage, ruleFinish}},

	{"bad_event", "protocol", "", true, true, false, func(_ *cell, a *answer, _ *exchange) {
		a.late = []event{{data: `{"choices":[{"index":0,"delta":{"content":"x"`}}
	}, []string{ruleTerminal, ruleCapture}},
	{"bad_bytes", "protocol", "", true, true, false, func(_ *cell, a *answer, _ *exchange) {
		a.late = []event{{data: "{\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\"}}]}"}}
	}, []string{ruleTerminal, ruleCapture}},
	{"bad_framing", "protocol", "", true, false, false, cutAt(cutAfterText, "protocol"), noEnd},
	{"not_a_stream", "protocol", "", false, false, false, noStream(200, "text/html", "<html>welcome</html>"), nothing},
	{"redirect", "protocol", "", false, false, false, noStream(302, "text/html", ""), nothing},
	{"bad_head", "protocol", "", false, false, false, noHead("protocol"), nothing},

	refusal("refused_context", "refused_context", 400, `{"object":"error","message":"`+contextText+`","type":"BadRequestError","code":400}`),
	refusal("refused_kv_pool", "refused_kv_pool", 400, `{"error":{"message":"`+poolText+`"}}`),
	refusal("refused_queue_full", "refused_queue_full", 503, `{"error":{"message":"The request queue is full.","code":503}}`),
	refusal("refused_rate_limited", "refused_rate_limited", 429, `{"error":{"message":"slow down"}}`),
	refusal("refused_auth", "refused_auth", 401, `{"error":"Unauthorized"}`),
	refusal("refused_model", "refused_model", 404, "{\"error\":{\"message\":\"The model `x` does not exist.\",\"type\":\"NotFoundError\",\"code\":404}}"),
	refusal("refused_bad_request", "refused_bad_request", 400, `{"error":{"message":"top_p must be in (0, 1]","type":"BadRequestError"}}`),
	refusal("refused_unclassified", "refused_unclassified", 500, `{"error":{"message":"internal error"}}`),
	refusal("not_ready", "not_ready", 503, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`),
	{"refused_by_dead_engine", "refused_unclassified", "engine_dead", false, false, true,
		noStream(500, "application/json", `{"error":{"message":"EngineCore encountered an issue.","type":"EngineDeadError"}}`), nil},
	{"refused_nccl", "refused_unclassified", "nccl_fault", false, false, true,
		noStream(500, "application/json", `{"error":{"message":"NCCL error: unhandled system error"}}`), nil},
	{"refused_gpu_lost", "refused_unclassified", "gpu_lost", false, false, true,
		noStream(500, "application/json", `{"error":{"message":"GPU is lost. Reboot the system to recover this GPU"}}`), nil},
	{"refused_host_oom", "refused_unclassified", "host_oom", false, false, true,
		noStream(500, "application/json", `{"error":"Memory cgroup out of memory"}`), nil},
	{"refused_kv_boot", "refused_unclassified", "kv_boot_failure", false, false, true,
		noStream(500, "application/json", `{"error":"No available memory for the cache blocks"}`), nil},

	{"connect_failed", "connect_failed", "", false, false, false, noHead("connect_failed"), nothing},
	{"tls_failed", "connect_failed", "", false, false, false, noHead("tls_failed"), nothing},
	{"reset_before_head", "connection_reset", "", false, false, false, noHead("connection_reset"), nothing},
	{"closed_before_head", "connection_reset", "", false, false, false, noHead("eof"), nothing},
	{"reset_in_stream", "connection_reset", "", true, false, false, cutAt(cutAfterText, "connection_reset"), noEnd},
	{"idle_before_head", "idle_timeout", "", false, false, false, noHead("idle_timeout"), nothing},
	{"idle_in_stream", "idle_timeout", "", true, false, false, cutAt(cutAfterText, "idle_timeout"), noEnd},
	{"idle_after_role", "idle_timeout", "", false, false, false, cutAt(cutAfterRole, "idle_timeout"), nothing},
	{"outer_timeout", "outer_timeout", "", false, false, false, cutAt(cutAfterReasoning, "outer_timeout"), nothing},
	{"interrupted", "interrupted", "", true, false, false, cutAt(cutAfterText, "interrupted"), noEnd},
	{"not_dispatched", "not_dispatched", "", false, false, false, noHead("not_dispatched"), nil},
}
