package artifact

// vLLM's `bench serve` with --save-result; arrays with --save-detailed, one
// run a line with --append-result (formats.md section E1).

const toolVLLM = "vllm-bench"

func isVLLM(v value) (is bool, version string, read bool) {
	f := pick(v, "", &notes{}, "num_prompts", "backend", "endpoint_type", "duration", "completed", "total_output_tokens")
	is = f.has("num_prompts") && (f.has("backend") || f.has("endpoint_type")) && f.has("duration") && f.has("completed") && f.has("total_output_tokens")
	return is, "", true // the file names no version; the set of members varies and unknown ones are kept
}

func loadVLLM(d *document, o *output) { loadServing(d, o, &vllm) }

var vllm = servingTool{
	tool: toolVLLM, requests: "num_prompts",
	scalars: []string{"model_id", "latencies", "start_times", "total_input_tokens", "total_output_tokens"},
	metrics: map[string]string{
		"ttft": "t_first_any", "tpot": "tpot", "itl": "inter_chunk_gap", "e2el": "e2e",
		"client_queue_time": "client_queue_time", "e2el_including_client_queue": "e2e_including_client_queue",
	},
	totals: map[string]total{
		"total_input_tokens":            {"prompt_tokens", "sum", "tokens", sumPassing("input_lens")},
		"total_output_tokens":           {"completion_tokens", "sum", "tokens", sumPassing("output_lens")},
		"request_throughput":            {"request_throughput", "rate", "requests/s", perSecond("completed")},
		"output_throughput":             {"completion_throughput", "rate", "tokens/s", perSecond("total_output_tokens")},
		"total_token_throughput":        {"total_throughput", "rate", "tokens/s", perSecond("total_input_tokens", "total_output_tokens")},
		"request_goodput":               {"request_goodput", "rate", "requests/s", notInRows("its limits are not in the file")},
		"max_output_tokens_per_s":       {"completion_throughput", "max", "tokens/s", notInRows("the rows have no common clock")},
		"max_concurrent_requests":       {"concurrency", "max", "requests", notInRows("the rows have no common clock")},
		"rtfx":                          {"realtime_factor", "value", "ratio", notInRows("audio lengths are not in the file")},
		"spec_decode_acceptance_rate":   {"spec_decode_acceptance", "share", "percent", notInRows(fromEngine)},
		"spec_decode_acceptance_length": {"spec_decode_acceptance", "length", "tokens", notInRows(fromEngine)},
		"spec_decode_num_drafts":        {"spec_decode_drafts", "n", "drafts", notInRows(fromEngine)},
		"spec_decode_draft_tokens":      {"spec_decode_draft_tokens", "n", "tokens", notInRows(fromEngine)},
		"spec_decode_accepted_tokens":   {"spec_decode_accepted_tokens", "n", "tokens", notInRows(fromEngine)},
	},
	fill: func(s *serving) {
		s.row.Model = s.top.text("model_id")
		s.row.Protocol, s.row.ProtocolBasis = toolVLLM+"/"+s.row.Shape, "fields"
		if s.row.Engine == "" {
			s.row.Engine = s.top.text("endpoint_type")
		}
	},
	row: func(_ *serving, r *Request) {
		if r.OutputTokens != nil {
			r.TokenSource = "usage_or_recount" // the file does not say which
		}
	},
}

const fromEngine = "read from the engine's counters"
