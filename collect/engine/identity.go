package engine

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/collect/record"
)

// Names of identity facts.
const (
	FactServedID      = "served_id"      // id under which the model is served
	FactMaxModelLen   = "max_model_len"  // longest context the engine accepts, tokens
	FactMaxNumSeqs    = "max_num_seqs"   // ceiling of the scheduler on running requests
	FactEngineVersion = "engine_version" // as the engine states it; does not identify a fork
	FactProcessStart  = "process_start"  // start of the process behind the page, s since 1970 UTC
	pathModels        = "/v1/models"     // under the base URL
	pathVersion       = "/version"       // at the root of the base URL
	pathProps         = "/props"         // at the root of the base URL; llama.cpp has no /version
	pathHealth        = "/health"        // at the root of the base URL
	pathMetrics       = "/metrics"       // at the root of the base URL

	pathTensorRTMetrics = "/prometheus/metrics"
)

// Fact is one thing an engine says about itself. Value is nil when it does not;
// Reason then says why: absent, not_json, bad_shape, bad_value, several, or the
// error code of the answer.
type Fact struct {
	Fact   string
	Value  *string
	Source string // path asked
	Reason string // empty with a value
}

// AskIdentity puts the questions that tell who an engine is, and lists the
// answers. What is asked after /v1/models depends on the answer to it: the server
// of llama.cpp has no /version; it says its build, with the number of its slots,
// under /props.
func AskIdentity(ask func(path string) record.Answer) []record.Answer {
	models := ask(pathModels)
	version := pathVersion
	listed, _ := Models(models.Body)
	if slices.ContainsFunc(listed, func(m Model) bool { return m.OwnedBy == "llamacpp" }) {
		version = pathProps
	}
	return []record.Answer{models, ask(version), ask(pathHealth)}
}

// AnswerFacts decodes one answer: served_id and max_model_len from /v1/models,
// engine_version from /version, engine_version and max_num_seqs from /props,
// nothing from any other path. Every fact of the path is listed, also without a
// value. No body makes it fail.
func AnswerFacts(a record.Answer) []Fact {
	switch a.Path {
	case pathModels:
		return modelFacts(a)
	case pathVersion:
		return []Fact{versionFact(a, "version")}
	case pathProps:
		return []Fact{versionFact(a, "build_info"), slotsFact(a)}
	}
	return nil
}

// PageFacts reads process_start from a metrics page. With several processes
// behind one page it is null: no one start would tell a restart.
func PageFacts(page Page) []Fact {
	f := Fact{Fact: FactProcessStart, Source: pathMetrics}
	var starts []float64
	for _, s := range page.Series {
		if s.Name == "process_start_time_seconds" {
			starts = append(starts, s.Value)
		}
	}
	switch {
	case len(starts) == 0:
		return []Fact{f.without("absent")}
	case len(starts) > 1:
		return []Fact{f.without("several")}
	case !(starts[0] > 0) || math.IsInf(starts[0], 1):
		return []Fact{f.without("bad_value")}
	}
	return []Fact{f.with(strconv.FormatFloat(starts[0], 'f', -1, 64))}
}

// Model is one entry of /v1/models.
type Model struct {
	ID          string
	OwnedBy     string // names the engine family: vllm, sglang, llamacpp, tensorrt_llm, nvidia; may be empty
	Adapter     bool   // has a parent: an adapter on another model
	MaxModelLen *int64 // tokens; nil when the engine does not state it
	lenReason   string
}

// Models decodes the body of /v1/models. reason is empty, or says why there is
// no list: not_json or bad_shape.
func Models(body []byte) (models []Model, reason string) {
	top, reason := object(body)
	if reason != "" {
		return nil, reason
	}
	var entries []json.RawMessage
	if json.Unmarshal(top["data"], &entries) != nil || entries == nil {
		return nil, "bad_shape"
	}
	for _, raw := range entries {
		entry, reason := object(raw)
		if reason != "" {
			return nil, "bad_shape"
		}
		m := Model{Adapter: present(entry["parent"])}
		if json.Unmarshal(entry["id"], &m.ID) != nil || m.ID == "" {
			return nil, "bad_shape"
		}
		// An owner of another type is no owner: the field names nothing then.
		_ = json.Unmarshal(entry["owned_by"], &m.OwnedBy)
		m.MaxModelLen, m.lenReason = positive(modelLength(entry))
		models = append(models, m)
	}
	return models, ""
}

// modelLength is max_model_len, or the n_ctx that the server of llama.cpp puts
// into meta: the context of one slot. Its n_ctx_train is the model's, not the
// server's.
func modelLength(entry map[string]json.RawMessage) json.RawMessage {
	if stated := entry["max_model_len"]; present(stated) {
		return stated
	}
	meta, reason := object(entry["meta"])
	if reason != "" {
		return nil
	}
	return meta["n_ctx"]
}

// modelFacts takes the one model that is not an adapter. Several are no identity:
// which one answers depends on the request.
func modelFacts(a record.Answer) []Fact {
	id := Fact{Fact: FactServedID, Source: a.Path}
	length := Fact{Fact: FactMaxModelLen, Source: a.Path}
	models, reason := []Model(nil), a.Error
	if reason == "" {
		models, reason = Models(a.Body)
	}
	models = slices.DeleteFunc(models, func(m Model) bool { return m.Adapter })
	switch {
	case reason != "":
	case len(models) == 0:
		reason = "absent"
	case len(models) > 1:
		reason = "several"
	}
	if reason != "" {
		return []Fact{id.without(reason), length.without(reason)}
	}
	m := models[0]
	if m.MaxModelLen == nil {
		return []Fact{id.with(m.ID), length.without(m.lenReason)}
	}
	return []Fact{id.with(m.ID), length.with(strconv.FormatInt(*m.MaxModelLen, 10))}
}

// slotsFact reads how many requests the server of llama.cpp runs at once.
func slotsFact(a record.Answer) Fact {
	f := Fact{Fact: FactMaxNumSeqs, Source: a.Path}
	if a.Error != "" {
		return f.without(a.Error)
	}
	top, reason := object(a.Body)
	if reason != "" {
		return f.without(reason)
	}
	n, reason := positive(top["total_slots"])
	if n == nil {
		return f.without(reason)
	}
	return f.with(strconv.FormatInt(*n, 10))
}

// versionFact reads the version from the member of that name.
func versionFact(a record.Answer, member string) Fact {
	f := Fact{Fact: FactEngineVersion, Source: a.Path}
	if a.Error != "" {
		return f.without(a.Error)
	}
	top, reason := object(a.Body)
	if reason != "" {
		return f.without(reason)
	}
	raw := top[member]
	if !present(raw) {
		return f.without("absent")
	}
	var version string
	if json.Unmarshal(raw, &version) != nil || strings.TrimSpace(version) == "" {
		return f.without("bad_value")
	}
	return f.with(version)
}

func (f Fact) with(value string) Fact {
	f.Value = &value
	return f
}

func (f Fact) without(reason string) Fact {
	f.Reason = reason
	return f
}

// object decodes a JSON object one level deep; names keep their case, unlike
// with a struct.
func object(body []byte) (map[string]json.RawMessage, string) {
	var top map[string]json.RawMessage
	if !json.Valid(body) {
		return nil, "not_json"
	}
	if json.Unmarshal(body, &top) != nil || top == nil {
		return nil, "bad_shape"
	}
	return top, ""
}

func present(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(raw, []byte("null"))
}

// positive reads a positive integer.
func positive(raw json.RawMessage) (*int64, string) {
	if !present(raw) {
		return nil, "absent"
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n <= 0 {
		return nil, "bad_value"
	}
	return &n, ""
}
