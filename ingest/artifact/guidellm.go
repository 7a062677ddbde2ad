package artifact

import (
	"fmt"
	"math"
)

// GuideLLM's benchmarks.json, version 2 (formats.md section E3). Each element
// of benchmarks is a run.

const (
	toolGuideLLM    = "guidellm"
	guideLLMVersion = 2
)

func isGuideLLM(v value) (is bool, version string, read bool) {
	meta := v.get("metadata")
	if !meta.isObject() || !v.get("benchmarks").isArray() {
		return false, "", false
	}
	n, ok := meta.get("version").integer()
	return true, string(meta.get("version")), ok && n == guideLLMVersion
}

// guideLLMGroups are the parts of every metric, and the lists of requests.
var guideLLMGroups = []string{"successful", "errored", "incomplete", "total"}

// guideLLMMetrics are the metrics whose meaning is known, with their unit. A
// metric with a field is one value a request and can be recomputed.
var guideLLMMetrics = map[string]struct{ metric, unit, field string }{
	"time_to_first_token_ms":             {"t_first_any", "ms", "time_to_first_token_ms"},
	"time_to_first_output_token_ms":      {"t_first_visible", "ms", "time_to_first_output_token_ms"},
	"request_latency":                    {"e2e", "s", "request_latency"},
	"prompt_token_count":                 {"prompt_tokens", "tokens", "prompt_tokens"},
	"output_token_count":                 {"completion_tokens", "tokens", "output_tokens"},
	"total_token_count":                  {"total_tokens", "tokens", ""},
	"time_per_output_token_ms":           {"time_per_output_token", "ms", ""},
	"inter_token_latency_ms":             {"inter_token_latency", "ms", ""},
	"time_to_last_round_trip_ms":         {"time_to_last_round_trip", "ms", ""},
	"avg_round_trip_time_ms":             {"avg_round_trip_time", "ms", ""},
	"requests_per_second":                {"request_throughput", "requests/s", ""},
	"request_concurrency":                {"concurrency", "requests", ""},
	"prompt_tokens_per_second":           {"prompt_throughput", "tokens/s", ""},
	"output_tokens_per_second":           {"completion_throughput", "tokens/s", ""},
	"tokens_per_second":                  {"total_throughput", "tokens/s", ""},
	"output_tokens_per_iteration":        {"tokens_per_iteration", "tokens", ""},
	"iter_tokens_per_iteration":          {"iter_tokens_per_iteration", "tokens", ""},
	"request_streaming_iterations_count": {"streaming_iterations", "iterations", ""},
}

// guideLLMPercentiles: p001 is 0.1 %, p01 is 1 %, p999 is 99.9 %.
var guideLLMPercentiles = map[string]float64{
	"p001": 0.1, "p01": 1, "p05": 5, "p10": 10, "p25": 25, "p50": 50, "p75": 75, "p90": 90, "p95": 95, "p99": 99, "p999": 99.9,
}

type guideLLM struct {
	out     *output
	version string
	model   string
	row     Artifact
	v       value // the benchmark
	at      string
	columns map[string]guideLLMColumn // by scope and field
}

// guideLLMColumn is a column and the number of requests of its scope, with the
// field or without.
type guideLLMColumn struct {
	*column
	items int
}

func loadGuideLLM(d *document, o *output) {
	version, _ := d.head.path("metadata", "guidellm_version").text()
	model, _ := d.head.path("config", "spec", "backend", "model").text()
	n := int64(0)
	for i, v := range d.head.get("benchmarks").elements() {
		g := guideLLM{out: o, columns: map[string]guideLLMColumn{}, version: version, model: model, v: v, at: fmt.Sprintf("/benchmarks/%d", i)}
		g.load(n)
		n++
	}
	if n == 0 {
		o.notes.add(CodeCounts, "/benchmarks", "the file has no benchmark")
		o.artifact(Artifact{Kind: KindUnknown, State: stateRefused, Tool: toolGuideLLM, ToolVersion: version})
	}
}

func (g *guideLLM) load(part int64) {
	f := pick(g.v, g.at, &g.out.notes, "start_time", "end_time", "duration", "config", "scheduler_state", "requests", "metrics")
	strategy := pick(f.raw("config").get("strategy"), g.at+"/config/strategy", &g.out.notes, "type_", "rate", "streams", "max_concurrency")
	g.row = Artifact{
		Part: part, Kind: KindBenchmark, State: stateLoaded, Tool: toolGuideLLM, ToolVersion: g.version, Model: g.model,
		Schema: "metadata.version 2", Protocol: "guidellm/v2", ProtocolBasis: "fields", Shape: strategy.text("type_"),
		PercentileRule: ruleCumulative, Boundary: boundaryAny, SummaryOnly: ptr(!f.raw("requests").isObject()),
		StartedUnixNs: epoch(f, "start_time"), FinishedUnixNs: epoch(f, "end_time"), WallMs: scaled(f.float("duration"), 1000),
		RequestRate: rate(strategy, "rate"), Concurrency: strategy.count("streams"),
	}
	if g.row.Concurrency == nil {
		g.row.Concurrency = strategy.count("max_concurrency")
	}
	if g.row.StartedUnixNs != nil {
		g.row.TimePrecisionNs = ptr(int64(1000)) // a double of seconds since 1970 resolves about 0.2 µs
	}
	if id := f.raw("config").get("run_id"); id.isText() {
		g.row.RunID, _ = id.text()
	}
	g.counts(f)
	index := int64(0)
	for _, group := range guideLLMGroups[:3] {
		for i, v := range f.raw("requests").get(group).elements() {
			g.request(v, fmt.Sprintf("%s/requests/%s/%d", g.at, group, i), group, index)
			index++
		}
	}
	for key, v := range f.raw("metrics").members() {
		g.metric(string(key), v)
	}
	g.row.Extra = extra(g.v, f.asked)
	g.out.artifact(g.row)
}

// counts come from the scheduler, else from the count of the totals.
func (g *guideLLM) counts(f fields) {
	state := pick(f.raw("scheduler_state"), g.at+"/scheduler_state", &g.out.notes,
		"processed_requests", "successful_requests", "errored_requests", "cancelled_requests")
	g.row.Requests, g.row.Completed, g.row.Failed = state.count("processed_requests"), state.count("successful_requests"), state.count("errored_requests")
	if g.row.Completed == nil && f.raw("requests").isObject() {
		ok, bad, cutOff := f.raw("requests").get("successful").count(), f.raw("requests").get("errored").count(), f.raw("requests").get("incomplete").count()
		g.row.Completed, g.row.Failed, g.row.Requests = ptr(int64(ok)), ptr(int64(bad)), ptr(int64(ok+bad+cutOff))
	}
}

// epoch reads seconds since 1970 as nanoseconds.
func epoch(f fields, name string) *int64 {
	s := f.float(name)
	if s == nil {
		return nil
	}
	if *s < 0 || *s > 7e9 {
		f.wrong(name, "a time in seconds since 1970")
		return nil
	}
	whole, part := math.Modf(*s)
	return ptr(int64(whole)*1e9 + int64(math.Round(part*1e9)))
}

var guideLLMStates = map[string]string{"successful": "completed", "errored": "failed", "incomplete": "incomplete"}

func (g *guideLLM) request(v value, at, group string, index int64) {
	f := pick(v, at, &g.out.notes, "request_id", "info", "input_metrics", "output_metrics", "request_latency", "prompt_tokens", "output_tokens",
		"time_to_first_token_ms", "time_to_first_output_token_ms", "time_per_output_token_ms")
	info := pick(f.raw("info"), at+"/info", &g.out.notes, "status", "error", "timings")
	timings := pick(info.raw("timings"), at+"/info/timings", &g.out.notes, "request_start", "request_end")
	r := Request{
		Artifact: g.out.id(g.row.Part), Index: index, RequestID: f.text("request_id"), Phase: "profiling", Status: guideLLMStates[group],
		StartUnixNs: epoch(timings, "request_start"), EndUnixNs: epoch(timings, "request_end"),
		FirstAnyMs: f.float("time_to_first_token_ms"), FirstVisibleMs: f.float("time_to_first_output_token_ms"),
		E2EMs: scaled(f.float("request_latency"), 1000), PromptTokens: f.count("prompt_tokens"), OutputTokens: f.count("output_tokens"),
		CachedTokens: countOf(f.raw("input_metrics"), at+"/input_metrics", "cached_tokens", &g.out.notes),
		ErrorSHA256:  digestOf(info.raw("error")),
	}
	missing := map[string]string{}
	if r.E2EMs != nil {
		r.E2EBasis = "stated"
	}
	if r.OutputTokens != nil {
		r.TokenSource = "usage_or_iterations" // the file does not say which
	}
	if group != "successful" && r.FirstAnyMs != nil && *r.FirstAnyMs == 0 {
		r.FirstAnyMs = nil
		missing["t_first_any_ms"] = "0.0 is no time"
	}
	r.Missing = reasons(missing)
	g.out.request(r)
}

func countOf(v value, at, name string, n *notes) *int64 {
	if !v.isObject() {
		return nil
	}
	return pick(v, at, n, name).count(name)
}

func (g *guideLLM) metric(name string, v value) {
	known, ok := guideLLMMetrics[name]
	if !ok {
		known.metric, known.unit = cut(name, 100), "unknown"
	}
	for _, group := range guideLLMGroups {
		part := v.get(group)
		if !part.isObject() {
			continue
		}
		at := g.at + "/metrics/" + cut(name, 100) + "/" + group
		f := pick(part, at, &g.out.notes, "count")
		stat := Stat{Artifact: g.out.id(g.row.Part), Scope: guideLLMScopes[group], Metric: known.metric, Unit: known.unit, N: f.count("count"),
			Definition: "guidellm/v2:" + cut(name, 100), Agreement: AgreeUnknown}
		g.group(stat, part, at, known.field)
	}
}

var guideLLMScopes = map[string]string{"successful": "completed", "errored": "failed", "incomplete": "incomplete", "total": "all"}

// guideLLMStats maps the members of a group to statistics.
var guideLLMStats = map[string]statistic{
	"mean": {name: "mean"}, "median": {name: "percentile", quantile: 50}, "std_dev": {name: "stddev"}, "min": {name: "min"}, "max": {name: "max"},
	"count": {name: "n"}, "total_sum": {name: "sum"}, "mode": {name: "mode"}, "variance": {name: "variance"},
}

func (g *guideLLM) group(stat Stat, part value, at, field string) {
	write := func(key string, s statistic, v value) {
		out := stat
		out.SourceKey, out.Stat = at+"/"+key, s.label()
		out.Value = one(at, key, v, &g.out.notes).float(key)
		if s.name == "n" {
			out.Unit = "weights" // tokens for the metrics that weigh by tokens
		}
		g.judge(&out, s, field)
		g.out.stat(out)
	}
	for key, v := range part.members() {
		if s, ok := guideLLMStats[string(key)]; ok {
			write(string(key), s, v)
		}
	}
	for key, v := range part.get("percentiles").members() {
		if q, ok := guideLLMPercentiles[string(key)]; ok {
			write("percentiles/"+string(key), statistic{name: "percentile", quantile: q}, v)
		}
	}
}

// judge makes the zeros of an empty group null and recomputes what is one
// value a request.
func (g *guideLLM) judge(out *Stat, s statistic, field string) {
	empty := out.N != nil && *out.N == 0
	switch {
	case empty && s.name != "n":
		out.Value, out.Reason = nil, "the group is empty; the tool prints 0.0 for it"
		return
	case field == "":
		out.Reason = "the metric is weighted, or over time; the rows do not hold what it takes"
		return
	case *g.row.SummaryOnly:
		out.Reason = noRows
		return
	}
	c, items := g.column(out.Scope, field)
	switch {
	case out.N == nil || int64(items) != *out.N:
		out.Reason = fmt.Sprintf("the file keeps %d requests of this group", items)
	case c.n() != items:
		out.Reason = "some requests do not have it, and the tool counts those as 0.0"
	default:
		var ok bool
		if out.Recomputed, ok = s.of(c, ruleCumulative, false); !ok {
			out.Reason = "not recomputed"
			return
		}
		out.Agreement = compare(out.Value, out.Recomputed)
	}
}

// column is the values of a field over the requests of a scope, and how many
// requests there are.
func (g *guideLLM) column(scope, field string) (*column, int) {
	name := scope + "/" + field
	if c, ok := g.columns[name]; ok {
		return c.column, c.items
	}
	n, items := 0, 0
	g.eachValue(scope, field, func(_ float64, ok bool) {
		items++
		if ok {
			n++
		}
	})
	values := make([]float64, 0, n)
	g.eachValue(scope, field, func(x float64, ok bool) {
		if ok {
			values = append(values, x)
		}
	})
	c := guideLLMColumn{newColumn(values), items}
	g.columns[name] = c
	return c.column, c.items
}

func (g *guideLLM) eachValue(scope, field string, use func(x float64, ok bool)) {
	requests := g.v.get("requests")
	for _, group := range guideLLMGroups[:3] {
		if scope != "all" && guideLLMScopes[group] != scope {
			continue
		}
		for _, item := range requests.get(group).elements() {
			x, ok := item.get(field).number()
			use(x, ok && finite(x) != nil)
		}
	}
}
