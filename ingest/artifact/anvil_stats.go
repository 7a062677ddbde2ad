package artifact

import (
	"strconv"
	"strings"
)

// stem is one figure of anvil-serving's metrics: its key is the stem, a
// statistic and, for some, the unit at the end.
type stem struct {
	name, suffix, unit string
	metric             string // as artifact_stats names it
	field              string // of a timing row
}

// anvilStems (formats.md section 2.4). ttft is the first visible content and
// time_to_first_output the first of any channel, as in assay/v1 and the other
// way round than in AIPerf.
var anvilStems = []stem{
	{"time_to_first_output", "_ms", "ms", "t_first_any", "time_to_first_output_ms"},
	{"ttft", "_ms", "ms", "t_first_visible", "ttft_ms"},
	{"generation", "_ms", "ms", "generation", "generation_ms"},
	{"e2e", "_ms", "ms", "e2e", "e2e_ms"},
	{"mean_time_per_output_token", "_ms", "ms", "mean_time_per_output_token", "mean_time_per_output_token_ms"},
	{"tpot", "_ms", "ms", "tpot", "tpot_ms"},
	{"effective_prefill_tok_s", "", "tokens/s", "effective_prefill", "effective_prefill_tok_s"},
	{"decode_tok_s", "", "tokens/s", "decode", "decode_tok_s"},
	{"mean_inter_token_latency_ms", "", "ms", "mean_inter_token_latency", "mean_inter_token_latency_ms"},
	{"prompt_tokens", "", "tokens", "prompt_tokens", "prompt_tokens"},
	{"completion_tokens", "", "tokens", "completion_tokens", "output_tokens"},
}

// parseAnvil splits a key of metrics into its stem and its statistic.
func parseAnvil(key string) (s stem, stat statistic, ok bool) {
	for _, s := range anvilStems {
		rest, found := strings.CutPrefix(key, s.name+"_")
		if !found {
			continue
		}
		if rest == "samples" {
			return s, statistic{name: "n"}, true
		}
		rest, found = strings.CutSuffix(rest, s.suffix)
		if !found {
			continue
		}
		switch rest {
		case "mean", "stddev", "mean_ci95_low", "mean_ci95_high", "min", "max":
			return s, statistic{name: rest}, true
		}
		if q, ok := parsePercentile(rest); ok {
			return s, statistic{name: "percentile", quantile: q}, true
		}
	}
	return stem{}, statistic{}, false
}

// parsePercentile reads p50, p99 and p99.9.
func parsePercentile(s string) (float64, bool) {
	digits, ok := strings.CutPrefix(s, "p")
	if !ok || digits == "" || digits[0] < '0' || digits[0] > '9' {
		return 0, false
	}
	q, err := strconv.ParseFloat(digits, 64)
	return q, err == nil && q >= 0 && q <= 100
}

func (f *anvilFile) stats() {
	for key, v := range f.top.raw("metrics").members() {
		name := string(key)
		if v.isObject() {
			f.sources(name, v)
			continue
		}
		if s, stat, ok := parseAnvil(name); ok {
			f.distributed(name, v, s, stat)
			continue
		}
		f.single(name, v)
	}
}

// stated reads a figure of metrics; a truth value counts as 1 or 0.
func (f *anvilFile) stated(name string, v value) (figure *float64, ok bool) {
	if b, isBool := v.boolean(); isBool {
		if b {
			return ptr(1.0), true
		}
		return ptr(0.0), true
	}
	if !v.isNull() {
		if _, isNumber := v.number(); !isNumber {
			return nil, false
		}
	}
	return one("/metrics", name, v, f.top.notes).float(name), true
}

func (f *anvilFile) write(s Stat) {
	s.Artifact, s.Scope = f.out.id(0), orWord(s.Scope, "completed")
	s.Definition = f.row.Protocol + ":" + s.SourceKey
	f.out.stat(s)
}

func orWord(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

const noRows = "the file has no rows to recompute it from"

func (f *anvilFile) distributed(name string, v value, s stem, stat statistic) {
	figure, ok := f.stated(name, v)
	if !ok {
		return
	}
	out := Stat{SourceKey: name, Metric: s.metric, Stat: stat.label(), Unit: s.unit, Value: figure, Agreement: AgreeUnknown, Reason: noRows}
	if stat.name == "n" {
		out.Unit = "requests"
	}
	if !*f.row.SummaryOnly {
		c := f.column(s.field)
		out.N = ptr(int64(c.n()))
		out.Recomputed, _ = stat.of(c, f.row.PercentileRule, true)
		out.Agreement, out.Reason = compare(figure, out.Recomputed), ""
		if c.n() == 0 {
			out.Reason = "no request has this figure"
		}
	} else if s.name == "ttft" || s.name == "e2e" {
		out.N = f.row.Completed // both shapes without rows sample these for every completed request
	}
	f.write(out)
}

// column is the values of a field over the passing rows, in file order.
func (f *anvilFile) column(field string) *column {
	if c := f.columns[field]; c != nil {
		return c
	}
	n := 0
	for range f.eachValue(field) {
		n++
	}
	values := make([]float64, 0, n)
	for x := range f.eachValue(field) {
		values = append(values, x)
	}
	f.columns[field] = newColumn(values)
	return f.columns[field]
}

func (f *anvilFile) eachValue(field string) func(func(float64) bool) {
	return func(yield func(float64) bool) {
		for _, row := range f.rows.elements() {
			if x, ok := row.get(field).number(); ok && finite(x) != nil && !yield(x) {
				return
			}
		}
	}
}

// countRows is how many passing rows satisfy a condition.
func (f *anvilFile) countRows(holds func(row value) bool) *float64 {
	n := 0.0
	for _, row := range f.rows.elements() {
		if holds(row) {
			n++
		}
	}
	return &n
}

// maxSources bounds how many counts of a map are recomputed: each goes through
// all rows. Three are known.
const maxSources = 20

// sources writes a map of counts, such as output_token_sources.
func (f *anvilFile) sources(name string, v value) {
	left := maxSources
	for key, member := range v.members() {
		source := cut(string(key), 100)
		figure, ok := f.stated(name+"/"+source, member)
		if !ok {
			continue
		}
		out := Stat{SourceKey: name + "/" + source, Metric: cut(name, 100), Stat: "n", Unit: "requests", Value: figure, Agreement: AgreeUnknown, Reason: noRows}
		if !*f.row.SummaryOnly && name == "output_token_sources" && left > 0 {
			left--
			out.Recomputed = f.countRows(func(row value) bool { s, _ := row.get("output_token_source").text(); return s == source })
			out.Agreement, out.Reason = compare(figure, out.Recomputed), ""
		}
		f.write(out)
	}
}

// anvilSingle are the figures that are no part of a distribution, with the
// function that recomputes each from the rows. ok is false when the rows lack
// what it takes; why says so.
var anvilSingle = map[string]struct {
	metric, stat, unit string
	recompute          func(f *anvilFile) (figure *float64, why string)
}{
	"throughput_tok_s":                       {"completion_throughput", "rate", "tokens/s", (*anvilFile).throughput},
	"throughput_tok_s_upper_bound":           {"completion_throughput", "rate_upper_bound", "tokens/s", (*anvilFile).throughputUpper},
	"throughput_performance_eligible":        {"completion_throughput", "eligible", "boolean", (*anvilFile).throughputEligible},
	"output_tokens":                          {"completion_tokens", "sum", "tokens", sumOf("output_tokens", false)},
	"prompt_tokens":                          {"prompt_tokens", "sum", "tokens", sumOf("prompt_tokens", true)},
	"content_chunks":                         {"content_chunks", "sum", "chunks", sumOf("content_chunks", false)},
	"reasoning_chunks":                       {"reasoning_chunks", "sum", "chunks", sumOf("reasoning_chunks", false)},
	"content_chunks_s":                       {"content_chunks", "rate", "chunks/s", (*anvilFile).chunkRate},
	"prompt_token_samples":                   {"prompt_tokens", "n", "requests", counted("prompt_tokens")},
	"request_canary_samples":                 {"request_canary", "n", "requests", counted("request_canary")},
	"request_canary_passed":                  {"request_canary", "passed", "requests", truths("request_canary", "passed")},
	"controlled_output_samples":              {"controlled_output", "n", "requests", counted("controlled_output")},
	"controlled_output_exact_adherence":      {"controlled_output", "exact", "requests", truths("controlled_output", "exact_adherence")},
	"controlled_output_unobservable":         {"controlled_output", "unobservable", "requests", (*anvilFile).unobservable},
	"controlled_output_exact_adherence_rate": {"controlled_output", "exact_share", "ratio", (*anvilFile).exactShare},
	"prefix_cache_hit_avg": {"cached_share", "mean", "ratio", func(*anvilFile) (*float64, string) {
		return nil, "the rows do not keep cached tokens"
	}},
}

func (f *anvilFile) single(name string, v value) {
	figure, ok := f.stated(name, v)
	if !ok {
		return
	}
	known, ok := anvilSingle[name]
	out := Stat{SourceKey: cut(name, 100), Metric: known.metric, Stat: known.stat, Unit: known.unit, Value: figure, Agreement: AgreeUnknown, Reason: noRows}
	switch {
	case !ok:
		out.Metric, out.Stat, out.Unit, out.Reason = cut(name, 100), "value", "unknown", "no definition of this figure is known"
	case !*f.row.SummaryOnly:
		if out.Recomputed, out.Reason = known.recompute(f); out.Reason == "" {
			out.Agreement = compare(figure, out.Recomputed)
		}
	}
	if name == "throughput_tok_s" && f.row.Failed != nil && *f.row.Failed > 0 && figure != nil {
		out.Reason = strings.TrimPrefix(out.Reason+"; requests failed: the wall time counts them and the tokens do not, so the rate is biased low", "; ")
	}
	f.write(out)
}

func sumOf(field string, nullWhenNone bool) func(*anvilFile) (*float64, string) {
	return func(f *anvilFile) (*float64, string) {
		c := f.column(field)
		if c.n() == 0 && nullWhenNone {
			return nil, ""
		}
		if c.n() == 0 && f.seen.completed > 0 {
			return nil, "the rows do not have " + field
		}
		return &c.sum, ""
	}
}

func counted(field string) func(*anvilFile) (*float64, string) {
	return func(f *anvilFile) (*float64, string) {
		return f.countRows(func(row value) bool { return !row.get(field).isNull() }), ""
	}
}

func truths(object, field string) func(*anvilFile) (*float64, string) {
	return func(f *anvilFile) (*float64, string) {
		return f.countRows(func(row value) bool { return string(row.path(object, field)) == "true" }), ""
	}
}

func (f *anvilFile) unobservable() (*float64, string) {
	return f.countRows(func(row value) bool {
		o := row.get("controlled_output")
		return o.isObject() && o.get("exact_adherence").isNull()
	}), ""
}

func (f *anvilFile) exactShare() (*float64, string) {
	all, _ := counted("controlled_output")(f)
	exact, _ := truths("controlled_output", "exact_adherence")(f)
	unseen, _ := f.unobservable()
	switch {
	case *all == 0:
		return nil, ""
	case *unseen > 0:
		return nil, "whether unobservable answers count in the share is not stated"
	}
	return finite(*exact / *all), ""
}

// throughput is tokens of passing requests over the wall time of the cell.
// The later shapes withhold it from a cell that is not whole.
func (f *anvilFile) throughput() (*float64, string) {
	if f.row.Shape == shapeDistributions || f.row.Shape == shapeSampling {
		if whole, why := f.throughputEligible(); why != "" || *whole == 0 {
			return nil, why
		}
	}
	return f.tokenRate(f.row.WallMs)
}

func (f *anvilFile) throughputUpper() (*float64, string) {
	return f.tokenRate(f.top.float("wall_clock_ms_lower_bound"))
}

func (f *anvilFile) tokenRate(wallMs *float64) (*float64, string) {
	switch {
	case wallMs == nil || *wallMs <= 0:
		return nil, "the file has no wall time"
	case f.seen.notUsage > 0:
		return nil, "some rows have no exact token count"
	}
	return finite(f.column("output_tokens").sum / (*wallMs / 1000)), ""
}

func (f *anvilFile) throughputEligible() (*float64, string) {
	if f.row.Requests == nil || f.row.WallMs == nil {
		return nil, "the file does not state its requests or its wall time"
	}
	if f.seen.completed == *f.row.Requests && f.seen.failed == 0 && f.seen.notUsage == 0 && f.seen.completed > 0 && *f.row.WallMs > 0 {
		return ptr(1.0), ""
	}
	return ptr(0.0), ""
}

// chunkRate is stated only where token counts are missing.
func (f *anvilFile) chunkRate() (*float64, string) {
	if f.seen.notUsage == 0 {
		return nil, ""
	}
	c := f.column("content_chunks")
	if f.row.WallMs == nil || *f.row.WallMs <= 0 || c.n() == 0 {
		return nil, "the rows do not have content_chunks"
	}
	return finite(c.sum / (*f.row.WallMs / 1000)), ""
}
