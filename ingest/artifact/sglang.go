package artifact

import "strings"

// SGLang's bench_serving: one run a line; arrays with --output-details
// (formats.md section E2).

const toolSGLang = "sglang-bench"

func isSGLang(v value) (is bool, version string, read bool) {
	f := pick(v, "", &notes{}, "num_prompts", "backend", "duration", "completed", "total_output_tokens_retokenized", "mean_e2e_latency_ms")
	is = !f.has("num_prompts") && f.has("backend") && f.has("duration") && f.has("completed") &&
		(f.has("total_output_tokens_retokenized") || f.has("mean_e2e_latency_ms"))
	return is, "", true // the file names no version; the set of members varies and unknown ones are kept
}

func loadSGLang(d *document, o *output) { loadServing(d, o, &sglang) }

var sglang = servingTool{
	tool: toolSGLang, requests: "num_prompts",
	scalars: []string{"cached_tokens", "cached_tokens_details", "total_input_tokens", "total_output_tokens", "total_output_tokens_retokenized"},
	metrics: map[string]string{"ttft": "t_first_any", "tpot": "tpot", "itl": "inter_chunk_gap", "e2e_latency": "e2e"},
	totals: map[string]total{
		"total_input_tokens":              {"prompt_tokens", "sum", "tokens", sumPassing("input_lens")},
		"total_output_tokens":             {"completion_tokens", "sum", "tokens", sumPassing("output_lens")},
		"total_output_tokens_retokenized": {"completion_tokens", "sum_retokenized", "tokens", notInRows("the rows keep no retokenized lengths")},
		"total_input_text_tokens":         {"prompt_text_tokens", "sum", "tokens", notInRows("the rows do not tell text from images")},
		"total_input_vision_tokens":       {"prompt_vision_tokens", "sum", "tokens", notInRows("the rows do not tell text from images")},
		"request_throughput":              {"request_throughput", "rate", "requests/s", perSecond("completed")},
		"input_throughput":                {"prompt_throughput", "rate", "tokens/s", perSecond("total_input_tokens")},
		"output_throughput":               {"completion_throughput", "rate", "tokens/s", perSecond("total_output_tokens")},
		"total_throughput":                {"total_throughput", "rate", "tokens/s", perSecond("total_input_tokens", "total_output_tokens")},
		"concurrency":                     {"concurrency", "mean", "requests", notInRows("the rows have no end-to-end time")},
		"accept_length":                   {"spec_decode_acceptance", "length", "tokens", notInRows(fromEngine)},
		"max_output_tokens_per_s":         {"completion_throughput", "max", "tokens/s", notInRows("the rows have no common clock")},
		"max_concurrent_requests":         {"concurrency", "max", "requests", notInRows("the rows have no common clock")},
	},
	fill: func(s *serving) {
		// What a gap is hangs on the backend, so it is part of the protocol.
		s.row.Protocol, s.row.ProtocolBasis = toolSGLang+"/"+orWord(s.row.Engine, "unknown"), "fields"
		if s.row.Requests == nil && s.rows {
			s.row.Requests = ptr(int64(s.n))
		}
	},
	row: func(s *serving, r *Request) {
		if r.OutputTokens == nil {
			return
		}
		// Without usage the tool puts the length it asked for.
		r.TokenSource = "assumed"
		total, again := s.top.count("total_output_tokens"), s.top.count("total_output_tokens_retokenized")
		if total != nil && again != nil && *total == *again {
			r.TokenSource = "confirmed_by_retokenizing"
		}
		if r.E2EBasis == "reconstructed" && strings.HasPrefix(s.row.Engine, "sglang") && !strings.Contains(s.row.Engine, "oai") {
			// The native backend divides a gap by its tokens, so the gaps do not add up to the answer.
			r.E2EMs, r.E2EBasis = nil, ""
			r.Missing = reasons(map[string]string{"e2e_ms": "the file has no end of the request, and this backend's gaps do not add up to it"})
		}
	},
}
