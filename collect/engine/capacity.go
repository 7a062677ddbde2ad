package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"assay/collect/record"
)

// Places an engine states its capacity in, beside its metrics page: paths at the
// root of the base URL, asked once before a cell, and two sources that are no
// question over HTTP.
const (
	PathServerInfo    = "/server_info"     // SGLang; vLLM in developer mode
	PathServerInfoOld = "/get_server_info" // SGLang before 0.5
	PathProps         = "/props"           // llama.cpp
	PathInfo          = "/info"            // TGI
	SourceArgv        = "argv"             // command line of the engine's container
	SourceLog         = "engine log"       // matched lines of the engine's log
)

// FingerprintPaths are asked beside the identity questions: what an engine answers
// there, a 404 included, says which one it is and what it can hold. None of them
// runs a request or empties a buffer.
var FingerprintPaths = []string{PathServerInfo, PathServerInfoOld, PathProps, PathInfo}

// Names of reported facts.
const (
	ReportEngine      = "engine"         // family: vllm, sglang, llamacpp, tensorrt_llm, lmdeploy, tgi, dynamo
	ReportAnswer      = "answer"         // what a source answered: an HTTP status, an error code, or read
	ReportBuild       = "engine_build"   // build or commit, as stated
	ReportKVPool      = "kv_pool_tokens" // size of the KV pool, tokens
	ReportModelLen    = "max_model_len"  // longest context, tokens
	ReportMaxSeqs     = "max_num_seqs"   // most requests the scheduler runs at once
	ReportKVBytes     = "kv_bytes"       // memory of the KV pool
	ReportWeightBytes = "weights_bytes"  // memory of the weights
)

// How far a reported fact can be trusted.
const (
	Reported   = "reported"   // the engine states it as what it has
	Logged     = "logged"     // the same, in its log, rounded as printed
	Configured = "configured" // what it was told; the engine may hold less
	Derived    = "derived"    // a product of reported parts
)

// Report is one thing an engine says about what it is or what it can hold.
type Report struct {
	Fact, Value string
	Unit        string // tokens, requests, bytes, GB (as printed by an engine that may mean GiB), or empty
	Source      string
	Confidence  string
	Place       int64 // preference among the sources of one fact; the lowest stands
}

// Places of the sources: a statement of the engine itself before its log, an
// effective value before a configured one, and a product last. The pages of the
// database stand at 10 (labels) and 20 (gauges).
const (
	placeEffective  = 15
	placeAnswer     = 30
	placeLog        = 40
	placeConfigured = 50
	placeArgv       = 60
	placeLogArgs    = 70
	placeProduct    = 90
)

// AnswerReports reads what one answer says about the engine. The first report is
// always what the source answered. No body makes it fail; what it does not state
// is not in the list.
func AnswerReports(a record.Answer) []Report {
	all := []Report{{Fact: ReportAnswer, Value: answered(a), Source: a.Path}}
	if a.Error != "" {
		return all
	}
	switch a.Path {
	case pathModels:
		return append(all, modelReports(a.Body)...)
	case PathServerInfo, PathServerInfoOld:
		return append(all, serverInfoReports(a)...)
	case PathProps:
		return append(all, propsReports(a.Body)...)
	case PathInfo:
		return append(all, infoReports(a.Body)...)
	case SourceArgv:
		return append(all, argvReports(a.Body)...)
	case SourceLog:
		return append(all, LogReports(a.Body)...)
	}
	return all
}

func answered(a record.Answer) string {
	switch {
	case a.HTTPStatus != nil:
		return strconv.FormatInt(*a.HTTPStatus, 10)
	case a.Error != "":
		return a.Error
	}
	return "read"
}

// fieldSet reads numbers at the top of a JSON object.
type fieldSet map[string]json.RawMessage

func membersOf(body []byte) fieldSet {
	top, _ := object(body)
	return top
}

func (m fieldSet) sub(name string) fieldSet { return membersOf(m[name]) }

// report is the positive whole number of that name as a report; none without one.
func (m fieldSet) report(name string, r Report) []Report {
	n, _ := positive(m[name])
	if n == nil {
		return nil
	}
	r.Value = strconv.FormatInt(*n, 10)
	r.Source += " " + name
	return []Report{r}
}

func (m fieldSet) text(name string) string {
	var s string
	if json.Unmarshal(m[name], &s) != nil {
		return ""
	}
	return strings.TrimSpace(s)
}

// modelReports reads llama.cpp's meta: the size of the weights in bytes.
func modelReports(body []byte) []Report {
	var entries []json.RawMessage
	if json.Unmarshal(membersOf(body)["data"], &entries) != nil || len(entries) != 1 {
		return nil
	}
	return membersOf(entries[0]).sub("meta").report("size", Report{Fact: ReportWeightBytes, Unit: "bytes", Source: pathModels + " meta", Confidence: Reported, Place: placeAnswer})
}

// serverInfoReports reads the settings and the state of SGLang, and the settings
// of vLLM. SGLang's max_running_requests repeats its command line; what a state
// cache leaves of it is in the log, and in newer builds in internal_states.
func serverInfoReports(a record.Answer) []Report {
	top := membersOf(a.Body)
	tokens := Report{Unit: "tokens", Source: a.Path, Confidence: Reported, Place: placeAnswer}
	of := func(fact string, r Report) Report {
		r.Fact = fact
		return r
	}
	configured := Report{Fact: ReportMaxSeqs, Unit: "requests", Source: a.Path, Confidence: Configured, Place: placeConfigured}
	all := top.report("max_total_num_tokens", of(ReportKVPool, tokens))
	all = append(all, top.report("context_length", of(ReportModelLen, tokens))...)
	all = append(all, top.report("max_running_requests", configured)...)
	all = append(all, effectiveSeqs(top, a.Path)...)
	vllm := top.sub("vllm_config")
	all = append(all, vllm.sub("scheduler_config").report("max_num_seqs", configured)...)
	all = append(all, vllm.sub("model_config").report("max_model_len", of(ReportModelLen, tokens))...)
	if v := top.text("version"); v != "" {
		all = append(all, Report{Fact: ReportBuild, Value: v, Source: a.Path, Confidence: Reported, Place: placeAnswer})
	}
	return all
}

// effectiveSeqs adds up the effective ceilings of SGLang's data-parallel ranks.
func effectiveSeqs(top fieldSet, path string) []Report {
	const name = "effective_max_running_requests_per_dp"
	var states []json.RawMessage
	if json.Unmarshal(top["internal_states"], &states) != nil || len(states) == 0 {
		return nil
	}
	sum := int64(0)
	for _, s := range states {
		n, _ := positive(membersOf(s)[name])
		if n == nil {
			return nil
		}
		sum += *n
	}
	return []Report{{Fact: ReportMaxSeqs, Value: strconv.FormatInt(sum, 10), Unit: "requests", Source: path + " " + name, Confidence: Reported, Place: placeAnswer}}
}

// propsReports reads llama.cpp: slots, and the context of each. Their product is
// the pool where each slot has its own part, and more than it where they share.
func propsReports(body []byte) []Report {
	top := membersOf(body)
	slot := top.sub("default_generation_settings")
	all := top.report("total_slots", Report{Fact: ReportMaxSeqs, Unit: "requests", Source: PathProps, Confidence: Reported, Place: placeAnswer})
	all = append(all, slot.report("n_ctx", Report{Fact: ReportModelLen, Unit: "tokens", Source: PathProps, Confidence: Reported, Place: placeAnswer})...)
	slots, _ := positive(top["total_slots"])
	context, _ := positive(slot["n_ctx"])
	if slots != nil && context != nil && *context <= (1<<62) / *slots {
		all = append(all, Report{Fact: ReportKVPool, Value: strconv.FormatInt(*slots**context, 10), Unit: "tokens", Source: PathProps + " total_slots x n_ctx", Confidence: Derived, Place: placeProduct})
	}
	if v := top.text("build_info"); v != "" {
		all = append(all, Report{Fact: ReportBuild, Value: v, Source: PathProps, Confidence: Reported, Place: placeAnswer})
	}
	return all
}

// infoReports reads TGI. Its max_concurrent_requests limits the HTTP server and
// not the batch, so it is no ceiling of the scheduler.
func infoReports(body []byte) []Report {
	top := membersOf(body)
	all := top.report("max_total_tokens", Report{Fact: ReportModelLen, Unit: "tokens", Source: PathInfo, Confidence: Reported, Place: placeAnswer})
	if v := top.text("sha"); v != "" {
		all = append(all, Report{Fact: ReportBuild, Value: v, Source: PathInfo, Confidence: Reported, Place: placeAnswer})
	}
	return all
}

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
