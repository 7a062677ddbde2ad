package artifact

import (
	"strings"
	"time"
)

// anvil-serving's benchmark artifact. Seven shapes and a later one share one
// schema string, so the shape is told by fields (formats.md section 1.5).

const (
	toolAnvil       = "anvil-serving"
	anvilBenchmark  = "anvil-serving.benchmark/v1"
	anvilAggregate  = "anvil-serving.capacity-aggregate/v1"
	labelReasoning  = "capacity-v4-reasoning"
	labelVisible    = "capacity-v3"
	protocolLegacy  = "anvil/legacy"
	protocolPrefix  = "anvil/"
	precisionSecond = int64(time.Second)
)

func isAnvilBenchmark(first value) (is bool, version string, read bool) {
	return hasSchema(first, anvilBenchmark)
}

func isAnvilAggregate(first value) (is bool, version string, read bool) {
	return hasSchema(first, anvilAggregate)
}

// hasSchema compares the member schema; another version of the same name is
// recognised and not read.
func hasSchema(first value, want string) (is bool, version string, read bool) {
	version, _ = first.get("schema").text()
	name := want[:strings.LastIndexByte(want, '/')+1]
	return strings.HasPrefix(version, name), version, version == want
}

var anvilTop = []string{
	"schema", "run_id", "measurement_protocol", "started_at", "finished_at", "started_at_unix_ns", "finished_at_unix_ns",
	"wall_clock_ms", "base_url", "model", "engine", "gpu", "requests", "completed", "concurrency", "max_tokens",
	"failed", "failures", "responses_received", "context_tokens", "context_seed", "context_distribution", "max_context_tokens",
	"response_words", "prompt_cache_mode", "shared_prefix_tokens", "request_canaries", "controlled_output_policy", "performance_eligible",
	"metric_population", "sampling", "serve_flags", "timing_methodology", "request_timings", "metrics", "replicas",
	"wall_clock_ms_lower_bound", "wall_clock_ms_upper_bound",
}

// anvilFile is one artifact while it is read.
type anvilFile struct {
	out  *output
	top  fields
	row  Artifact
	rows value // request_timings; nothing when the shape has none

	seen    anvilRows
	columns map[string]*column // by field; each value's key costs more of the file than the value here
}

func loadAnvil(d *document, o *output) {
	f := readAnvil(d, o)
	f.row.Kind, f.row.RunID = KindBenchmark, f.top.text("run_id")
	f.row.Model, f.row.Engine, f.row.GPU = f.top.text("model"), f.top.text("engine"), f.top.text("gpu")
	f.finish(d)
}

// loadAnvilAggregate reads replicas that their tool combined. What the
// replicas share is taken from them.
func loadAnvilAggregate(d *document, o *output) {
	f := readAnvil(d, o)
	f.row.Kind = KindAggregate
	f.row.Model, f.row.GPU = f.shared("model"), f.shared("gpu")
	f.finish(d)
}

// shared is a text all replicas agree on, else none.
func (f *anvilFile) shared(name string) string {
	var all string
	for i, r := range f.top.raw("replicas").elements() {
		s, _ := r.get(name).text()
		if i > 0 && s != all {
			return ""
		}
		all = s
	}
	return all
}

func readAnvil(d *document, o *output) *anvilFile {
	f := &anvilFile{out: o, columns: map[string]*column{}, top: pick(d.head, "", d.notes, anvilTop...)}
	t := f.top
	f.rows = t.raw("request_timings")
	f.row = Artifact{
		State: stateLoaded, Schema: t.text("schema"), Tool: toolAnvil,
		PercentileRule: ruleNearestRank, SummaryOnly: ptr(!f.rows.isArray()),
		WallMs: t.float("wall_clock_ms"), Requests: t.count("requests"), Completed: t.count("completed"), Failed: t.count("failed"),
		ResponsesReceived: t.count("responses_received"), PerformanceEligible: t.bool("performance_eligible"),
		Concurrency: t.count("concurrency"), ContextTokens: t.count("context_tokens"), MaxContextTokens: t.count("max_context_tokens"),
		MaxTokens: t.count("max_tokens"), ContextSeed: t.int("context_seed"), ContextDistribution: distribution(t.raw("context_distribution")),
		PromptCacheMode: t.text("prompt_cache_mode"), SharedPrefixTokens: t.count("shared_prefix_tokens"),
		RequestCanaries: t.bool("request_canaries"), ResponseWords: t.count("response_words"), OutputPolicy: t.text("controlled_output_policy"),
	}
	f.flags()
	f.times()
	return f
}

func (f *anvilFile) flags() {
	flags := pick(f.top.raw("serve_flags"), "/serve_flags", f.top.notes, "shared_prefix_burst", "thinking_mode", "reasoning_effort")
	f.row.SharedPrefixBurst, f.row.ThinkingMode = flags.bool("shared_prefix_burst"), flags.text("thinking_mode")
	f.row.ReasoningEffort = flags.control("reasoning_effort")
	sampling := pick(f.top.raw("sampling"), "/sampling", f.top.notes, "temperature", "top_p")
	f.row.Temperature, f.row.TopP = sampled(sampling, "temperature"), sampled(sampling, "top_p")
}

// sampled is the value a request really used, as text.
func sampled(f fields, name string) string {
	if !f.raw(name).isObject() {
		return ""
	}
	s := pick(f.raw(name), f.at+"/"+name, f.notes, "effective_request", "sent")
	if sent := s.bool("sent"); sent != nil && !*sent {
		return notSent
	}
	if x := s.float("effective_request"); x != nil {
		return number(x)
	}
	return ""
}

// times prefers the nanosecond fields; the labels have whole seconds.
func (f *anvilFile) times() {
	f.row.StartedUnixNs, f.row.FinishedUnixNs = f.top.count("started_at_unix_ns"), f.top.count("finished_at_unix_ns")
	if f.row.StartedUnixNs != nil {
		f.row.TimePrecisionNs = ptr(int64(1))
		return
	}
	f.row.StartedUnixNs, f.row.FinishedUnixNs = f.second("started_at"), f.second("finished_at")
	if f.row.StartedUnixNs != nil {
		f.row.TimePrecisionNs = ptr(precisionSecond)
	}
}

func (f *anvilFile) second(name string) *int64 {
	s := f.top.text(name)
	if s == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil || at.Year() < 1970 || at.Year() > 2200 {
		f.top.wrong(name, "a time of day in UTC")
		return nil
	}
	return ptr(at.UnixNano())
}

// distribution keeps the map of context sizes as JSON text with sorted keys.
func distribution(v value) string {
	counts := map[string]int64{}
	for key, member := range v.members() {
		n, ok := member.integer()
		if !ok || len(counts) >= 1000 {
			return ""
		}
		counts[cut(string(key), 50)] = n
	}
	if len(counts) == 0 {
		return ""
	}
	return jsonText(counts)
}

// finish writes everything, the artifact's own row last: its protocol hangs on
// the rows.
func (f *anvilFile) finish(d *document) {
	missing := map[string]string{}
	f.shape(missing)
	f.readRows()
	f.protocol()
	f.counts()
	f.stats()
	if f.row.Tool == toolAnvil && f.row.StartedUnixNs == nil {
		missing["started_unix_ns"] = "this shape of the artifact has no times"
	}
	f.row.Extra = extra(d.head, f.top.asked)
	f.row.Missing = reasons(missing)
	f.out.artifact(f.row)
}

// Shapes of the artifact, by the fields they have.
const (
	shapeLegacy        = "legacy"
	shapeSummary       = "v2"
	shapeRows          = "v3"
	shapeFirstOutput   = "v3-first-output"
	shapeReasoning     = "v4"
	shapeDistributions = "distributions"
	shapeSampling      = "distributions-sampling"
	shapeReplicas      = "replicas"
)

func (f *anvilFile) shape(missing map[string]string) {
	label := f.top.text("measurement_protocol")
	first := len(f.top.raw("metrics").get("time_to_first_output_p50_ms")) > 0
	switch {
	case f.row.Kind == KindAggregate:
		f.row.Shape = shapeReplicas
	case f.top.raw("metric_population").isObject() && f.top.has("sampling"):
		f.row.Shape = shapeSampling
	case f.top.raw("metric_population").isObject():
		f.row.Shape = shapeDistributions
	case label == "":
		f.row.Shape, f.row.PercentileRule = shapeLegacy, ruleRoundHalf
		missing["t_first_visible_ms"] = "no rows; the tool put the elapsed time where no content came"
		missing["output_tokens"] = "no rows; the stated sum counts content deltas, not tokens"
	case label == "capacity-v2":
		f.row.Shape = shapeSummary
	case label == labelReasoning:
		f.row.Shape = shapeReasoning
	case first:
		f.row.Shape = shapeFirstOutput
	default:
		f.row.Shape = shapeRows
	}
	f.row.LabelProtocol = label
	f.row.Boundary = boundaryVisible
	if first || f.row.Kind == KindAggregate && f.rows.isArray() && len(firstOf(f.rows).get("time_to_first_output_ms")) > 0 {
		f.row.Boundary = boundaryAny
	} else {
		missing["t_first_any_ms"] = "this shape does not record the first output of any channel"
	}
	if *f.row.SummaryOnly {
		missing["artifact_requests"] = "the file holds aggregates only"
	}
}

func firstOf(list value) value {
	for _, v := range list.elements() {
		return v
	}
	return nil
}

// protocol takes the protocol from what the streams show, not from the label:
// the tool labels a cell by its passing requests only, so a reasoning cell
// whose requests all failed is labelled capacity-v3 (formats.md section 1.5).
func (f *anvilFile) protocol() {
	label := f.row.LabelProtocol
	protocol, basis := label, "label"
	switch {
	case label == "":
		f.row.Protocol, f.row.ProtocolBasis = protocolLegacy, "fields"
		return
	case label != labelVisible && label != labelReasoning:
	case f.seen.reasoning > 0:
		protocol, basis = labelReasoning, "streams"
	case f.seen.known > 0 && f.seen.known == f.seen.all:
		protocol, basis = labelVisible, "streams"
	}
	if protocol != label {
		f.out.notes.add(CodeProtocolLabel, "/measurement_protocol", "the label is %q; the streams show %q", label, protocol)
	}
	f.row.Protocol, f.row.ProtocolBasis = protocolPrefix+protocol, basis
}

// counts holds the stated counts against the rows.
func (f *anvilFile) counts() {
	if *f.row.SummaryOnly {
		return
	}
	check := func(name string, stated *int64, rows int64) {
		if stated != nil && *stated != rows {
			f.out.notes.add(CodeCounts, "/"+name, "%s is stated as %d; the file has %d rows for it", name, *stated, rows)
		}
	}
	check("completed", f.row.Completed, f.seen.completed)
	check("failed", f.row.Failed, f.seen.failed)
	check("requests", f.row.Requests, f.seen.completed+f.seen.failed)
	if f.row.Requests != nil && !f.seen.indexesWhole(*f.row.Requests) {
		f.out.notes.add(CodeCounts, "/request_timings", "the request indexes are not 0 to %d, each once", *f.row.Requests-1)
	}
}
