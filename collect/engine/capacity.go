package engine

import (
	"encoding/json"
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
