package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// argvFacts are the flags of engine command lines that state a capacity.
var argvFacts = map[string]Report{
	"--max-num-seqs":         {Fact: ReportMaxSeqs, Unit: "requests"},
	"--max_num_seqs":         {Fact: ReportMaxSeqs, Unit: "requests"},
	"--max-running-requests": {Fact: ReportMaxSeqs, Unit: "requests"},
	"--parallel":             {Fact: ReportMaxSeqs, Unit: "requests"}, // llama.cpp
	"-np":                    {Fact: ReportMaxSeqs, Unit: "requests"}, // llama.cpp
	"--max_batch_size":       {Fact: ReportMaxSeqs, Unit: "requests"}, // trtllm-serve
	"--max-batch-size":       {Fact: ReportMaxSeqs, Unit: "requests"}, // LMDeploy
	"--max-model-len":        {Fact: ReportModelLen, Unit: "tokens"},
	"--max_model_len":        {Fact: ReportModelLen, Unit: "tokens"},
	"--context-length":       {Fact: ReportModelLen, Unit: "tokens"},
	"--max_seq_len":          {Fact: ReportModelLen, Unit: "tokens"}, // trtllm-serve
	"--session-len":          {Fact: ReportModelLen, Unit: "tokens"}, // LMDeploy
	"--kv-cache-memory-bytes": {
		Fact: ReportKVBytes, Unit: "bytes",
	},
}

// KeepArgv leaves of a command line the flags that state a capacity, as a JSON
// list: the rest may hold keys, paths and host names.
func KeepArgv(argv []string) []byte {
	kept := []string{}
	for i, arg := range argv {
		flag, value, joined := strings.Cut(arg, "=")
		if _, ok := argvFacts[flag]; !ok {
			continue
		}
		if !joined && i+1 < len(argv) {
			value = argv[i+1]
		}
		if _, err := strconv.ParseInt(value, 10, 64); err == nil { // "32k" and the like are not read
			kept = append(kept, flag, value)
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		panic(err) // strings only
	}
	return text
}

// argvReports reads what KeepArgv left. Of a flag given twice the last one holds,
// as it does for the engine.
func argvReports(body []byte) []Report {
	var argv []string
	if json.Unmarshal(body, &argv) != nil {
		return nil
	}
	var all []Report
	for i := 0; i+1 < len(argv); i += 2 {
		r := argvFacts[argv[i]]
		r.Value, r.Source, r.Confidence, r.Place = argv[i+1], SourceArgv+" "+argv[i], Configured, placeArgv
		all = slices.DeleteFunc(all, func(other Report) bool { return other.Fact == r.Fact })
		all = append(all, r)
	}
	return all
}

// settings are the members of an answer of /server_info that may be kept.
var settings = strings.Fields(`block_size cache_dtype chunked_prefill_size context_len context_length data_parallel_size dp_size dtype
	effective_max_running_requests_per_dp gpu_memory_utilization kv_cache_dtype kvcache max_model_len max_num_batched_tokens max_num_seqs
	max_prefill_tokens max_req_input_len max_running_requests max_total_num_tokens max_total_tokens mem_fraction_static num_gpu_blocks
	page_size quantization tensor_parallel_size token_capacity tp_size version weight`)

// KeepSettings leaves of an answer of /server_info the members that state a
// capacity, nested as they were. The rest of that answer holds API keys and the
// engine's environment, which belong into no file. Of a body that is no JSON
// nothing is left.
func KeepSettings(body []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // a number keeps its digits
	var tree any
	if !json.Valid(body) || decoder.Decode(&tree) != nil {
		return nil
	}
	kept, _ := keepSettings(tree)
	text, err := json.Marshal(kept)
	if err != nil {
		return nil // not reached: the tree came from JSON
	}
	return text
}

// keepSettings returns the part of a JSON value that may be kept, and whether
// there is any.
func keepSettings(value any) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, inner := range v {
			switch inner.(type) {
			case map[string]any, []any:
				if part, any := keepSettings(inner); any {
					kept[name] = part
				}
			default:
				if slices.Contains(settings, name) {
					kept[name] = inner
				}
			}
		}
		return kept, len(kept) > 0
	case []any:
		kept, some := make([]any, len(v)), false
		for i, inner := range v {
			part, any := keepSettings(inner)
			kept[i], some = part, some || any
		}
		return kept, some
	}
	return nil, false
}
