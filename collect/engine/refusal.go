package engine

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Outcomes a refusal can have; names of measurement.md section 6.
const (
	RefusedContext      = "refused_context"
	RefusedKVPool       = "refused_kv_pool"
	RefusedQueueFull    = "refused_queue_full"
	RefusedRateLimited  = "refused_rate_limited"
	RefusedAuth         = "refused_auth"
	RefusedModel        = "refused_model"
	RefusedBadRequest   = "refused_bad_request"
	RefusedUnclassified = "refused_unclassified"
	NotReady            = "not_ready"
)

// Fault classes an error text can name; names of measurement.md section 6.
const (
	FaultEngineDead = "engine_dead"
	FaultGPUOOM     = "gpu_oom"
	FaultCUDA       = "cuda_fault"
	FaultNCCL       = "nccl_fault"
	FaultGPULost    = "gpu_lost"
	FaultHostOOM    = "host_oom"
	FaultKVBoot     = "kv_boot_failure"
)

// Refusal is what an error answer means. A text is a hint: whether the engine
// lives is for a probe of its state to say.
type Refusal struct {
	Outcome    string   // one of the Refused constants, or NotReady
	FaultClass string   // one of the Fault constants; empty when the text names none
	PatternID  string   // pattern that decided, status_NNN when the status did, empty when nothing matched
	Matches    []string // every pattern that matched, the deciding one first
	Numbers    Numbers
}

// Numbers are the token counts a refusal states, in tokens. nil is not stated.
type Numbers struct {
	Limit   *int64 // what the limit is
	Asked   *int64 // prompt and output together
	Prompt  *int64
	Output  *int64
	AtLeast bool // the text says "at least": Asked and Prompt are lower bounds
}

// maxErrorText bounds the text the patterns look at, in bytes. Engines put the
// reason first; a longer body is mostly the echoed request.
const maxErrorText = 64 << 10

// Classify reads an error answer: an HTTP status of 400 or more with its body, or
// 200 with the error event of a stream. The type field decides first, the text
// second, the status last (cases.md B10), since one refusal has come under
// several statuses. Faults of the GPU or the engine come before refusals
// (engines.md section 4.2). An unknown text is refused_unclassified.
func Classify(status int64, body []byte) Refusal {
	e := readError(body)
	if status < 400 && e.status >= 400 && e.status < 600 {
		status = e.status
	}
	decided := byStatusFirst(status)
	var matches []string
	for _, p := range patterns {
		groups := p.match(status, e)
		if groups == nil {
			continue
		}
		matches = append(matches, p.id)
		if decided.Outcome == "" {
			decided = Refusal{Outcome: p.outcome, FaultClass: p.fault, PatternID: p.id, Numbers: p.numbers(groups)}
			e.addNumbers(&decided.Numbers)
		}
	}
	if decided.Outcome == "" {
		decided = byStatusLast(status)
	}
	decided.Matches = matches
	return decided
}

// byStatusFirst decides where the status leaves no doubt: a text that mentions
// anything else beside it is about the same thing.
func byStatusFirst(status int64) Refusal {
	if status == 401 || status == 403 {
		return Refusal{Outcome: RefusedAuth, PatternID: statusID(status)}
	}
	return Refusal{}
}

// byStatusLast decides where no text did. 529 is Dynamo's overload status. A 404
// without a model text is a wrong path, a 503 without one a proxy or anything
// else: both stay unclassified.
func byStatusLast(status int64) Refusal {
	switch status {
	case 400, 422:
		return Refusal{Outcome: RefusedBadRequest, PatternID: statusID(status)}
	case 429:
		return Refusal{Outcome: RefusedRateLimited, PatternID: statusID(status)}
	case 529:
		return Refusal{Outcome: RefusedQueueFull, PatternID: statusID(status)}
	}
	return Refusal{Outcome: RefusedUnclassified}
}

func statusID(status int64) string { return "status_" + strconv.FormatInt(status, 10) }

// errorText is an error body brought to one shape.
type errorText struct {
	kind   string // type or error_type
	text   string // message, code and param; the body itself when it is not JSON
	status int64  // numeric code in the body; 0 without one
	prompt *int64 // n_prompt_tokens
	limit  *int64 // n_ctx
}

// readError accepts the envelopes of engines.md section 4.1: an object at error,
// a string at error, or the members at the top; and FastAPI's detail.
func readError(body []byte) errorText {
	top, reason := object(body)
	if reason != "" {
		return errorText{text: clip(string(body))}
	}
	if inner, reason := object(top["error"]); reason == "" {
		top = inner
	}
	kind := text(top["type"])
	if kind == "" {
		kind = text(top["error_type"])
	}
	var parts []string
	for _, key := range []string{"message", "error", "code", "param"} {
		if s := text(top[key]); s != "" {
			parts = append(parts, s)
		}
	}
	e := errorText{kind: kind, text: clip(strings.Join(append(parts, detail(top["detail"])...), "\n"))}
	for _, key := range []string{"http_status_code", "code"} {
		n, _ := positive(top[key])
		if n == nil {
			n = wholeNumber(text(top[key]))
		}
		if n != nil && e.status == 0 {
			e.status = *n
		}
	}
	e.prompt, _ = positive(top["n_prompt_tokens"])
	e.limit, _ = positive(top["n_ctx"])
	return e
}

// detail reads FastAPI's detail: a text, or a list whose entries have a msg. The
// rest of an entry echoes the request and must not be classified.
func detail(raw json.RawMessage) []string {
	if s := text(raw); s != "" {
		return []string{s}
	}
	var entries []map[string]json.RawMessage
	if json.Unmarshal(raw, &entries) != nil {
		return nil
	}
	var parts []string
	for _, entry := range entries {
		parts = append(parts, text(entry["msg"]))
	}
	return parts
}

// text is a JSON string, or empty for any other value.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func clip(s string) string { return s[:min(len(s), maxErrorText)] }

// addNumbers fills in what the body states in members of its own.
func (e errorText) addNumbers(n *Numbers) {
	if n.Prompt == nil {
		n.Prompt = e.prompt
	}
	if n.Limit == nil {
		n.Limit = e.limit
	}
}
