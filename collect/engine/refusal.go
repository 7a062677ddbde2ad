package engine

import "strconv"

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

// What a limit that a refusal names is a limit of.
const (
	LimitModelLength = "model_length" // prompt and output, or the prompt alone, against the model's context
	LimitInputLength = "input_length" // the prompt, a setting of the engine
	LimitBatchTokens = "batch_tokens" // the tokens of one batch, a setting of the engine
	LimitKVPool      = "kv_pool"      // the memory for KV, whatever the model allows
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
	LimitOf string // one of the Limit constants; empty when the refusal names no limit
	AtLeast bool   // the text says "at least": Asked and Prompt are lower bounds
}

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
		if p.rest && len(matches) > 0 {
			continue
		}
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
