package simengine

import (
	"fmt"
	"io"
	"net/http"
)

// canned is an answer in place of a stream.
type canned struct {
	status            int
	contentType, body string
	header            [2]string // one more header; no name for none
}

// write sends the answer.
func (r *canned) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", r.contentType)
	if r.header[0] != "" {
		w.Header().Set(r.header[0], r.header[1])
	}
	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, r.body) // a client that has left needs no answer
}

// always gives every request the same reply.
func always(r canned) func(*job, int64) *canned {
	return func(*job, int64) *canned { return &r }
}

// refuse is an error answer in JSON, the same for every request.
func refuse(status int, body string) func(*job, int64) *canned {
	return always(canned{status: status, contentType: "application/json", body: body})
}

// nested and flat are the two envelopes of most engines.
func nested(status int, kind, message string) string {
	return fmt.Sprintf(`{"error":{"message":%s,"type":"%s","param":null,"code":%d}}`, quoted(message), kind, status)
}

func flat(status int, kind, message string) string {
	return fmt.Sprintf(`{"object":"error","message":%s,"type":"%s","param":null,"code":%d}`, quoted(message), kind, status)
}

// Errors that come in streams as well.
const (
	llamaCppContext = `{"error":{"code":400,"message":"request (40000 tokens) exceeds the available context size (32768 tokens), try increasing it",` +
		`"type":"exceed_context_size_error","n_prompt_tokens":40000,"n_ctx":32768}}`
	sglangQueueFull = `{"error":{"object":"error","message":"The request queue is full.","type":"503","param":null,"code":503}}`
)

// replyFaults answer in place of a stream, with the texts and the numbers of
// the field cases.
var replyFaults = []FaultKind{
	{Name: "kv_refusal", reply: kvRefusal,
		Description: "status 400: the prompt is longer than the KV pool allows"},
	{Name: "context_limit", Cases: "B12", Default: 32768, reply: contextLimit,
		Description: "prompt and output of more than N tokens are refused in vLLM's words, the others run"},
	{Name: "rate_limited", Cases: "B01", reply: always(canned{429, "application/json", nested(429, "rate_limit_error", "Too many requests"), [2]string{"Retry-After", "5"}}),
		Description: "status 429 with Retry-After, as a proxy answers"},
	{Name: "overloaded", Cases: "B01", reply: always(canned{503, "text/plain", "upstream connect error or disconnect", [2]string{"Retry-After", "5"}}),
		Description: "status 503 with Retry-After and a proxy's text"},
	{Name: "redirect", reply: always(canned{307, "text/plain", "", [2]string{"Location", "/v1/chat/completions"}}),
		Description: "status 307 to the same place"},
	{Name: "html_answer", Cases: "A32", reply: always(canned{status: 200, contentType: "text/html", body: "<html><body>It works</body></html>"}),
		Description: "status 200 with a web page"},
	{Name: "json_answer", Cases: "A32", reply: always(canned{status: 200, contentType: "application/json", body: `{"id":"c","object":"chat.completion","choices":[{"index":0,` +
		`"message":{"role":"assistant","content":"Four"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}`}),
		Description: "status 200 with a whole completion in JSON instead of a stream"},
	{Name: "error_200", Cases: "B10", reply: refuse(200, llamaCppContext),
		Description: "status 200 with an error object in JSON"},
	{Name: "unauthorized", Cases: "B15", reply: refuse(401, `{"error":"Unauthorized"}`),
		Description: "status 401"},
	{Name: "forbidden", Cases: "B15", reply: refuse(403, `{"detail":"Forbidden"}`),
		Description: "status 403"},
	{Name: "not_found", reply: refuse(404, `{"detail":"Not Found"}`),
		Description: "status 404 of a wrong path"},
	{Name: "model_not_found", reply: refuse(404, nested(404, "NotFoundError", "The model `m` does not exist.")),
		Description: "status 404 of a model that is not served"},
	{Name: "bad_request", reply: refuse(422, `{"detail":[{"loc":["body","temperature"],"msg":"field required","input":"CUDA out of memory"}]}`),
		Description: "status 422 of a validation, with the request's text in it"},
	{Name: "loading", reply: refuse(503, nested(503, "unavailable_error", "Loading model")),
		Description: "status 503: the model is still being loaded"},
	{Name: "unknown_error", reply: refuse(500, nested(500, "InternalServerError", "something went wrong")),
		Description: "status 500 with a text that says nothing"},

	{Name: "vllm_context_2025", Cases: "B08", reply: refuse(400, nested(400, "BadRequestError",
		"This model's maximum context length is 327680 tokens. However, you requested 327681 tokens (311297 in the messages, 16384 in the completion). Please reduce the length of the messages or completion.")),
		Description: "vLLM's refusal of the context until 2025"},
	{Name: "vllm_context_flat", Cases: "B08", reply: refuse(400, flat(400, "BadRequestError",
		"This model's maximum context length is 327680 tokens. However, you requested 327681 tokens (311297 in the messages, 16384 in the completion). Please reduce the length of the messages or completion.")),
		Description: "the same in the older envelope"},
	{Name: "vllm_context_at_least", Cases: "B08", reply: refuse(400, nested(400, "BadRequestError",
		"This model's maximum context length is 327680 tokens. However, you requested 16384 output tokens and your prompt contains at least 311297 input tokens, for a total of at least 327681 tokens. (parameter=input_tokens, value=311297)")),
		Description: "vLLM's present refusal, which states lower bounds"},
	{Name: "vllm_context_passed", Cases: "B08", reply: refuse(400, nested(400, "BadRequestError",
		"You passed 311297 input tokens and requested 16384 output tokens. However, the model's context length is only 327680 tokens, resulting in a maximum input length of 311296 tokens.")),
		Description: "vLLM's refusal of early 2026"},
	{Name: "vllm_max_tokens", Cases: "B08", reply: refuse(400, nested(400, "BadRequestError", "max_tokens must be at least 1, got -186.")),
		Description: "vLLM's refusal when a prompt leaves no room: it states no numbers"},
	{Name: "sglang_context", Cases: "B09", reply: refuse(400, flat(400, "BadRequestError",
		"The input (61709 tokens) is longer than the model's context length (40960 tokens).")),
		Description: "SGLang's refusal of a prompt"},
	{Name: "sglang_kv_pool", Cases: "B09", reply: refuse(400, flat(400, "BadRequestError",
		"Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input or enable --allow-auto-truncate.")),
		Description: "SGLang's refusal for want of KV, not of context"},
	{Name: "sglang_equality", Cases: "B09", reply: refuse(400, flat(400, "BadRequestError",
		"Requested token count exceeds the model's maximum context length of 40960 tokens. You requested a total of 40960 tokens: 24576 tokens from the input messages and 16384 tokens for the completion.")),
		Description: "SGLang's refusal of a total that equals the limit"},
	{Name: "sglang_queue_full", reply: refuse(503, flat(503, "503", "The request queue is full.")),
		Description: "SGLang's full queue"},
	{Name: "llamacpp_context", Cases: "B10", reply: refuse(400, `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift",`+
		`"type":"exceed_context_size_error","n_prompt_tokens":40000,"n_ctx":32768}}`),
		Description: "llama.cpp's refusal, its numbers beside the text"},
	{Name: "llamacpp_context_500", Cases: "B10", reply: refuse(500, `{"error":{"code":500,"message":"the request exceeds the available context size. try increasing it","type":"server_error"}}`),
		Description: "llama.cpp's older refusal under status 500, without numbers"},
	{Name: "llamacpp_context_message", Cases: "B10", reply: refuse(400, llamaCppContext),
		Description: "llama.cpp's newer refusal, its numbers in the text"},
	{Name: "tensorrt_llm_batch_tokens", Cases: "B11", reply: refuse(400, flat(400, "BadRequestError",
		"The sum of prompt length (9351.0), query length (0) should not exceed max_num_tokens (8192)")),
		Description: "TensorRT-LLM's limit on the tokens of a batch, a setting"},
	{Name: "tensorrt_llm_input", Cases: "B11", reply: refuse(400, flat(400, "BadRequestError", "Prompt length (200) exceeds maximum input length (1)")),
		Description: "TensorRT-LLM's limit on the prompt"},
	{Name: "tensorrt_llm_sequence", Cases: "B11", reply: refuse(400, flat(400, "BadRequestError", "Prompt length (5056) exceeds maximum sequence length (2048)")),
		Description: "TensorRT-LLM's limit on the sequence"},
	{Name: "tgi_context", reply: refuse(422, `{"error":"Input validation error: `+"`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3000 `inputs` tokens and 2000 `max_new_tokens`"+`","error_type":"validation"}`),
		Description: "TGI's refusal of the context"},
	{Name: "tgi_overloaded", reply: refuse(429, `{"error":"Model is overloaded","error_type":"overloaded"}`),
		Description: "TGI's full queue"},
	{Name: "lmdeploy_context", reply: refuse(400, nested(400, "context_length_exceeded", "Input length (9000) must be smaller than the model context length (8192)")),
		Description: "LMDeploy's refusal of the context"},
	{Name: "dynamo_overload", reply: refuse(529, `{"message":"Service temporarily overloaded","type":"overload","code":529}`),
		Description: "Dynamo's full queue"},
	{Name: "vllm_engine_dead", Cases: "B19", reply: refuse(500, nested(500, "InternalServerError", "EngineCore encountered an issue. See stack trace (above) for the root cause.")),
		Description: "vLLM's answer when its engine process has died"},
	{Name: "gpu_out_of_memory", reply: refuse(500, nested(500, "InternalServerError", "CUDA out of memory. Tried to allocate 2.00 GiB.")),
		Description: "the GPU has no memory left"},
}

// kvRefusal refuses a prompt as too long for the pool, in SGLang's sentence:
// vLLM has none, it lets such a request wait.
func kvRefusal(j *job, _ int64) *canned {
	return &canned{status: http.StatusBadRequest, contentType: "application/json", body: nested(http.StatusBadRequest, "BadRequestError",
		fmt.Sprintf("Input length (%d tokens) exceeds the maximum allowed length (%d tokens).", j.promptTokens, j.promptTokens-1))}
}

// contextLimit refuses what needs more than n tokens.
func contextLimit(j *job, n int64) *canned {
	refusal := overLimit(n, j.promptTokens, j.maxTokens)
	if refusal == nil {
		return nil
	}
	return &canned{status: refusal.status, contentType: "application/json", body: nested(refusal.status, refusal.kind, refusal.message)}
}
