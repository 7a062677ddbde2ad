package engine

import (
	"regexp"
	"strconv"
	"strings"
)

// pattern is one known wording. Its regular expression names the numbers it
// captures: limit, asked, prompt, output.
type pattern struct {
	id      string
	outcome string
	fault   string
	kinds   string // error types that match by themselves, separated by blanks
	text    *regexp.Regexp
	status  string // statuses the pattern is limited to, separated by blanks; empty for all
	limitOf string // one of the Limit constants; empty when the wording is about no limit
	atLeast bool   // the numbers are lower bounds
	rest    bool   // tried only when nothing before it matched
}

// match returns the captured groups, nil when the pattern does not match, and an
// empty list when the type alone matched.
func (p pattern) match(status int64, e errorText) []string {
	if p.status != "" && !hasWord(p.status, strconv.FormatInt(status, 10)) {
		return nil
	}
	if p.text != nil {
		if groups := p.text.FindStringSubmatch(e.text); groups != nil {
			return groups
		}
	}
	if e.kind != "" && hasWord(p.kinds, e.kind) {
		return []string{}
	}
	return nil
}

func hasWord(words, word string) bool {
	for w := range strings.FieldsSeq(words) {
		if w == word {
			return true
		}
	}
	return false
}

// numbers reads the captured groups by name.
func (p pattern) numbers(groups []string) Numbers {
	n := Numbers{LimitOf: p.limitOf, AtLeast: p.atLeast && len(groups) > 0}
	for i, group := range groups {
		if group == "" { // an alternative that was not taken
			continue
		}
		value := wholeNumber(group)
		switch p.text.SubexpNames()[i] {
		case "limit":
			n.Limit = value
		case "asked":
			n.Asked = value
		case "prompt":
			n.Prompt = value
		case "output":
			n.Output = value
		}
	}
	return n
}

// wholeNumber reads a count, also one printed as 9351.0 (cases.md B11).
func wholeNumber(s string) *int64 {
	whole, fraction, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || strings.Trim(fraction, "0") != "" {
		return nil
	}
	return &n
}

// patterns is the table of engines.md section 4.2 and cases.md B08 to B11, in
// order of severity: GPU fault, GPU memory, NCCL, engine death, KV boot failure,
// host memory, queue, KV pool, context, model, not ready, bad request. The first
// that matches decides.
var patterns = []pattern{
	{id: "gpu_lost_xid79", outcome: RefusedUnclassified, fault: FaultGPULost,
		text: re(`NVRM: Xid \(PCI:[0-9a-fA-F:.]+[^)]*\): 79\b|GPU is lost|GPU has fallen off the bus`)},
	{id: "cuda_error", outcome: RefusedUnclassified, fault: FaultCUDA,
		text: re(`CUDA error: (?:an illegal memory access|unspecified launch failure|misaligned address|device-side assert|uncorrectable ECC)|CUBLAS_STATUS_[A-Z_]+`)},
	{id: "nvrm_xid", outcome: RefusedUnclassified, fault: FaultCUDA,
		text: re(`NVRM: Xid \(PCI:[0-9a-fA-F:.]+[^)]*\): \d+`)},
	{id: "cuda_out_of_memory", outcome: RefusedUnclassified, fault: FaultGPUOOM,
		text: re(`CUDA out of memory|torch\.(?:cuda\.)?OutOfMemoryError|CUDA error: out of memory|cudaErrorMemoryAllocation`)},
	{id: "nccl_error", outcome: RefusedUnclassified, fault: FaultNCCL,
		text: re(`NCCL error|ncclUnhandledCudaError|ncclSystemError|ncclRemoteError|Watchdog caught collective operation timeout`)},
	{id: "vllm_engine_dead", outcome: RefusedUnclassified, fault: FaultEngineDead, kinds: "EngineDeadError",
		text: re(`EngineCore (?:encountered (?:an issue|a fatal error)|died)|EngineDeadError|Engine core initialization failed|EngineCore failed to start`)},
	{id: "sglang_engine_dead", outcome: RefusedUnclassified, fault: FaultEngineDead,
		text: re(`Scheduler hit an exception|Received sigquit from a child process|Health check failed\. Server couldn't get a response from detokenizer`)},
	{id: "tensorrt_llm_engine_dead", outcome: RefusedUnclassified, fault: FaultEngineDead, kinds: "CppExecutorError",
		text: re(`CppExecutorError`)},
	{id: "lmdeploy_engine_dead", outcome: RefusedUnclassified, fault: FaultEngineDead,
		text: re(`The inference engine is unavailable`)},
	{id: "vllm_kv_boot", outcome: RefusedUnclassified, fault: FaultKVBoot, limitOf: LimitKVPool,
		text: re(`To serve at least one request with the models?'s? max seq len \((?P<asked>\d+)\)|No available memory for the cache blocks|Free memory on device .* is less than desired GPU memory utilization`)},
	{id: "vllm_kv_boot_estimate", outcome: RefusedUnclassified, fault: FaultKVBoot, limitOf: LimitKVPool,
		text: re(`estimated maximum model length is (?P<limit>\d+)`)},
	{id: "vllm_kv_boot_old", outcome: RefusedUnclassified, fault: FaultKVBoot, limitOf: LimitKVPool,
		text: re(`max seq len \((?P<asked>\d+)\) is larger than the maximum number of tokens that can be stored in KV cache \((?P<limit>\d+)\)`)},
	{id: "host_out_of_memory", outcome: RefusedUnclassified, fault: FaultHostOOM,
		text: re(`Out of memory: Killed process|Memory cgroup out of memory`)},

	{id: "vllm_queue_full", outcome: RefusedQueueFull, kinds: "QueueOverflowError",
		text: re(`QueueOverflowError`)},
	{id: "sglang_queue_full", outcome: RefusedQueueFull,
		text: re(`The request queue is full\.|aborted by a higher priority request`)},
	{id: "tgi_queue_full", outcome: RefusedQueueFull, kinds: "overloaded",
		text: re(`Model is overloaded`)},
	{id: "dynamo_queue_full", outcome: RefusedQueueFull, kinds: "overload",
		text: re(`(?i)\boverload(?:ed)?\b`), status: "503 529"},
	{id: "llamacpp_no_slot", outcome: RefusedQueueFull,
		text: re(`(?i)no slot available`), status: "503"},

	{id: "sglang_kv_pool_input", outcome: RefusedKVPool, limitOf: LimitKVPool,
		text: re(`Input length \((?P<prompt>\d+) tokens\) exceeds the maximum allowed length \((?P<limit>\d+) tokens\)`)},
	{id: "sglang_kv_pool_exhausted", outcome: RefusedKVPool,
		text: re(`(?:Prefill|Decode) out of memory\. Try to lower your batch size`)},
	{id: "lmdeploy_kv_pool", outcome: RefusedKVPool,
		text: re(`cache out of memory, no request can be admitted`)},

	{id: "llamacpp_context", outcome: RefusedContext, limitOf: LimitModelLength, kinds: "exceed_context_size_error",
		text: re(`(?:request \((?P<prompt>\d+) tokens\) )?exceeds the available context size(?: \((?P<limit>\d+) tokens\))?`)},
	{id: "vllm_context_at_least", outcome: RefusedContext, limitOf: LimitModelLength, atLeast: true,
		text: re(`maximum context length is (?P<limit>\d+) tokens\. However, you requested (?P<output>\d+) output tokens and your prompt contains at least (?P<prompt>\d+) input tokens, for a total of at least (?P<asked>\d+) tokens`)},
	{id: "vllm_context_prompt_alone", outcome: RefusedContext, limitOf: LimitModelLength, atLeast: true,
		text: re(`maximum context length is (?P<limit>\d+) tokens\. However, your prompt contains at least (?P<prompt>\d+) input tokens`)},
	{id: "vllm_context_messages", outcome: RefusedContext, limitOf: LimitModelLength,
		text: re(`maximum context length is (?P<limit>\d+) tokens(?:\. However, you requested (?P<prompt>\d+) tokens in the (?:messages|prompt)|\. However, your messages resulted in (?P<prompt>\d+) tokens|\. However, your request has (?P<prompt>\d+) input tokens|, but the prompt contains (?P<prompt>\d+) input tokens)`)},
	{id: "vllm_context_output", outcome: RefusedContext, limitOf: LimitModelLength,
		text: re(`is too large: (?P<output>\d+)\. This model's maximum context length is (?P<limit>\d+) tokens and your request has (?P<prompt>\d+) input tokens`)},
	{id: "vllm_context_2025", outcome: RefusedContext, limitOf: LimitModelLength,
		text: re(`maximum context length is (?P<limit>\d+) tokens\. However, you requested (?P<asked>\d+) tokens(?: \((?P<prompt>\d+) in (?:the|your) (?:messages|prompt)[,;] (?P<output>\d+) (?:in|for) the completion\)|\.|$)`)},
	{id: "vllm_context_passed", outcome: RefusedContext, limitOf: LimitModelLength,
		text: re(`You passed (?P<prompt>\d+) input tokens and requested (?P<output>\d+) output tokens\. However, the model's context length is only (?P<limit>\d+) tokens`)},
	{id: "vllm_max_model_len", outcome: RefusedContext, limitOf: LimitModelLength,
		text: re(`(?:\(length (?P<prompt>\d+)\) is )?longer than the maximum model length of (?P<limit>\d+)|(?:max_tokens=(?P<output>\d+) )?cannot be greater than max_model_len(?:=(?P<limit>\d+))?`)},
	{id: "vllm_max_tokens_negative", outcome: RefusedContext, limitOf: LimitModelLength,
		text: re(`max_tokens must be at least 1, got -\d+`)},
	{id: "sglang_context_input", outcome: RefusedContext, limitOf: LimitModelLength,
		text: re(`The input \((?P<prompt>\d+) tokens\) is longer than the model's context length \((?P<limit>\d+) tokens\)`)},
	{id: "sglang_context_total", outcome: RefusedContext, limitOf: LimitModelLength,
		text: re(`Requested token count exceeds the model's maximum context length of (?P<limit>\d+) tokens(?:\. You requested a total of (?P<asked>\d+) tokens: (?P<prompt>\d+) tokens from the input messages and (?P<output>\d+))?`)},
	// A limit on the tokens of one batch is a setting, not the model's length.
	{id: "tensorrt_llm_max_num_tokens", outcome: RefusedContext, limitOf: LimitBatchTokens,
		text: re(`sum of prompt length \((?P<prompt>[\d.]+)\), query length .* should not exceed max_num_tokens \((?P<limit>\d+)\)`)},
	{id: "tensorrt_llm_max_input", outcome: RefusedContext, limitOf: LimitInputLength,
		text: re(`Prompt length \((?P<prompt>[\d.]+)\) exceeds maximum input length \((?P<limit>\d+)\)`)},
	{id: "tensorrt_llm_max_seq_len", outcome: RefusedContext, limitOf: LimitModelLength,
		text: re(`(?:Prompt length \((?P<prompt>[\d.]+)\) )?exceeds maximum sequence length \((?P<limit>\d+)\)|(?:exceeds?|longer than|greater than) (?:the )?max_seq_len`)},
	{id: "tgi_context", outcome: RefusedContext, limitOf: LimitModelLength,
		text: re("`inputs` tokens \\+ `max_new_tokens` must be <= (?P<limit>\\d+)(?:\\. Given: (?P<prompt>\\d+) `inputs` tokens and (?P<output>\\d+) `max_new_tokens`)?")},
	{id: "lmdeploy_context", outcome: RefusedContext, limitOf: LimitModelLength, kinds: "context_length_exceeded",
		text: re(`Input length \((?P<prompt>\d+)\) must be smaller than the model context length(?: \((?P<limit>\d+)\))?|\bcontext_length_exceeded\b`)},

	{id: "context_limit", outcome: RefusedContext, limitOf: LimitModelLength, rest: true,
		text: re(`(?i)maximum context length (?:is|of) (?P<limit>\d+)`)},

	{id: "model_not_found", outcome: RefusedModel, kinds: "NotFoundError", status: "404",
		text: re(`(?i)the model .+ does not exist|model not found|model .+ not found`)},

	// At the start of a server this is not_ready; later it is the death of the last worker.
	{id: "dynamo_no_worker", outcome: NotReady, fault: FaultEngineDead, status: "500 503",
		text: re(`(?i)\bno (?:healthy |available )?(?:worker|instance)s?\b`)},
	{id: "not_ready", outcome: NotReady, kinds: "unavailable_error", status: "503",
		text: re(`(?i)loading model|\bstarting\b|\bnot ready\b`)},

	{id: "bad_request", outcome: RefusedBadRequest,
		kinds: "BadRequestError invalid_request_error ValidationError validation", status: "400 422"},
}

func re(text string) *regexp.Regexp { return regexp.MustCompile(text) }
