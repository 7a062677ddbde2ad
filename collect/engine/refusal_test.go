package engine

import (
	"encoding/json"
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
		Refusal{Outcome: RefusedContext, PatternID: "vllm_context_2025", Numbers: Numbers{Limit: n(327680), Asked: n(327681), Prompt: n(311297), Output: n(16384)}}},
	{"vLLM early 2026", "You passed 311297 input tokens and requested 16384 output tokens. However, the model's context length is only 327680 tokens", 400,
		Refusal{Outcome: RefusedContext, PatternID: "vllm_context_passed", Numbers: Numbers{Limit: n(327680), Prompt: n(311297), Output: n(16384)}}},
	{"vLLM current", "This model's maximum context length is 327680 tokens. However, you requested 16384 output tokens and your prompt contains at least 311297 input tokens, for a total of at least 327681 tokens. (parameter=input_tokens, value=311297)", 400,
		Refusal{Outcome: RefusedContext, PatternID: "vllm_context_at_least", Numbers: Numbers{Limit: n(327680), Asked: n(327681), Prompt: n(311297), Output: n(16384), AtLeast: true}}},
	{"vLLM decoder prompt", "The decoder prompt (length 40000) is longer than the maximum model length of 32768.", 400,
		Refusal{Outcome: RefusedContext, PatternID: "vllm_max_model_len", Numbers: Numbers{Limit: n(32768)}}},
	{"vLLM max_model_len", "max_tokens cannot be greater than max_model_len", 400, Refusal{Outcome: RefusedContext, PatternID: "vllm_max_model_len"}},
	{"vLLM negative rest", "max_tokens must be at least 1, got -186.", 400, Refusal{Outcome: RefusedContext, PatternID: "vllm_max_tokens_negative"}},
	{"SGLang input", "The input (61709 tokens) is longer than the model's context length (40960 tokens).", 400,
		Refusal{Outcome: RefusedContext, PatternID: "sglang_context_input", Numbers: Numbers{Limit: n(40960), Prompt: n(61709)}}},
	{"SGLang total, on equality", "Requested token count exceeds the model's maximum context length of 40960 tokens. You requested a total of 40960 tokens: 24576 tokens from the input messages and 16384 tokens for the completion.", 400,
		Refusal{Outcome: RefusedContext, PatternID: "sglang_context_total", Numbers: Numbers{Limit: n(40960), Asked: n(40960), Prompt: n(24576), Output: n(16384)}}},
	{"SGLang KV pool", "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).", 400,
		Refusal{Outcome: RefusedKVPool, PatternID: "sglang_kv_pool_input", Numbers: Numbers{Limit: n(59862), Prompt: n(160062)}}},
	{"SGLang pool exhausted", "Decode out of memory. Try to lower your batch size.", 500, Refusal{Outcome: RefusedKVPool, PatternID: "sglang_kv_pool_exhausted"}},
	{"LMDeploy pool", "cache out of memory, no request can be admitted", 500, Refusal{Outcome: RefusedKVPool, PatternID: "lmdeploy_kv_pool"}},
	{"llama.cpp message", "request (40000 tokens) exceeds the available context size (32768 tokens), try increasing it", 500,
		Refusal{Outcome: RefusedContext, PatternID: "llamacpp_context", Numbers: Numbers{Limit: n(32768), Prompt: n(40000)}}},
	{"TensorRT-LLM batch tokens", "The sum of prompt length (9351.0), query length (0) should not exceed max_num_tokens (8192)", 400,
		Refusal{Outcome: RefusedContext, PatternID: "tensorrt_llm_max_num_tokens", Numbers: Numbers{Limit: n(8192), Prompt: n(9351)}}},
	{"TensorRT-LLM input", "Prompt length (200) exceeds maximum input length (1)", 400,
		Refusal{Outcome: RefusedContext, PatternID: "tensorrt_llm_max_input", Numbers: Numbers{Limit: n(1), Prompt: n(200)}}},
	{"TensorRT-LLM sequence", "prompt and output exceeds maximum sequence length (2048)", 400,
		Refusal{Outcome: RefusedContext, PatternID: "tensorrt_llm_max_seq_len", Numbers: Numbers{Limit: n(2048)}}},
	{"TGI context", "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3000 `inputs` tokens and 2000 `max_new_tokens`", 422,
		Refusal{Outcome: RefusedContext, PatternID: "tgi_context", Numbers: Numbers{Limit: n(4096), Prompt: n(3000), Output: n(2000)}}},
	{"LMDeploy context", "Input length (9000) must be smaller than the model context length (8192)", 400,
		Refusal{Outcome: RefusedContext, PatternID: "lmdeploy_context", Numbers: Numbers{Limit: n(8192), Prompt: n(9000)}}},
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
		Refusal{Outcome: RefusedUnclassified, FaultClass: FaultKVBoot, PatternID: "vllm_kv_boot", Numbers: Numbers{Asked: n(327680)}}},
	{"KV estimate", "the estimated maximum model length is 262144", 500,
		Refusal{Outcome: RefusedUnclassified, FaultClass: FaultKVBoot, PatternID: "vllm_kv_boot_estimate", Numbers: Numbers{Limit: n(262144)}}},
	{"KV at start, old", "The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in KV cache (20000).", 500,
		Refusal{Outcome: RefusedUnclassified, FaultClass: FaultKVBoot, PatternID: "vllm_kv_boot_old", Numbers: Numbers{Asked: n(32768), Limit: n(20000)}}},
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
			400, RefusedContext, Numbers{Prompt: n(40000), Limit: n(32768)}},
		{"llama.cpp, new wording as 500", `{"error":{"code":500,"message":"words of tomorrow","type":"exceed_context_size_error","n_prompt_tokens":40000,"n_ctx":32768}}`,
			500, RefusedContext, Numbers{Prompt: n(40000), Limit: n(32768)}},
		{"llama.cpp in a 200 stream", `{"error":{"code":400,"message":"x","type":"exceed_context_size_error","n_prompt_tokens":40000,"n_ctx":32768}}`,
			200, RefusedContext, Numbers{Prompt: n(40000), Limit: n(32768)}},
		{"code as a text", `{"error":{"message":"too long","code":"context_length_exceeded"}}`, 400, RefusedContext, Numbers{}},
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

func FuzzClassify(f *testing.F) {
	for _, tt := range refusals {
		f.Add(tt.status, []byte(tt.text))
	}
	for _, body := range envelopes {
		f.Add(int64(400), []byte(body))
	}
	outcomes := []string{RefusedContext, RefusedKVPool, RefusedQueueFull, RefusedRateLimited, RefusedAuth, RefusedModel, RefusedBadRequest, RefusedUnclassified, NotReady}
	f.Fuzz(func(t *testing.T, status int64, body []byte) {
		got := Classify(status, body)
		for _, o := range outcomes {
			if got.Outcome == o {
				return
			}
		}
		t.Errorf("outcome %q is not on the list", got.Outcome)
	})
}
