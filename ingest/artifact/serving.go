package artifact

import (
	"fmt"
	"slices"
	"strings"
)

// vLLM's and SGLang's serving benchmarks write the same layout: scalars in
// milliseconds, and arrays in seconds with one element a request.

// servingTool is what differs between them.
type servingTool struct {
	tool     string
	requests string            // member with the number of planned requests
	scalars  []string          // members that become columns, beside the common ones
	metrics  map[string]string // figure of a key such as mean_ttft_ms, to the metric of artifact_stats
	totals   map[string]total
	fill     func(s *serving)             // columns of the artifact
	row      func(s *serving, r *Request) // what only this tool's rows have
}

// total is a figure over a whole run.
type total struct {
	metric, stat, unit string
	recompute          func(s *serving) (*float64, string)
}

var servingTop = []string{
	"backend", "endpoint_type", "request_rate", "max_concurrency", "duration", "completed", "failed",
	"input_lens", "output_lens", "ttfts", "itls", "generated_texts", "errors",
}

// serving is one run while it is read.
type serving struct {
	tool    *servingTool
	out     *output
	top     fields
	row     Artifact
	rows    bool // the arrays are there and of one length
	n       int
	passed  []bool                   // by request; with rows only
	columns map[string]servingColumn // by figure
}

func loadServing(d *document, o *output, tool *servingTool) {
	part := int64(0)
	for line, v := range d.values() {
		if is, _, _ := tool.recognise(v); !is {
			o.notes.add(CodeFormatMismatch, "line "+itoa(line), "no run of %s, as the first line is; the line is not used", tool.tool)
			continue
		}
		at := ""
		if line > 1 || !d.single() {
			at = fmt.Sprintf("line %d: ", line)
		}
		s := &serving{tool: tool, out: o, columns: map[string]servingColumn{}, top: pick(v, at, &o.notes, slices.Concat(servingTop, tool.scalars, []string{tool.requests})...)}
		o.at = at
		s.load(v, part)
		part++
	}
}

func (t *servingTool) recognise(v value) (is bool, version string, read bool) {
	if t.tool == toolVLLM {
		return isVLLM(v)
	}
	return isSGLang(v)
}

func (s *serving) load(v value, part int64) {
	t := s.top
	s.row = Artifact{
		Part: part, Kind: KindBenchmark, State: stateLoaded, Tool: s.tool.tool, PercentileRule: ruleLinear, Boundary: boundaryChunk,
		Engine: t.text("backend"), RequestRate: rate(t, "request_rate"), Concurrency: t.count("max_concurrency"),
		Completed: t.count("completed"), Failed: t.count("failed"), WallMs: scaled(t.float("duration"), 1000), Requests: t.count(s.tool.requests),
	}
	s.lengths()
	s.row.SummaryOnly = ptr(!s.rows)
	s.row.Shape = map[bool]string{true: "detailed", false: "plain"}[s.rows]
	missing := map[string]string{
		"t_first_visible_ms": "the tool does not tell reasoning from visible output",
		"started_unix_ns":    "the file has no time with a zone",
	}
	s.row.Missing = reasons(missing)
	s.tool.fill(s)
	s.readRows()
	s.stats(v)
	s.row.Extra = extra(v, func(name string) bool {
		_, _, figure := s.parse(name)
		return figure || s.tool.totals[name].metric != "" || s.top.asked(name)
	})
	s.out.artifact(s.row)
}

// rate is a request rate as stated: a number, inf, or a word such as trace.
func rate(f fields, name string) string {
	v := f.raw(name)
	if v.isNull() {
		return ""
	}
	if s, ok := v.text(); ok {
		return s
	}
	if x, ok := v.number(); ok {
		if finite(x) == nil {
			return strings.TrimPrefix(strings.ToLower(fmt.Sprint(x)), "+") // inf: no pacing
		}
		return number(&x)
	}
	f.wrong(name, "a number or a word")
	return ""
}

// lengths decides whether the arrays can be read side by side.
func (s *serving) lengths() {
	first := ""
	for _, name := range []string{"ttfts", "input_lens", "output_lens", "itls", "errors", "latencies", "start_times", "cached_tokens"} {
		v := s.top.raw(name)
		if !v.isArray() {
			continue
		}
		n := v.count()
		if first == "" {
			first, s.n = name, n
		} else if n != s.n {
			s.out.notes.add(CodeLengths, s.top.at+"/"+name, "%d elements, where %s has %d; no rows are read", n, first, s.n)
			s.n = 0
			return
		}
	}
	s.rows = s.top.raw("ttfts").isArray() && s.top.raw("output_lens").isArray()
}

// each goes through one array by request; the value is nothing when the file
// does not have the array.
func (s *serving) each(name string) func() value {
	c := s.top.raw(name).cursor()
	return func() value {
		v, _ := c.next()
		return v
	}
}

var servingRow = []string{"input_lens", "output_lens", "ttfts", "errors", "latencies", "cached_tokens"}

const failedRow = "the request failed; the tool writes 0 for it"

func (s *serving) readRows() {
	if !s.rows {
		return
	}
	s.passed = make([]bool, s.n)
	input, output, ttft, gaps, errs, latency, cached := s.each("input_lens"), s.each("output_lens"), s.each("ttfts"), s.each("itls"),
		s.each("errors"), s.each("latencies"), s.each("cached_tokens")
	var completed, failed int64
	for i := range s.n {
		f := fields{
			at: s.top.at + "/" + itoa(i), notes: s.top.notes, names: servingRow,
			values: []value{input(), output(), ttft(), errs(), latency(), cached()},
		}
		r := s.request(i, f, gaps())
		if s.passed[i] {
			completed++
		} else {
			failed++
		}
		s.tool.row(s, &r)
		s.out.request(r)
	}
	if s.row.Completed != nil && *s.row.Completed != completed {
		s.out.notes.add(CodeCounts, s.top.at+"/completed", "completed is stated as %d; %d rows have no error", *s.row.Completed, completed)
	}
	if s.row.Failed == nil {
		s.row.Failed = &failed // counted, since older files do not state it
	}
}

// request reads one row. A failed one has the tool's zeros as nulls.
func (s *serving) request(i int, f fields, gaps value) Request {
	r := Request{Artifact: s.out.id(s.row.Part), Index: int64(i), Phase: "profiling", Status: "completed", PromptTokens: f.count("input_lens")}
	seconds, tokens := f.float("ttfts"), f.count("output_lens")
	wrong := f.raw("errors")
	silent := tokens != nil && *tokens == 0 && (seconds == nil || *seconds == 0)
	if wrong.isText() && len(wrong) > 2 || !wrong.isText() && silent {
		r.Status, r.ErrorSHA256 = "failed", digestOf(wrong)
		r.Missing = reasons(map[string]string{"t_first_any_ms": failedRow, "output_tokens": failedRow, "e2e_ms": failedRow})
		return r
	}
	s.passed[i] = true
	missing := map[string]string{}
	if seconds != nil && *seconds == 0 {
		seconds = nil
		missing["t_first_any_ms"] = "0.0 is no time"
	}
	r.FirstAnyMs, r.OutputTokens, r.CachedTokens = scaled(seconds, 1000), tokens, f.count("cached_tokens")
	var sum float64
	var n int64
	for _, g := range gaps.elements() {
		if x, ok := g.number(); ok && finite(x) != nil {
			sum += x
			n++
		}
	}
	if gaps.isArray() {
		r.Gaps = &n
	}
	if n > 0 {
		r.GapsMeanMs = finite(sum / float64(n) * 1000)
	}
	switch latency := f.float("latencies"); {
	case latency != nil:
		r.E2EMs, r.E2EBasis = scaled(latency, 1000), "stated"
	case seconds != nil && gaps.isArray():
		r.E2EMs, r.E2EBasis = finite((*seconds+sum)*1000), "reconstructed"
	default:
		missing["e2e_ms"] = "the file has no end of the request"
	}
	r.Missing = reasons(missing)
	return r
}
