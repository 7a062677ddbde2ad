package engine

import (
	"encoding/json"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func n(v int64) *int64 { return &v }

// refusals is one row or more per pattern; TestEveryPatternHasARow holds that.
var refusals = []struct {
	name, text string
	status     int64
	want       Refusal
}{
	{"vLLM 2025", "This model's maximum context length is 327680 tokens. However, you requested 327681 tokens (311297 in the messages, 16384 in the completion).", 400,
		Refusal{Outcome: RefusedContext, PatternID: "vllm_context_2025", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(327680), Asked: n(327681), Prompt: n(311297), Output: n(16384)}}},
	{"vLLM, no split of the total", "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.", 400,
		Refusal{Outcome: RefusedContext, PatternID: "vllm_context_2025", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(8192), Asked: n(9000)}}},
	{"vLLM, the messages alone", "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages, Please reduce the length of the messages.", 400,
		Refusal{Outcome: RefusedContext, PatternID: "vllm_context_messages", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(8192), Prompt: n(9000)}}},
	{"vLLM, your request", "This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens. Please reduce the length of the input messages.", 400,
		Refusal{Outcome: RefusedContext, PatternID: "vllm_context_messages", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(8192), Prompt: n(9000)}}},
	{"vLLM, the prompt contains", "this model's maximum context length is 8192 tokens, but the prompt contains 9000 input tokens", 400,
		Refusal{Outcome: RefusedContext, PatternID: "vllm_context_messages", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(8192), Prompt: n(9000)}}},
	{"vLLM, the output is too large", "'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context length is 32768 tokens and your request has 20000 input tokens (16384 > 32768 - 20000).", 400,
		Refusal{Outcome: RefusedContext, PatternID: "vllm_context_output", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(32768), Prompt: n(20000), Output: n(16384)}}},
	{"a limit in words of tomorrow", "The maximum context length of 4096 would be passed", 400,
		Refusal{Outcome: RefusedContext, PatternID: "context_limit", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(4096)}}},
	{"vLLM early 2026", "You passed 311297 input tokens and requested 16384 output tokens. However, the model's context length is only 327680 tokens", 400,
		Refusal{Outcome: RefusedContext, PatternID: "vllm_context_passed", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(327680), Prompt: n(311297), Output: n(16384)}}},
	{"vLLM current", "This model's maximum context length is 327680 tokens. However, you requested 16384 output tokens and your prompt contains at least 311297 input tokens, for a total of at least 327681 tokens. (parameter=input_tokens, value=311297)", 400,
		Refusal{Outcome: RefusedContext, PatternID: "vllm_context_at_least", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(327680), Asked: n(327681), Prompt: n(311297), Output: n(16384), AtLeast: true}}},
	{"vLLM decoder prompt", "The decoder prompt (length 40000) is longer than the maximum model length of 32768.", 400,
		Refusal{Outcome: RefusedContext, PatternID: "vllm_max_model_len", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(32768), Prompt: n(40000)}}},
	{"vLLM max_model_len", "max_tokens cannot be greater than max_model_len", 400, Refusal{Outcome: RefusedContext, PatternID: "vllm_max_model_len", Numbers: Numbers{LimitOf: LimitModelLength}}},
	{"vLLM 0.32, the prompt alone", "This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097 input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=4097)", 400,
		Refusal{Outcome: RefusedContext, PatternID: "vllm_context_prompt_alone", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(4096), Prompt: n(4097), AtLeast: true}}},
	{"vLLM 0.32, the output alone", "max_tokens=5000 cannot be greater than max_model_len=4096. Please request fewer output tokens. (parameter=max_tokens, value=5000)", 400,
		Refusal{Outcome: RefusedContext, PatternID: "vllm_max_model_len", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(4096), Output: n(5000)}}},
	{"vLLM negative rest", "max_tokens must be at least 1, got -186.", 400, Refusal{Outcome: RefusedContext, PatternID: "vllm_max_tokens_negative", Numbers: Numbers{LimitOf: LimitModelLength}}},
	{"SGLang input", "The input (61709 tokens) is longer than the model's context length (40960 tokens).", 400,
		Refusal{Outcome: RefusedContext, PatternID: "sglang_context_input", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(40960), Prompt: n(61709)}}},
	{"SGLang total, on equality", "Requested token count exceeds the model's maximum context length of 40960 tokens. You requested a total of 40960 tokens: 24576 tokens from the input messages and 16384 tokens for the completion.", 400,
		Refusal{Outcome: RefusedContext, PatternID: "sglang_context_total", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(40960), Asked: n(40960), Prompt: n(24576), Output: n(16384)}}},
	{"SGLang KV pool", "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).", 400,
		Refusal{Outcome: RefusedKVPool, PatternID: "sglang_kv_pool_input", Numbers: Numbers{LimitOf: LimitKVPool, Limit: n(59862), Prompt: n(160062)}}},
	{"SGLang pool exhausted", "Decode out of memory. Try to lower your batch size.", 500, Refusal{Outcome: RefusedKVPool, PatternID: "sglang_kv_pool_exhausted"}},
	{"LMDeploy pool", "cache out of memory, no request can be admitted", 500, Refusal{Outcome: RefusedKVPool, PatternID: "lmdeploy_kv_pool"}},
	{"llama.cpp message", "request (40000 tokens) exceeds the available context size (32768 tokens), try increasing it", 500,
		Refusal{Outcome: RefusedContext, PatternID: "llamacpp_context", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(32768), Prompt: n(40000)}}},
	{"TensorRT-LLM batch tokens", "The sum of prompt length (9351.0), query length (0) should not exceed max_num_tokens (8192)", 400,
		Refusal{Outcome: RefusedContext, PatternID: "tensorrt_llm_max_num_tokens", Numbers: Numbers{LimitOf: LimitBatchTokens, Limit: n(8192), Prompt: n(9351)}}},
	{"TensorRT-LLM input", "Prompt length (200) exceeds maximum input length (1)", 400,
		Refusal{Outcome: RefusedContext, PatternID: "tensorrt_llm_max_input", Numbers: Numbers{LimitOf: LimitInputLength, Limit: n(1), Prompt: n(200)}}},
	{"TensorRT-LLM prompt against the sequence", "Cannot process new request: Prompt length (5056) exceeds maximum sequence length (2048)", 400,
		Refusal{Outcome: RefusedContext, PatternID: "tensorrt_llm_max_seq_len", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(2048), Prompt: n(5056)}}},
	{"TensorRT-LLM sequence", "prompt and output exceeds maximum sequence length (2048)", 400,
		Refusal{Outcome: RefusedContext, PatternID: "tensorrt_llm_max_seq_len", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(2048)}}},
	{"TGI context", "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3000 `inputs` tokens and 2000 `max_new_tokens`", 422,
		Refusal{Outcome: RefusedContext, PatternID: "tgi_context", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(4096), Prompt: n(3000), Output: n(2000)}}},
	{"LMDeploy context", "Input length (9000) must be smaller than the model context length (8192)", 400,
		Refusal{Outcome: RefusedContext, PatternID: "lmdeploy_context", Numbers: Numbers{LimitOf: LimitModelLength, Limit: n(8192), Prompt: n(9000)}}},
	{"vLLM queue", "QueueOverflowError: too many", 503, Refusal{Outcome: RefusedQueueFull, PatternID: "vllm_queue_full"}},
	{"SGLang queue", "The request queue is full.", 503, Refusal{Outcome: RefusedQueueFull, PatternID: "sglang_queue_full"}},
	{"SGLang priority", "Request aborted by a higher priority request.", 503, Refusal{Outcome: RefusedQueueFull, PatternID: "sglang_queue_full"}},
	{"TGI overload", "Model is overloaded", 429, Refusal{Outcome: RefusedQueueFull, PatternID: "tgi_queue_full"}},
	{"Dynamo overload", "Service temporarily overloaded", 529, Refusal{Outcome: RefusedQueueFull, PatternID: "dynamo_queue_full"}},
	{"Dynamo overload, no text", "", 529, Refusal{Outcome: RefusedQueueFull, PatternID: "status_529"}},
	{"llama.cpp slots", "no slot available", 503, Refusal{Outcome: RefusedQueueFull, PatternID: "llamacpp_no_slot"}},
	{"vLLM engine", "EngineCore encountered an issue. See stack trace (above) for the root cause.", 500,
		Refusal{Outcome: RefusedUnclassified, FaultClass: FaultEngineDead, PatternID: "vllm_engine_dead"}},
	{"SGLang engine", "Health check failed. Server couldn't get a response from detokenizer", 503,
		Refusal{Outcome: RefusedUnclassified, FaultClass: FaultEngineDead, PatternID: "sglang_engine_dead"}},
	{"TensorRT-LLM engine", "CppExecutorError", 500, Refusal{Outcome: RefusedUnclassified, FaultClass: FaultEngineDead, PatternID: "tensorrt_llm_engine_dead"}},
	{"LMDeploy engine", "The inference engine is unavailable", 503, Refusal{Outcome: RefusedUnclassified, FaultClass: FaultEngineDead, PatternID: "lmdeploy_engine_dead"}},
	{"GPU memory", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", 500,
		Refusal{Outcome: RefusedUnclassified, FaultClass: FaultGPUOOM, PatternID: "cuda_out_of_memory"}},
	{"CUDA fault", "CUDA error: an illegal memory access was encountered", 500, Refusal{Outcome: RefusedUnclassified, FaultClass: FaultCUDA, PatternID: "cuda_error"}},
	{"Xid", "NVRM: Xid (PCI:0000:01:00): 31, pid=1", 500, Refusal{Outcome: RefusedUnclassified, FaultClass: FaultCUDA, PatternID: "nvrm_xid"}},
	{"GPU off the bus", "NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus", 500,
		Refusal{Outcome: RefusedUnclassified, FaultClass: FaultGPULost, PatternID: "gpu_lost_xid79", Matches: []string{"gpu_lost_xid79", "nvrm_xid"}}},
	{"NCCL", "NCCL error: unhandled system error", 500, Refusal{Outcome: RefusedUnclassified, FaultClass: FaultNCCL, PatternID: "nccl_error"}},
	{"KV at start", "To serve at least one request with the models's max seq len (327680), (60.0 GiB KV cache is needed, which is larger than the available KV cache memory (50.0 GiB)", 500,
		Refusal{Outcome: RefusedUnclassified, FaultClass: FaultKVBoot, PatternID: "vllm_kv_boot", Numbers: Numbers{LimitOf: LimitKVPool, Asked: n(327680)}}},
	{"KV estimate", "the estimated maximum model length is 262144", 500,
		Refusal{Outcome: RefusedUnclassified, FaultClass: FaultKVBoot, PatternID: "vllm_kv_boot_estimate", Numbers: Numbers{LimitOf: LimitKVPool, Limit: n(262144)}}},
	{"KV at start, old", "The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in KV cache (20000).", 500,
		Refusal{Outcome: RefusedUnclassified, FaultClass: FaultKVBoot, PatternID: "vllm_kv_boot_old", Numbers: Numbers{LimitOf: LimitKVPool, Asked: n(32768), Limit: n(20000)}}},
	{"host memory", "Memory cgroup out of memory: Killed process 1", 500, Refusal{Outcome: RefusedUnclassified, FaultClass: FaultHostOOM, PatternID: "host_out_of_memory"}},
	{"model", "The model `x` does not exist.", 404, Refusal{Outcome: RefusedModel, PatternID: "model_not_found"}},
	{"Dynamo model", "Model not found", 404, Refusal{Outcome: RefusedModel, PatternID: "model_not_found"}},
	{"path", "Not Found", 404, Refusal{Outcome: RefusedUnclassified}},
	{"no worker", "no workers available", 503, Refusal{Outcome: NotReady, FaultClass: FaultEngineDead, PatternID: "dynamo_no_worker"}},
	{"loading", "Loading model", 503, Refusal{Outcome: NotReady, PatternID: "not_ready"}},
	{"starting", "Server is Starting", 503, Refusal{Outcome: NotReady, PatternID: "not_ready"}},
	{"proxy", "upstream connect error", 503, Refusal{Outcome: RefusedUnclassified}},
	{"bad field", "temperature must be non-negative", 400, Refusal{Outcome: RefusedBadRequest, PatternID: "status_400"}},
	{"bad field, validation", "field required", 422, Refusal{Outcome: RefusedBadRequest, PatternID: "status_422"}},
	{"rate", "Too many requests", 429, Refusal{Outcome: RefusedRateLimited, PatternID: "status_429"}},
	{"auth", "Unauthorized", 401, Refusal{Outcome: RefusedAuth, PatternID: "status_401"}},
	{"forbidden", "", 403, Refusal{Outcome: RefusedAuth, PatternID: "status_403"}},
	{"unknown", "something went wrong", 500, Refusal{Outcome: RefusedUnclassified}},
}

// envelopes are the shapes of engines.md section 4.1, with the text in place of
// TEXT and the status in place of 999.
var envelopes = map[string]string{
	"nested":  `{"error":{"message":TEXT,"type":"x","param":null,"code":999}}`,
	"flat":    `{"object":"error","message":TEXT,"type":"x","param":null,"code":999}`,
	"string":  `{"error":TEXT,"error_type":"x"}`,
	"FastAPI": `{"detail":TEXT}`,
	"list":    `{"detail":[{"loc":["body"],"msg":TEXT,"input":"CUDA out of memory"}]}`,
}

func TestClassifyReadsEveryTextInEveryEnvelope(t *testing.T) {
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want.Matches == nil && want.PatternID != "" && !strings.HasPrefix(want.PatternID, "status_") {
				want.Matches = []string{want.PatternID}
			}
			if diff := cmp.Diff(want, Classify(tt.status, []byte(tt.text))); diff != "" {
				t.Error("plain text (-want +got):\n", diff)
			}
			quoted, err := json.Marshal(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			for shape, body := range envelopes {
				body = strings.NewReplacer("TEXT", string(quoted), "999", strconv.FormatInt(tt.status, 10)).Replace(body)
				if diff := cmp.Diff(want, Classify(tt.status, []byte(body))); diff != "" {
					t.Errorf("%s (-want +got):\n%s", shape, diff)
				}
			}
		})
	}
}

func TestEveryPatternHasARow(t *testing.T) {
	used := map[string]bool{"bad_request": true} // by type only, tested below
	for _, tt := range refusals {
		used[tt.want.PatternID] = true
	}
	seen := map[string]bool{}
	for _, p := range patterns {
		if !used[p.id] {
			t.Errorf("pattern %s has no row", p.id)
		}
		if seen[p.id] {
			t.Errorf("pattern %s stands twice", p.id)
		}
		seen[p.id] = true
	}
}

func TestClassifyGoesByTypeBeforeText(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		status     int64
		outcome    string
		numbers    Numbers
	}{
		{"llama.cpp", `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing it","type":"exceed_context_size_error","n_prompt_tokens":40000,"n_ctx":32768}}`,
			400, RefusedContext, Numbers{LimitOf: LimitModelLength, Prompt: n(40000), Limit: n(32768)}},
		{"llama.cpp, new wording as 500", `{"error":{"code":500,"message":"words of tomorrow","type":"exceed_context_size_error","n_prompt_tokens":40000,"n_ctx":32768}}`,
			500, RefusedContext, Numbers{LimitOf: LimitModelLength, Prompt: n(40000), Limit: n(32768)}},
		{"llama.cpp in a 200 stream", `{"error":{"code":400,"message":"x","type":"exceed_context_size_error","n_prompt_tokens":40000,"n_ctx":32768}}`,
			200, RefusedContext, Numbers{LimitOf: LimitModelLength, Prompt: n(40000), Limit: n(32768)}},
		{"code as a text", `{"error":{"message":"too long","code":"context_length_exceeded"}}`, 400, RefusedContext, Numbers{LimitOf: LimitModelLength}},
		{"vLLM queue", `{"error":{"message":"busy","type":"QueueOverflowError","code":503}}`, 503, RefusedQueueFull, Numbers{}},
		{"TGI overload", `{"error":"busy","error_type":"overloaded"}`, 429, RefusedQueueFull, Numbers{}},
		{"vLLM model", `{"error":{"message":"nope","type":"NotFoundError","code":404}}`, 404, RefusedModel, Numbers{}},
		{"bad request in a 200 stream", `{"error":{"message":"nope","type":"BadRequestError","code":400}}`, 200, RefusedBadRequest, Numbers{}},
		{"status as a text in a 200 stream", `{"error":{"message":"nope","code":"429"}}`, 200, RefusedRateLimited, Numbers{}},
		{"TGI status in a 200 stream", `{"error":{"message":"nope","http_status_code":422}}`, 200, RefusedBadRequest, Numbers{}},
		{"server error in a 200 stream", `{"error":{"message":"nope","type":"InternalServerError","code":500}}`, 200, RefusedUnclassified, Numbers{}},
		{"loading", `{"error":{"code":503,"message":"wait","type":"unavailable_error"}}`, 503, NotReady, Numbers{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Classify(tt.status, []byte(tt.body))
			if got.Outcome != tt.outcome {
				t.Errorf("outcome %s (%s), want %s", got.Outcome, got.PatternID, tt.outcome)
			}
			if diff := cmp.Diff(tt.numbers, got.Numbers); diff != "" {
				t.Error("numbers (-want +got):\n", diff)
			}
		})
	}
}

func TestClassifyNeverGoesByEchoedInput(t *testing.T) {
	got := Classify(422, []byte(`{"detail":[{"msg":"bad value","input":"EngineCore encountered an issue"}]}`))
	if got.Outcome != RefusedBadRequest || got.FaultClass != "" {
		t.Errorf("= %s, fault %q: the request's own text was classified", got.Outcome, got.FaultClass)
	}
}

func TestClassifyTakesTheGravestAndKeepsAll(t *testing.T) {
	got := Classify(500, []byte("EngineCore encountered an issue: CUDA out of memory; The request queue is full."))
	want := []string{"cuda_out_of_memory", "vllm_engine_dead", "sglang_queue_full"}
	if diff := cmp.Diff(want, got.Matches); diff != "" || got.FaultClass != FaultGPUOOM {
		t.Errorf("fault %s, matches (-want +got):\n%s", got.FaultClass, diff)
	}
}

func TestClassifyLeavesOutNumbersThatDoNotFit(t *testing.T) {
	got := Classify(400, []byte("The input (99999999999999999999 tokens) is longer than the model's context length (40960 tokens)."))
	if got.Numbers.Prompt != nil || got.Numbers.Limit == nil || *got.Numbers.Limit != 40960 {
		t.Errorf("numbers = %+v", got.Numbers)
	}
}

// hostileBodies grow without end; each is one unit and how often it stands in a
// body, between a head and a tail.
var hostileBodies = map[string][3]string{
	"a long message":          {`{"error":{"message":"`, "word ", `"}}`},
	"a message of escapes":    {`{"error":{"message":"`, `\u00e9`, `"}}`},
	"a message of bad bytes":  {`{"error":{"message":"`, "\xff", `"}}`},
	"an error text":           {`{"error":"`, "\xff\\n", `"}`},
	"a long type":             {`{"type":"`, "a", `","message":"x"}`},
	"many members":            {`{`, `"a":1,`, `"z":1}`},
	"one member many times":   {`{`, `"error":{"message":"x"},`, `"z":1}`},
	"a code many times":       {`{`, `"code":"a",`, `"z":1}`},
	"a msg many times":        {`{"detail":[{`, `"msg":"a",`, `"z":1}]}`},
	"many details":            {`{"detail":[`, `{"msg":"x"},`, `{}]}`},
	"many empty details":      {`{"detail":[`, `{},`, `{}]}`},
	"an echoed prompt":        {`{"detail":[{"msg":"too long","input":"`, "word ", `"}]}`},
	"deep nesting":            {`{"error":`, `[`, `]`},
	"plain text":              {``, "CUDA out of ", `memory`},
	"bytes":                   {``, "\xff\x00", ``},
	"a number of many digits": {`{"code":`, "9", `}`},
}

func TestClassifyMemoryIsBoundedByItsInput(t *testing.T) {
	for name, body := range hostileBodies {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1 << 10, 1 << 18} {
				checkMemory(t, 400, []byte(body[0]+strings.Repeat(body[1], size/len(body[1]))+body[2]))
			}
		})
	}
}

// checkMemory classifies and fails when that took more than three times the
// body and a mebibyte. What was allocated in all is never below the peak.
func checkMemory(t *testing.T, status int64, body []byte) Refusal {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := Classify(status, body)
	runtime.ReadMemStats(&after)
	if grown, bound := after.TotalAlloc-before.TotalAlloc, uint64(3*len(body)+1<<20); grown > bound {
		t.Errorf("allocated %d bytes for %d, bound %d", grown, len(body), bound)
	}
	return got
}

// checkGoroutines fails when a goroutine started by this module is left. The
// fuzzer's own come and go, so that a number alone says nothing.
func checkGoroutines(t *testing.T, before int) {
	t.Helper()
	if runtime.NumGoroutine() <= before {
		return
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if strings.Contains(string(stacks), "created by assay/") {
		t.Errorf("a goroutine is left:\n%s", stacks)
	}
}

func TestClassifyFindsTheReasonInALongBody(t *testing.T) {
	long := strings.Repeat("word ", 40_000)
	for name, tt := range map[string]struct{ body, outcome string }{
		"echoed prompt":       {`{"detail":[{"loc":["body"],"input":"` + long + `","msg":"maximum context length is 10 tokens"}]}`, RefusedContext},
		"reason first":        {`{"error":{"message":"The request queue is full. ` + long + `"}}`, RefusedQueueFull},
		"cut inside escapes":  {`{"error":{"message":"The request queue is full. ` + strings.Repeat(`\u00e9`, 20_000) + `"}}`, RefusedQueueFull},
		"one short cut":       {`{"error":{"message":"The request queue is full.` + strings.Repeat(`\\`, 40_000) + `"}}`, RefusedQueueFull},
		"plain text":          {"The request queue is full. " + long, RefusedQueueFull},
		"in the echoed input": {`{"detail":[{"msg":"bad","input":"The request queue is full. ` + long + `"}]}`, RefusedBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Classify(400, []byte(tt.body)); got.Outcome != tt.outcome {
				t.Errorf("outcome %s (%s), want %s", got.Outcome, got.PatternID, tt.outcome)
			}
		})
	}
}

// FuzzClassify holds that every body gets an outcome of the list, that stated
// numbers are not negative, and the bound of memory.
func FuzzClassify(f *testing.F) {
	for _, tt := range refusals {
		f.Add(tt.status, []byte(tt.text))
	}
	for _, body := range envelopes {
		f.Add(int64(400), []byte(body))
	}
	for _, body := range hostileBodies {
		f.Add(int64(400), []byte(body[0]+strings.Repeat(body[1], 50)+body[2]))
	}
	outcomes := []string{RefusedContext, RefusedKVPool, RefusedQueueFull, RefusedRateLimited, RefusedAuth, RefusedModel, RefusedBadRequest, RefusedUnclassified, NotReady}
	f.Fuzz(func(t *testing.T, status int64, body []byte) {
		before := runtime.NumGoroutine()
		got := checkMemory(t, status, body)
		checkGoroutines(t, before)
		if !slices.Contains(outcomes, got.Outcome) {
			t.Errorf("outcome %q is not on the list", got.Outcome)
		}
		for _, n := range []*int64{got.Numbers.Limit, got.Numbers.Asked, got.Numbers.Prompt, got.Numbers.Output} {
			if n != nil && *n < 0 {
				t.Errorf("a count of %d", *n)
			}
		}
	})
}
