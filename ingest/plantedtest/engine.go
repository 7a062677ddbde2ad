package plantedtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"assay/collect/record"
)

// The counters a page of the generated engine has, by canonical name.
const (
	countFinished    = "requests_finished"
	countPrompt      = "prompt_tokens"
	countGenerated   = "generation_tokens"
	countPreempted   = "preemptions"
	histogramLatency = "e2e_seconds"
)

var scraped = map[string]string{
	countFinished: "vllm:request_success_total", countPrompt: "vllm:prompt_tokens_total",
	countGenerated: "vllm:generation_tokens_total", countPreempted: "vllm:num_preemptions_total",
}

// counters in the order of the page.
var counters = []string{countFinished, countPrompt, countGenerated, countPreempted}

// engineTruth is what the pages of an attempt show.
type engineTruth struct {
	// reasons by canonical name: the code why there is no delta; "" where there is one.
	reasons map[string]string
	deltas  map[string]int64
	torn    bool // a line of a page cannot be read
	gone    bool // the page after lacks a family of the pages before it
	pages   bool // there is a whole page
}

// engineState is one page to be.
type engineState struct {
	start    float64
	values   map[string]int64
	missing  map[string]bool // series left out
	bare     map[string]bool // of these, the ones not even declared
	created  int64
	edges    []string
	buckets  []int64 // cumulative, one an edge and one for +Inf
	count    int64
	sum      int64
	nan      string // counter whose value is no number
	tornLine bool
	newLabel int64 // requests finished under a label of their own; 0 for none
}

// engineFaults change the two pages and say what no longer has a delta. own is
// what is lost by the fault alone.
var engineFaults = []struct {
	name  string
	plant func(before, after *engineState)
	code  string
	own   []string // canonical names without a delta; nil is every one
}{
	{"counter_fall", func(b, a *engineState) { a.values[countGenerated] = b.values[countGenerated] - 1 }, "counter_reset", []string{countGenerated}},
	{"process_restart", func(b, a *engineState) { a.start = b.start + 60 }, "counter_reset", nil},
	{"created_changed", func(b, a *engineState) { a.created = b.created + 1 }, "counter_reset", []string{countPrompt}},
	{"bucket_change", func(_, a *engineState) { a.edges = []string{"0.5", "2", "7"} }, "bucket_change", []string{histogramLatency}},
	{"bucket_fall", func(b, a *engineState) { a.buckets[0] = b.buckets[0] - 1 }, "counter_reset", []string{histogramLatency}},
	{"sum_fall", func(b, a *engineState) { a.sum = b.sum - 1 }, "counter_reset", []string{histogramLatency}},
	{"torn_not_monotone", func(_, a *engineState) { a.buckets[1] = a.buckets[2] + 1 }, "torn_scrape", []string{histogramLatency}},
	{"torn_count", func(_, a *engineState) { a.count++ }, "torn_scrape", []string{histogramLatency}},
	{"torn_before", func(b, _ *engineState) { b.count++ }, "torn_scrape", []string{histogramLatency}},
	{"not_a_number", func(_, a *engineState) { a.nan = countPrompt }, "torn_scrape", []string{countPrompt}},
	{"gone_after", func(_, a *engineState) { a.missing[countPreempted] = true }, "torn_scrape", []string{countPreempted}},
	{"histogram_not_declared", func(b, _ *engineState) { b.missing[histogramLatency], b.bare[histogramLatency] = true, true }, "no_baseline", []string{histogramLatency}},
	{"histogram_starts", func(b, _ *engineState) { b.missing[histogramLatency] = true }, "", []string{}},
	{"label_starts", func(_, a *engineState) { a.newLabel = 1 }, "", []string{}},
	{"torn_last_line", func(_, a *engineState) { a.tornLine = true }, "", []string{}},
	{"no_page_before", nil, "no_baseline", nil},
	{"no_page_after", nil, "no_baseline", nil},
	{"page_before_failed", nil, "no_baseline", nil},
	{"no_pages", nil, "", nil},
	{"foreign_requests", func(_, a *engineState) { a.values[countFinished]++ }, "", []string{}},
	{"foreign_prompt_tokens", func(_, a *engineState) { a.values[countPrompt] += 17 }, "", []string{}},
	{"foreign_generated_tokens", func(_, a *engineState) { a.values[countGenerated]++ }, "", []string{}},
	{"preempted", func(_, a *engineState) { a.values[countPreempted] += 2 }, "", []string{}},
}

// engineStates are the engine before and after an attempt in which it did what
// the client asked and nothing else.
func (c *Campaign) engineStates(a *attempt) (before, after engineState) {
	before = engineState{
		start: 1_790_000_000 + float64(c.between(0, 1000)), values: map[string]int64{}, missing: map[string]bool{}, bare: map[string]bool{},
		created: 1_790_000_001, edges: []string{"0.5", "1", "5"}, buckets: []int64{4, 9, 12, 15}, count: 15, sum: 40,
	}
	after = before
	after.values, after.missing, after.bare = map[string]int64{}, map[string]bool{}, map[string]bool{}
	n := a.terminals()
	for i, name := range counters {
		before.values[name] = c.between(100, 5000)
		after.values[name] = before.values[name] + []int64{n, a.promptTokens(), a.completionTokens(), 0}[i]
	}
	after.buckets, after.count, after.sum = []int64{4, 9 + n/2, 12 + n, 15 + n}, 15+n, 40+3*n
	return before, after
}

// engine scrapes the pages of an attempt whose exchanges are known.
func (c *Campaign) engine(x *cell, a *attempt) {
	before, after := c.engineStates(a)
	truth := engineTruth{reasons: map[string]string{}, deltas: map[string]int64{}, pages: x.engineFault != "no_pages"}
	for _, f := range engineFaults {
		if f.name != x.engineFault {
			continue
		}
		if f.plant != nil {
			f.plant(&before, &after)
		}
		truth.torn, truth.gone = after.tornLine, len(after.missing) > 0
		lost := f.own
		if lost == nil {
			lost = append([]string{histogramLatency}, counters...)
		}
		for _, name := range lost {
			truth.reasons[name] = f.code
		}
	}
	for _, name := range counters {
		truth.deltas[name] = after.values[name] - before.values[name]
	}
	truth.deltas[countFinished] += after.newLabel
	truth.deltas[histogramLatency] = after.count - before.count
	if before.missing[histogramLatency] { // absent and declared counts from 0
		truth.deltas[histogramLatency] = after.count
	}
	a.engine = truth
	c.scrape(x, a, before, after)
}

func (c *Campaign) scrape(x *cell, a *attempt, before, after engineState) {
	add := func(phase string, at int64, body string, status int64) {
		page := record.Page{Seq: int64(len(a.pages)), Phase: phase, StartNs: at, EndNs: at + milli, StartUnixNs: anchorUnixNs + at, HTTPStatus: &status, ContentType: "text/plain"}
		if status != 200 {
			page.Error = fmt.Sprintf("status_%d", status)
		} else {
			sum := sha256.Sum256([]byte(body))
			page.BodySHA256, page.Body = hex.EncodeToString(sum[:]), []byte(body)
		}
		a.pages = append(a.pages, page)
	}
	switch x.engineFault {
	case "no_pages":
		add("before", a.startNs, "", 404)
		return
	case "page_before_failed":
		add("before", a.startNs, "", 500)
	case "no_page_before":
	default:
		add("before", a.startNs, before.text(), 200)
	}
	add("during", a.startNs+500*milli, before.text(), 200)
	if x.engineFault != "no_page_after" {
		add("after", a.endNs, after.text(), 200)
	}
}

// text is the page.
func (s engineState) text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %.2f", s.start)
	for _, name := range counters {
		line("# TYPE %s counter", scraped[name])
		value := fmt.Sprintf("%d.0", s.values[name])
		if s.nan == name {
			value = "NaN"
		}
		if !s.missing[name] {
			line(`%s{engine="0",model_name="m"} %s`, scraped[name], value)
		}
	}
	if s.newLabel > 0 {
		line(`%s{engine="1",model_name="m"} %d`, scraped[countFinished], s.newLabel)
	}
	line("# TYPE vllm:prompt_tokens_created gauge\nvllm:prompt_tokens_created{engine=\"0\",model_name=\"m\"} %d", s.created)
	const family = "vllm:e2e_request_latency_seconds"
	if !s.bare[histogramLatency] {
		line("# HELP %s Latency.\n# TYPE %s histogram", family, family)
	}
	if !s.missing[histogramLatency] {
		for i, edge := range append(append([]string{}, s.edges...), "+Inf") {
			line(`%s_bucket{engine="0",le="%s",model_name="m"} %d`, family, edge, s.buckets[i])
		}
		line("%s_count{engine=\"0\",model_name=\"m\"} %d\n%s_sum{engine=\"0\",model_name=\"m\"} %d", family, s.count, family, s.sum)
	}
	if s.tornLine {
		b.WriteString("vllm:kv_cache_usage_perc{engine=\"0\"} 0.1")
	}
	return b.String()
}

// terminals are the requests the engine itself finished.
func (a *attempt) terminals() int64 {
	n := int64(0)
	for _, e := range a.exchanges {
		if e != nil && e.dispatched && e.e2e != nil {
			n++
		}
	}
	return n
}

func (a *attempt) promptTokens() int64 {
	return a.sum(func(e *exchange) *int64 { return e.prompt })
}

func (a *attempt) completionTokens() int64 {
	return a.sum(func(e *exchange) *int64 { return e.completion })
}

func (a *attempt) sum(of func(*exchange) *int64) int64 {
	n := int64(0)
	for _, e := range a.exchanges {
		if e != nil && of(e) != nil {
			n += *of(e)
		}
	}
	return n
}
