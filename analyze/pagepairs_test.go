package analyze

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"assay/collect/engine"
)

// enginePages names series of one engine whose deltas are taken.
type enginePages struct {
	engine     string
	counters   []namedSeries // canonical name and name as scraped
	histograms []namedSeries
}

type namedSeries struct{ canonical, name string }

var pairedEngines = []enginePages{
	{"vllm", []namedSeries{{"requests_finished", "vllm:request_success_total"}, {"preemptions", "vllm:num_preemptions_total"}},
		[]namedSeries{{"e2e_seconds", "vllm:e2e_request_latency_seconds"}}},
	{"vllm old", []namedSeries{{"prefix_cache_hits", "vllm:gpu_prefix_cache_hits_total"}, {"generation_tokens", "vllm:generation_tokens"}},
		[]namedSeries{{"itl_per_output_seconds", "vllm:time_per_output_token_seconds"}}},
	{"sglang", []namedSeries{{"prompt_tokens", "sglang:prompt_tokens_total"}, {"spec_draft_rounds", "sglang:spec_verify_calls_total"}},
		[]namedSeries{{"queue_seconds", "sglang:queue_time_seconds"}}},
	{"llamacpp", []namedSeries{{"generation_tokens", "llamacpp:tokens_predicted_total"}, {"prefill_compute_seconds", "llamacpp:prompt_seconds_total"}}, nil},
	{"tensorrt_llm", []namedSeries{{"prompt_tokens_cached", "trtllm_prompt_cached_tokens_total"}, {"requests_finished", "trtllm_request_success_total"}},
		[]namedSeries{{"decode_seconds", "trtllm_request_decode_time_seconds"}}},
	{"lmdeploy", []namedSeries{{"generation_tokens", "lmdeploy:generation_tokens_total"}}, []namedSeries{{"prefill_seconds", "lmdeploy:request_prefill_time_seconds"}}},
	{"tgi", []namedSeries{{"requests_finished", "tgi_request_success"}}, []namedSeries{{"e2e_seconds", "tgi_request_duration"}}},
	{"dynamo", []namedSeries{{"generation_tokens", "dynamo_frontend_output_tokens_total"}}, []namedSeries{{"ttft_arrival_seconds", "dynamo_frontend_time_to_first_token_seconds"}}},
}

// expected is what the deltas of one generated series must be: a number, or none.
type expected struct {
	cell, canonical, labels string
	known                   bool
	delta, sum              float64 // sum is of a histogram
}

// pagePair is two generated pages of one process, or of two that replaced each
// other, and what must come out of them.
type pagePair struct {
	before, after []string
	want          []expected
}

// pairMaker makes page pairs. Values are whole numbers or quarters, so that no
// difference rounds.
type pairMaker struct {
	*rand.Rand
	cell                  string
	pair                  pagePair
	startKnown, sameStart bool
}

func (m *pairMaker) once(in int) bool { return m.IntN(in) == 0 }

func (m *pairMaker) make(cell string, pages enginePages) pagePair {
	*m = pairMaker{Rand: m.Rand, cell: cell, startKnown: !m.once(5), sameStart: !m.once(8)}
	if m.startKnown {
		m.line("# TYPE process_start_time_seconds gauge", true, true)
		m.line("process_start_time_seconds 1000", true, m.sameStart)
		m.line("process_start_time_seconds 2000", false, !m.sameStart)
	}
	for _, c := range pages.counters {
		m.counter(c)
	}
	for _, h := range pages.histograms {
		m.histogram(h)
	}
	return m.pair
}

// line puts a line on one page or both.
func (m *pairMaker) line(text string, before, after bool) {
	if before {
		m.pair.before = append(m.pair.before, text)
	}
	if after {
		m.pair.after = append(m.pair.after, text)
	}
}

// counter adds one family of one to three label sets. Each set has its own fate.
func (m *pairMaker) counter(c namedSeries) {
	declared := !m.once(4)
	m.line("# TYPE "+c.name+" counter", declared, true)
	for i := range 1 + m.IntN(3) {
		labels := fmt.Sprintf(`{"engine":"%d"}`, i)
		before, grown := m.value(), float64(m.IntN(1000))/4
		after, known := before+grown, true
		createdBefore, createdAfter := "5", "5"
		fate := m.IntN(12)
		switch fate {
		case 0: // reset, and counted on
			after, known = before-1-float64(m.IntN(4)), false
		case 1: // reset to nothing; only visible when there was something
			after, known = 0, before == 0
		case 2:
			createdAfter, known = "6", false
		case 3, 4: // begins during the cell
			before, after, known = 0, grown, m.startKnown
		case 5, 6, 7: // gone after, or no number
			known = false
		}
		set := fmt.Sprintf(`{engine="%d"}`, i)
		write := func(v float64) string { return fmt.Sprintf("%s%s %s", c.name, set, decimalText(v)) }
		m.line(write(before), fate != 3 && fate != 4 && fate != 6, false)
		m.line(c.name+set+" NaN", fate == 6, fate == 7)
		m.line(write(after), false, fate != 5 && fate != 7)
		if fate == 2 || m.once(3) && !(fate == 3 || fate == 4) {
			name := strings.TrimSuffix(c.name, "_total") + "_created" + set
			m.line(name+" "+createdBefore, true, false)
			m.line(name+" "+createdAfter, false, true)
		}
		known = known && (m.sameStart || !m.startKnown)
		m.pair.want = append(m.pair.want, expected{cell: m.cell, canonical: c.canonical, labels: labels, known: known, delta: after - before})
	}
}

// value is a counter's value, now and then one at which whole numbers end or a
// 64-bit counter wraps.
func (m *pairMaker) value() float64 {
	switch m.IntN(20) {
	case 0:
		return 0
	case 1:
		return 1 << 49
	}
	return float64(1 + m.IntN(100000))
}

func decimalText(v float64) string { return fmt.Sprintf("%.2f", v) }

// histogram adds one family of one or two label sets.
func (m *pairMaker) histogram(h namedSeries) {
	declared := !m.once(4)
	m.line("# TYPE "+h.name+" histogram", declared, true)
	for i := range 1 + m.IntN(2) {
		m.histogramOf(h, i, declared)
	}
}

// histogramState is one label set on one page; buckets are cumulative and the
// last one is +Inf.
type histogramState struct {
	edges   []string
	buckets []int64
	count   int64
	sum     float64
	nan     bool
}

func (m *pairMaker) histogramOf(h namedSeries, engineRank int, declared bool) {
	edges := []string{"0.5", "1", "2.5", "+Inf"}[m.IntN(3):]
	before := histogramState{edges: edges}
	after := histogramState{edges: edges}
	counted := int64(0)
	for range edges {
		before.count += int64(m.IntN(50))
		counted += int64(m.IntN(50))
		before.buckets, after.buckets = append(before.buckets, before.count), append(after.buckets, before.count+counted)
	}
	after.count = before.count + counted
	before.sum = float64(m.IntN(4000)) / 4
	after.sum = before.sum + float64(m.IntN(4000))/4
	known, inBefore, inAfter := true, true, true
	last := len(edges) - 1
	switch m.IntN(12) {
	case 0: // reset: everything begins again
		fresh := int64(m.IntN(3))
		after.count, after.sum = fresh, float64(fresh)
		for i := range after.buckets {
			after.buckets[i] = fresh
		}
		known = false
		if before.count <= fresh { // nothing shows it, and nothing was lost
			before = after
			known = true
		}
	case 1: // other edges
		after.edges = append([]string{"0.1"}, edges...)
		after.buckets = append([]int64{0}, after.buckets...)
		known = false
	case 2: // one bucket falls
		if last == 0 || before.buckets[0] == 0 {
			break
		}
		after.buckets[0], known = before.buckets[0]-1, false
	case 3: // +Inf is not the count
		after.count++
		known = false
	case 4: // not monotone
		if last == 0 {
			break
		}
		after.buckets[0], known = after.buckets[last]+1, false
	case 5:
		inAfter, known = false, false
	case 6: // begins during the cell
		inBefore, known = false, m.startKnown && declared
		before.count, before.sum = 0, 0
	case 7:
		before.nan, known = true, false
	case 8:
		if before.sum == 0 {
			break
		}
		after.sum, known = before.sum-0.25, false
	}
	// A second label set in the family declares nothing: only its TYPE line does.
	known = known && (m.sameStart || !m.startKnown)
	if inBefore {
		m.pair.before = append(m.pair.before, before.lines(h.name, engineRank)...)
	}
	if inAfter {
		m.pair.after = append(m.pair.after, after.lines(h.name, engineRank)...)
	}
	if inBefore || inAfter {
		m.pair.want = append(m.pair.want, expected{
			cell: m.cell, canonical: h.canonical, labels: fmt.Sprintf(`{"engine":"%d"}`, engineRank), known: known,
			delta: float64(after.count - before.count), sum: after.sum - before.sum,
		})
	}
}

func (s histogramState) lines(name string, rank int) []string {
	var all []string
	for i, edge := range s.edges {
		all = append(all, fmt.Sprintf(`%s_bucket{engine="%d",le="%s"} %d`, name, rank, edge, s.buckets[i]))
	}
	sum := decimalText(s.sum)
	if s.nan {
		sum = "NaN"
	}
	return append(all, fmt.Sprintf(`%s_count{engine="%d"} %d`, name, rank, s.count), fmt.Sprintf(`%s_sum{engine="%d"} %s`, name, rank, sum))
}

// pairSamples reads a page as ingest does and gives its rows of engine_samples.
func pairSamples(lines []string, row func(s engine.Series, declared bool) error, only func(family string) error) error {
	page, _ := engine.ParsePage([]byte(strings.Join(lines, "\n") + "\n"))
	seen := map[string]bool{}
	for _, s := range page.Series {
		seen[s.Family] = true
		_, declared := page.Families[s.Family]
		if err := row(s, declared); err != nil {
			return err
		}
	}
	families := make([]string, 0, len(page.Families))
	for f := range page.Families {
		if !seen[f] {
			families = append(families, f)
		}
	}
	slices.Sort(families)
	for _, f := range families {
		if err := only(f); err != nil {
			return err
		}
	}
	return nil
}
