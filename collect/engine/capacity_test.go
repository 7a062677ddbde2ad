package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/collect/record"
)

func answerOf(path string, status int64, body string) record.Answer {
	a := record.Answer{Path: path, HTTPStatus: &status, Body: []byte(body)}
	if status != 200 {
		a.Error = fmt.Sprint("http_", status)
	}
	return a
}

// told writes reports as "fact value unit confidence".
func told(reports []Report) []string {
	var all []string
	for _, r := range reports {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Fact, r.Value, r.Unit, r.Confidence)))
	}
	return all
}

func TestAnswerReports(t *testing.T) {
	tests := []struct {
		name   string
		answer record.Answer
		want   []string
	}{
		{"SGLang", answerOf(PathServerInfo, 200, `{"max_total_num_tokens":393216,"context_length":262144,"max_running_requests":48,"version":"0.5.18","internal_states":[{"effective_max_running_requests_per_dp":10},{"effective_max_running_requests_per_dp":12}]}`),
			[]string{"answer 200", "kv_pool_tokens 393216 tokens reported", "max_model_len 262144 tokens reported", "max_num_seqs 48 requests configured", "max_num_seqs 22 requests reported", "engine_build 0.5.18  reported"}},
		{"SGLang, a rank that does not say", answerOf(PathServerInfo, 200, `{"max_running_requests":48,"internal_states":[{"effective_max_running_requests_per_dp":10},{}]}`),
			[]string{"answer 200", "max_num_seqs 48 requests configured"}},
		{"vLLM", answerOf(PathServerInfo, 200, `{"vllm_config":{"scheduler_config":{"max_num_seqs":4},"model_config":{"max_model_len":327680}},"vllm_env":{}}`),
			[]string{"answer 200", "max_num_seqs 4 requests configured", "max_model_len 327680 tokens reported"}},
		{"llama.cpp", answerOf(PathProps, 200, `{"total_slots":4,"default_generation_settings":{"n_ctx":8192},"build_info":"b5500"}`),
			[]string{"answer 200", "max_num_seqs 4 requests reported", "max_model_len 8192 tokens reported", "kv_pool_tokens 32768 tokens derived", "engine_build b5500  reported"}},
		{"llama.cpp model list", answerOf("/v1/models", 200, `{"data":[{"id":"m","owned_by":"llamacpp","meta":{"size":4683072}}]}`),
			[]string{"answer 200", "weights_bytes 4683072 bytes reported"}},
		{"TGI", answerOf(PathInfo, 200, `{"max_concurrent_requests":128,"max_total_tokens":4096,"sha":"abc","version":"3"}`),
			[]string{"answer 200", "max_model_len 4096 tokens reported", "engine_build abc  reported"}},
		{"not there", answerOf(PathProps, 404, `{"detail":"Not Found"}`), []string{"answer 404"}},
		{"no answer", record.Answer{Path: PathInfo, Error: ErrConnect}, []string{"answer connect_failed"}},
		{"HTML", answerOf(PathServerInfo, 200, "<html>"), []string{"answer 200"}},
		{"numbers that are none", answerOf(PathProps, 200, `{"total_slots":"4","default_generation_settings":{"n_ctx":-1}}`), []string{"answer 200"}},
		{"a product beyond 64 bits", answerOf(PathProps, 200, `{"total_slots":9223372036854775807,"default_generation_settings":{"n_ctx":9223372036854775807}}`),
			[]string{"answer 200", "max_num_seqs 9223372036854775807 requests reported", "max_model_len 9223372036854775807 tokens reported"}},
		{"argv", record.Answer{Path: SourceArgv, Body: KeepArgv(strings.Fields("serve /models/x --api-key sk-1 --max-num-seqs 8 --max-model-len=65536 --max-num-seqs 4 --port 1 --context-length 32k"))},
			[]string{"answer read", "max_model_len 65536 tokens configured", "max_num_seqs 4 requests configured"}},
		{"another path", answerOf("/health", 200, ""), []string{"answer 200"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, told(AnswerReports(test.answer))); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// Neither a key nor an environment gets into a file with the settings of an engine.
func TestWhatIsKeptOfSettingsHoldsNoSecret(t *testing.T) {
	body := `{"api_key":"sk-1","max_running_requests":48,"vllm_env":{"HF_TOKEN":"hf_1","VERSION":"x"},"nested":{"admin_api_key":"sk-2","max_num_seqs":4,"list":[{"token":"t"},{"weight":1.50}]}}`
	want := `{"max_running_requests":48,"nested":{"list":[{},{"weight":1.50}],"max_num_seqs":4}}`
	if got := string(KeepSettings([]byte(body))); got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
	if got := KeepSettings([]byte("api_key=sk-1")); got != nil {
		t.Errorf("kept %s of a body that is no JSON", got)
	}
	if got := string(KeepArgv([]string{"--api-key", "sk-1", "--model", "/private/x", "--max-num-seqs", "4"})); got != `["--max-num-seqs","4"]` {
		t.Errorf("kept %s of a command line", got)
	}
}

func TestFingerprint(t *testing.T) {
	page := func(text string) Page {
		p, _ := ParsePage([]byte(text))
		return p
	}
	tests := []struct {
		name    string
		answers []record.Answer
		page    Page
		want    string
	}{
		{"owner", []record.Answer{answerOf("/v1/models", 200, `{"data":[{"id":"m","owned_by":"SGLang"}]}`)}, page("vllm:x 1\n"), "sglang /v1/models owned_by"},
		{"owner nobody knows", []record.Answer{answerOf("/v1/models", 200, `{"data":[{"id":"m","owned_by":"me"}]}`)}, page("vllm:x 1\n"), "vllm /metrics vllm:"},
		{"frontend before its backend", nil, page("vllm:x 1\ndynamo_frontend_requests_total 1\n"), "dynamo /metrics dynamo_frontend_"},
		{"a path", []record.Answer{answerOf(PathProps, 200, `{"total_slots":1}`)}, Page{}, "llamacpp /props"},
		{"a path that is not there", []record.Answer{answerOf(PathProps, 404, `{"total_slots":1}`)}, Page{}, " "},
		{"nothing", nil, page("process_start_time_seconds 1\n"), " "},
	}
	for _, test := range tests {
		r, ok := Fingerprint(test.answers, test.page)
		if got := r.Value + " " + r.Source; got != test.want || ok != (test.want != " ") {
			t.Errorf("%s: %q (%v), want %q", test.name, got, ok, test.want)
		}
	}
}

func TestLogReports(t *testing.T) {
	tests := []struct{ name, log, want string }{
		{"vLLM", `INFO 10-17 (EngineCore_DP0 pid=12) Model loading took 33.5 GiB memory and 41.2 seconds
INFO (EngineCore_DP0 pid=12) Available KV cache memory: 20.5 GiB
INFO (EngineCore_DP0 pid=12) GPU KV cache size: 393,216 tokens, Maximum concurrency for 327,680 tokens per request: 1.20x
INFO (APIServer pid=1) non-default args: {'model': 'm', 'api_key': ['sk-1'], 'max_num_seqs': 4}
INFO something else`,
			"weights_bytes 35970351104 bytes logged; kv_bytes 22011707392 bytes logged; kv_pool_tokens 393216 tokens logged; max_model_len 327680 tokens logged; max_num_seqs 4 requests configured"},
		{"two data-parallel ranks, one of them started twice", `(EngineCore_DP0 pid=12) GPU KV cache size: 1,000 tokens
(EngineCore_DP1 pid=13) GPU KV cache size: 2,000 tokens
(EngineCore_DP0 pid=99) GPU KV cache size: 1,500 tokens`, "kv_pool_tokens 3500 tokens logged"},
		{"a failed start", `(EngineCore pid=1) Available KV cache memory: -1.5 GiB`, ""},
		{"SGLang, two ranks of two copies, capped", `[2026-10-17 10:00:00 DP0 TP0] max_total_num_tokens=100000, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=48, context_len=262144, available_gpu_mem=3.1 GB
[2026-10-17 10:00:00 DP0 TP1] max_total_num_tokens=100000, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=48, context_len=262144
[2026-10-17 10:00:00 DP1 TP2] max_total_num_tokens=90000, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=48, context_len=262144
[2026-10-17 10:00:00 DP0 TP0] max_running_requests is capped to 10 by the state cache
[2026-10-17 10:00:00 DP1 TP2] max_running_requests is capped to 12 by the state cache
[2026-10-17 10:00:00 DP0 TP0] Load weight end. type=X, dtype=Y, avail mem=10.00 GB, mem usage=30.5 GB
[2026-10-17 10:00:00 DP0 TP1] Load weight end. type=X, dtype=Y, avail mem=10.00 GB, mem usage=30.5 GB`,
			"kv_pool_tokens 190000 tokens logged; max_num_seqs 96 requests logged; max_model_len 262144 tokens logged; max_num_seqs 22 requests logged; weights_bytes 61 GB logged"},
		{"llama.cpp", `load_tensors:  CUDA0 model buffer size =  1024.00 MiB
load_tensors:    CPU model buffer size =   512.00 MiB
llama_kv_cache: size =  256.00 MiB (  8192 cells,  32 layers,  1/1 seqs), K (f16):  128.00 MiB, V (f16):  128.00 MiB`,
			"weights_bytes 1610612736 bytes logged; kv_bytes 268435456 bytes logged; kv_pool_tokens 8192 tokens logged"},
		{"llama.cpp with a window", `llama_kv_cache: size =  256.00 MiB (  8192 cells,  32 layers,  1/1 seqs)
llama_kv_cache: size =   16.00 MiB (  1024 cells,  32 layers,  1/1 seqs)`, "kv_bytes 285212672 bytes logged"},
		{"TGI", "Inferred max batch total tokens: 65536", "kv_pool_tokens 65536 tokens logged"},
		{"TensorRT-LLM", "Allocated 20.00 GiB for max tokens in paged KV cache (180224).", "kv_bytes 21474836480 bytes logged; kv_pool_tokens 180224 tokens logged"},
	}
	for _, test := range tests {
		var kept []string
		for line := range strings.Lines(test.log) {
			if k, _, ok := MatchLog([]byte(line)); ok {
				kept = append(kept, string(k))
			}
		}
		if got := strings.Join(told(LogReports([]byte(strings.Join(kept, "")))), "; "); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

func TestLogLinesAreKeptWithoutKeysAndNoOthers(t *testing.T) {
	for _, test := range []struct {
		line, kept string
		boot       bool
	}{
		{"non-default args: {'api_key': ['sk-1', 'sk-2'], 'hf_token': 'hf_1', 'max_num_seqs': 4}", "non-default args: {'api_key': [REDACTED], 'hf_token': [REDACTED], 'max_num_seqs': 4}", true},
		{"Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s", "Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s", false},
		{"Received request chatcmpl-1: prompt: 'secret text'", "", false},
		{"", "", false},
	} {
		kept, boot, ok := MatchLog([]byte(test.line))
		if string(kept) != test.kept || boot != test.boot || ok != (test.kept != "") {
			t.Errorf("%q: kept %q (boot %v), want %q (boot %v)", test.line, kept, boot, test.kept, test.boot)
		}
	}
}
