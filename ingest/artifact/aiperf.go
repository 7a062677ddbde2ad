package artifact

import (
	"fmt"
	"strings"
	"time"
)

// AIPerf's exports (formats.md sections E4 and E5). Its time_to_first_token is
// the first output of any channel and its time_to_first_output_token the first
// visible one: the two names stand the other way round than in assay/v1.

const (
	toolAIPerf     = "aiperf"
	aiperfSchema   = "1." // any 1.x; a later major version may mean other things
	aiperfRecords  = "aiperf/records"
	aiperfSummary  = "aiperf/summary-1"
	aiperfWarmup   = "warmup"
	aiperfProfiled = "profiling"
)

func isAIPerfSummary(v value) (is bool, version string, read bool) {
	f := pick(v, "", &notes{}, "schema_version", "aiperf_version", "benchmark_id", "error_summary", "input_config")
	is = f.has("aiperf_version") || f.has("schema_version") && f.has("benchmark_id") && (f.has("error_summary") || f.has("input_config"))
	version, _ = f.raw("schema_version").text()
	return is, version, strings.HasPrefix(version, aiperfSchema)
}

func isAIPerfRecords(v value) (is bool, version string, read bool) {
	meta := v.get("metadata")
	is = meta.isObject() && len(meta.get("request_start_ns")) > 0 && len(meta.get("benchmark_phase")) > 0 && (v.get("metrics").isObject() || v.get("error").isObject())
	return is, "", true // the file names no version
}

// aiperfMetrics are the metrics whose meaning is known. The unit is read from
// the file.
var aiperfMetrics = map[string]string{
	"time_to_first_token":              "t_first_any",
	"time_to_first_output_token":       "t_first_visible",
	"time_to_second_token":             "t_second_any",
	"request_latency":                  "e2e",
	"inter_token_latency":              "inter_token_latency",
	"inter_chunk_latency":              "inter_chunk_gap",
	"input_sequence_length":            "prompt_tokens",
	"output_sequence_length":           "completion_tokens",
	"output_token_count":               "visible_tokens",
	"reasoning_token_count":            "reasoning_tokens",
	"request_throughput":               "request_throughput",
	"output_token_throughput":          "completion_throughput",
	"request_count":                    "completed",
	"error_request_count":              "failed",
	"benchmark_duration":               "wall",
	"output_token_throughput_per_user": "decode",
}

func loadAIPerfSummary(d *document, o *output) {
	f := pick(d.head, "", &o.notes, "schema_version", "aiperf_version", "benchmark_id", "start_time", "end_time", "input_config",
		"run_info", "error_summary", "warmup_metrics", "runtime_submission_invalid_reasons", "metadata", "telemetry_data", "metrics")
	config := f.raw("input_config")
	load := pick(config.get("loadgen"), "/input_config/loadgen", &o.notes, "concurrency", "request_rate", "request_count")
	row := Artifact{
		Kind: KindBenchmark, State: stateLoaded, Tool: toolAIPerf, ToolVersion: f.text("aiperf_version"), Schema: f.text("schema_version"),
		Protocol: aiperfSummary, ProtocolBasis: "fields", Shape: "summary", PercentileRule: ruleLinear, Boundary: boundaryAny, SummaryOnly: ptr(true),
		RunID: f.text("benchmark_id"), Concurrency: load.count("concurrency"), RequestRate: rate(load, "request_rate"), Requests: load.count("request_count"),
		StartedUnixNs: isoTime(f, "start_time"), FinishedUnixNs: isoTime(f, "end_time"),
	}
	for _, v := range config.path("endpoint", "model_names").elements() {
		row.Model, _ = v.text()
		break
	}
	row.Completed = scalarCount(d.head.get("request_count"))
	row.Failed = countErrors(f)
	if row.Failed == nil {
		row.Failed = scalarCount(d.head.get("error_request_count"))
	}
	if row.Requests == nil && row.Completed != nil && row.Failed != nil {
		row.Requests = ptr(*row.Completed + *row.Failed)
	}
	if row.StartedUnixNs != nil {
		row.TimePrecisionNs = ptr(int64(time.Microsecond))
	}
	for key, v := range d.head.members() {
		if !f.asked(string(key)) && v.isObject() && (v.get("unit").isText() || len(v.get("avg")) > 0) {
			aiperfFigure(o, string(key), v, aiperfProfiled)
		}
	}
	for key, v := range f.raw("warmup_metrics").members() {
		if v.isObject() {
			aiperfFigure(o, string(key), v, aiperfWarmup)
		}
	}
	for key, v := range f.raw("metrics").members() {
		if v.isObject() {
			aiperfFigure(o, string(key), v, "runs")
		}
	}
	missing := map[string]string{"artifact_requests": "the file holds aggregates only; profile_export.jsonl beside it has the requests"}
	if f.has("start_time") && row.StartedUnixNs == nil {
		missing["started_unix_ns"] = "the file's time has no zone"
	}
	row.Missing = reasons(missing)
	row.Extra = extra(d.head, f.asked)
	o.artifact(row)
}

// countErrors is the sum of the counts of all kinds of errors: the list's
// length is the number of kinds.
func countErrors(f fields) *int64 {
	if !f.raw("error_summary").isArray() {
		return nil
	}
	var sum int64
	for i, v := range f.raw("error_summary").elements() {
		n := pick(v, fmt.Sprintf("/error_summary/%d", i), f.notes, "count").count("count")
		if n == nil {
			return nil
		}
		sum += *n
	}
	return &sum
}

func scalarCount(metric value) *int64 {
	n, ok := metric.get("avg").integer()
	if !ok || n < 0 {
		return nil
	}
	return &n
}

func isoTime(f fields, name string) *int64 {
	s := f.text(name)
	if s == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || at.Year() < 1970 || at.Year() > 2200 {
		return nil // older versions write local time without a zone
	}
	return ptr(at.UnixNano())
}

// aiperfStats are the statistics of a metric, beside percentiles.
var aiperfStats = map[string]string{
	"avg": "mean", "min": "min", "max": "max", "std": "stddev", "sum": "sum", "count": "n",
	"mean": "mean", "cv": "cv", "se": "standard_error", "ci_low": "ci_low", "ci_high": "ci_high", "t_critical": "t_critical",
}

func aiperfFigure(o *output, name string, v value, scope string) {
	unit, _ := v.get("unit").text()
	metric := aiperfMetrics[name]
	if metric == "" {
		metric = cut(name, 100)
	}
	f := pick(v, "/"+cut(name, 100), &o.notes, "count")
	n := f.int("count")
	for key, member := range v.members() {
		label, ok := aiperfStats[string(key)]
		if q, isP := parsePercentile(string(key)); isP {
			label, ok = statistic{name: "percentile", quantile: q}.label(), true
		}
		if !ok {
			continue
		}
		s := Stat{
			Artifact: o.id(0), SourceKey: cut(name, 100) + "/" + string(key), Scope: scope, Metric: metric, Stat: label, Unit: cut(orWord(unit, "unknown"), 50), N: n,
			Definition: aiperfSummary + ":" + cut(name, 100), Agreement: AgreeUnknown, Reason: noRows,
			Value: one(f.at, string(key), member, &o.notes).float(string(key)),
		}
		if label == "n" {
			s.Unit = "requests"
		}
		if scope == aiperfProfiled {
			s.Scope = "completed"
		}
		o.stat(s)
	}
}

func loadAIPerfRecords(d *document, o *output) {
	row := Artifact{
		Kind: KindBenchmark, State: stateLoaded, Tool: toolAIPerf, Protocol: aiperfRecords, ProtocolBasis: "fields", Shape: "records",
		Boundary: boundaryAny, SummaryOnly: ptr(false),
		Missing: reasons(map[string]string{"model": "the records do not name it; profile_export_aiperf.json beside them does"}),
	}
	var index, planned, completed, failed int64
	for line, v := range d.values() {
		if is, _, _ := isAIPerfRecords(v); !is {
			o.notes.add(CodeFormatMismatch, "line "+itoa(line), "no record of AIPerf, as the first line is; the line is not used")
			continue
		}
		r := aiperfRequest(v, o, line, index)
		index++
		if r.Phase == aiperfProfiled {
			planned++
			switch r.Status {
			case "completed":
				completed++
			case "failed":
				failed++
			}
			row.StartedUnixNs = least(row.StartedUnixNs, r.StartUnixNs)
			row.FinishedUnixNs = most(row.FinishedUnixNs, r.EndUnixNs)
		}
		o.request(r)
	}
	row.Completed, row.Failed, row.Requests = &completed, &failed, &planned
	if row.StartedUnixNs != nil && row.FinishedUnixNs != nil {
		row.TimePrecisionNs = ptr(int64(1))
	}
	o.artifact(row)
}

func least(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

func most(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func aiperfRequest(v value, o *output, line int, index int64) Request {
	at := "line " + itoa(line) + ": "
	meta := pick(v.get("metadata"), at+"/metadata", &o.notes, "x_request_id", "request_start_ns", "request_end_ns", "benchmark_phase", "was_cancelled")
	m := aiperfValues{v.get("metrics"), at + "/metrics", &o.notes}
	r := Request{
		Artifact: o.id(0), Index: index, RequestID: meta.text("x_request_id"), Phase: meta.text("benchmark_phase"), Status: "completed",
		StartUnixNs: meta.count("request_start_ns"), EndUnixNs: meta.count("request_end_ns"),
		FirstAnyMs: m.ms("time_to_first_token"), FirstVisibleMs: m.ms("time_to_first_output_token"), E2EMs: m.ms("request_latency"),
		TPOTMs: m.ms("inter_token_latency"), PromptTokens: m.tokens("input_sequence_length"), OutputTokens: m.tokens("output_sequence_length"),
		VisibleTokens: m.tokens("output_token_count"), ReasoningTokens: m.tokens("reasoning_token_count"),
	}
	if r.E2EMs != nil {
		r.E2EBasis = "stated"
	}
	if r.OutputTokens != nil {
		r.TokenSource = "recount_or_usage" // by a flag that the file does not hold
	}
	m.gaps(&r)
	if wrong := v.get("error"); wrong.isObject() {
		r.Status = "failed"
		r.ErrorType, _ = wrong.get("type").text()
		r.FailureClass = errorCode(wrong.get("code"))
		r.ErrorSHA256 = digestOf(wrong.get("message"))
	}
	if cancelled := meta.bool("was_cancelled"); cancelled != nil && *cancelled {
		r.Status = "cancelled"
	}
	return r
}

// errorCode is an HTTP status or a word.
func errorCode(v value) string {
	if n, ok := v.integer(); ok {
		return fmt.Sprintf("code_%d", n)
	}
	s, _ := v.text()
	return cut(s, 50)
}

// aiperfValues reads {value, unit} pairs.
type aiperfValues struct {
	v     value
	at    string
	notes *notes
}

// toMs holds the factor of each unit of time to milliseconds.
var toMs = map[string]float64{"ms": 1, "s": 1000, "sec": 1000, "us": 1e-3, "ns": 1e-6}

func (a aiperfValues) ms(name string) *float64 {
	pair := a.v.get(name)
	if !pair.isObject() {
		return nil
	}
	f := pick(pair, a.at+"/"+name, a.notes, "value", "unit")
	factor, ok := toMs[f.text("unit")]
	if !ok {
		f.wrong("unit", "a unit of time")
		return nil
	}
	if factor == 1 {
		return f.float("value")
	}
	return scaled(f.float("value"), factor)
}

func (a aiperfValues) tokens(name string) *int64 {
	pair := a.v.get(name)
	if !pair.isObject() {
		return nil
	}
	return pick(pair, a.at+"/"+name, a.notes, "value").count("value")
}

func (a aiperfValues) gaps(r *Request) {
	pair := a.v.get("inter_chunk_latency")
	unit, _ := pair.get("unit").text()
	factor, ok := toMs[unit]
	if !ok || !pair.get("value").isArray() {
		return
	}
	var n int64
	var sum float64
	for _, g := range pair.get("value").elements() {
		useNumber(g, func(x float64) { sum += x; n++ })
	}
	r.Gaps = &n
	if n > 0 {
		r.GapsMeanMs = finite(sum / float64(n) * factor)
	}
}
