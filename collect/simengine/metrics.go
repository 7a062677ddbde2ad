package simengine

import (
	"strconv"
	"sync"
)

// Bucket edges of vLLM's histograms.
var (
	ttftEdges = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10,
		20, 40, 80, 160, 640, 2560}
	itlEdges = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10,
		20, 40, 80}
	latencyEdges = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480,
		960, 1920, 7680}
	iterationEdges = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	nEdges         = []float64{1, 2, 5, 10, 20}
)

// lengthEdges is the 1-2-5 series up to the model's length.
func lengthEdges(maxModelLen int64) []float64 {
	var edges []float64
	for decade := int64(1); ; decade *= 10 {
		for _, m := range []int64{1, 2, 5} {
			if m*decade > maxModelLen {
				return edges
			}
			edges = append(edges, float64(m*decade))
		}
	}
}

// counter is one series that only rises.
type counter struct {
	labels string
	value  int64
}

// counterFamily is a counter with all its series.
type counterFamily struct {
	// name is without the _total suffix.
	name, help string
	series     []*counter
}

// histogram is one histogram family with a single series. Sums are whole
// numbers of the unit (nanoseconds or tokens), so they never lose a digit.
type histogram struct {
	name, help string
	// perUnit divides a sum for the page: 1e9 turns nanoseconds into seconds.
	perUnit float64
	edges   []float64
	// counts holds one number an edge, not cumulative; n is all observations.
	counts []int64
	n, sum int64
}

// observe adds a value in the histogram's whole unit.
func (h *histogram) observe(value int64) {
	h.n++
	h.sum += value
	scaled := float64(value) / h.perUnit
	for i, edge := range h.edges {
		if scaled <= edge {
			h.counts[i]++
			return
		}
	}
}

// metrics is every counter and histogram of one engine process.
type metrics struct {
	mu         sync.Mutex
	labels     string
	counters   []*counterFamily
	histograms []*histogram
	// http counts answers by label set.
	http map[string]int64

	preemptions, cacheQueries, cacheHits, prompt, generation       *counter
	computed, localHit, externalHit, cached                        *counter
	success                                                        map[string]*counter
	drafts, draftTokens, accepted                                  *counter
	acceptedAt                                                     []*counter
	ttft, itl, tpot, e2e, queue, prefill, decode, inference        *histogram
	promptLen, generationLen, maxGeneration, maxTokens, n, kvTaken *histogram
	iteration                                                      *histogram
}

// finishReasons are vLLM's finished_reason values, each a series from the start.
var finishReasons = []string{"stop", "length", "abort", "error", "repetition"}

// newMetrics declares all families at zero.
func newMetrics(cfg Config) *metrics {
	m := &metrics{labels: label("engine", "0") + "," + label("model_name", cfg.Model), http: map[string]int64{}}
	m.declareCounters()
	m.declareSpeculation(len(cfg.Profile.Acceptance))
	m.declareHistograms(lengthEdges(cfg.MaxModelLen))
	return m
}

// label renders one label; Go's quoting equals the text format's for the
// characters that occur here.
func label(name, value string) string { return name + "=" + strconv.Quote(value) }

// counter declares a counter with one series.
func (m *metrics) counter(name, help string) *counter {
	c := &counter{labels: m.labels}
	m.counters = append(m.counters, &counterFamily{name: name, help: help, series: []*counter{c}})
	return c
}

// labelled declares a counter with a series for each value of a label; the
// label sorts between engine and model_name or behind both.
func (m *metrics) labelled(name, help, key string, values []string) []*counter {
	f := &counterFamily{name: name, help: help}
	for _, value := range values {
		f.series = append(f.series, &counter{labels: m.with(key, value)})
	}
	m.counters = append(m.counters, f)
	return f.series
}

// with is the common labels and one more, kept in order of name.
func (m *metrics) with(key, value string) string {
	if key < "model_name" {
		engine, model := m.labels[:len(`engine="0"`)], m.labels[len(`engine="0",`):]
		return engine + "," + label(key, value) + "," + model
	}
	return m.labels + "," + label(key, value)
}

// declareCounters declares the counters every engine has.
func (m *metrics) declareCounters() {
	m.preemptions = m.counter("vllm:num_preemptions", "Times a running request lost its KV blocks.")
	m.cacheQueries = m.counter("vllm:prefix_cache_queries", "Prompt tokens looked up in the prefix cache.")
	m.cacheHits = m.counter("vllm:prefix_cache_hits", "Prompt tokens found in the prefix cache.")
	m.prompt = m.counter("vllm:prompt_tokens", "Prompt tokens of all requests that began to answer.")
	sources := m.labelled("vllm:prompt_tokens_by_source", "Prompt tokens by where their KV came from.", "source",
		[]string{"local_compute", "local_cache_hit", "external_kv_transfer"})
	m.computed, m.localHit, m.externalHit = sources[0], sources[1], sources[2]
	m.cached = m.counter("vllm:prompt_tokens_cached", "Prompt tokens that were not computed again.")
	m.generation = m.counter("vllm:generation_tokens", "Tokens generated.")
	m.success = map[string]*counter{}
	for i, c := range m.labelled("vllm:request_success", "Requests that ended, by the reason for it.", "finished_reason", finishReasons) {
		m.success[finishReasons[i]] = c
	}
}

// declareSpeculation declares the draft counters of an engine that speculates.
func (m *metrics) declareSpeculation(positions int) {
	if positions == 0 {
		return
	}
	m.drafts = m.counter("vllm:spec_decode_num_drafts", "Draft rounds.")
	m.draftTokens = m.counter("vllm:spec_decode_num_draft_tokens", "Draft tokens proposed.")
	m.accepted = m.counter("vllm:spec_decode_num_accepted_tokens", "Draft tokens accepted.")
	names := make([]string, positions)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	m.acceptedAt = m.labelled("vllm:spec_decode_num_accepted_tokens_per_pos", "Draft tokens accepted, by draft position.", "position", names)
}

// histogram declares one histogram.
func (m *metrics) histogram(name, help string, perUnit float64, edges []float64) *histogram {
	h := &histogram{name: name, help: help, perUnit: perUnit, edges: edges, counts: make([]int64, len(edges))}
	m.histograms = append(m.histograms, h)
	return h
}

// declareHistograms declares all histograms in the order of the page.
func (m *metrics) declareHistograms(lengths []float64) {
	const ns, one = 1e9, 1
	m.ttft = m.histogram("vllm:time_to_first_token_seconds", "From arrival to the first output.", ns, ttftEdges)
	m.itl = m.histogram("vllm:inter_token_latency_seconds", "Between two outputs of a request.", ns, itlEdges)
	m.tpot = m.histogram("vllm:request_time_per_output_token_seconds", "Decode time of a request over its tokens but one.", ns, itlEdges)
	m.e2e = m.histogram("vllm:e2e_request_latency_seconds", "From arrival to the last output.", ns, latencyEdges)
	m.queue = m.histogram("vllm:request_queue_time_seconds", "From queueing to scheduling.", ns, latencyEdges)
	m.inference = m.histogram("vllm:request_inference_time_seconds", "From scheduling to the last output.", ns, latencyEdges)
	m.prefill = m.histogram("vllm:request_prefill_time_seconds", "From scheduling to the first output.", ns, latencyEdges)
	m.decode = m.histogram("vllm:request_decode_time_seconds", "From the first output to the last.", ns, latencyEdges)
	m.promptLen = m.histogram("vllm:request_prompt_tokens", "Prompt tokens of a request.", one, lengths)
	m.generationLen = m.histogram("vllm:request_generation_tokens", "Generated tokens of a request.", one, lengths)
	m.maxGeneration = m.histogram("vllm:request_max_num_generation_tokens", "Most tokens generated for one choice of a request.", one, lengths)
	m.maxTokens = m.histogram("vllm:request_params_max_tokens", "Output limit asked for.", one, lengths)
	m.n = m.histogram("vllm:request_params_n", "Choices asked for.", one, nEdges)
	m.kvTaken = m.histogram("vllm:request_prefill_kv_computed_tokens", "Prompt tokens of a request that were computed.", one, lengths)
	m.iteration = m.histogram("vllm:iteration_tokens_total", "Tokens of one engine step.", one, iterationEdges)
}

// output accounts one engine output made at nowNs.
func (m *metrics) output(j *job, s *step, nowNs int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	tokens := int64(s.tokens)
	if j.firstNs == 0 {
		j.firstNs = nowNs
		m.ttft.observe(nowNs - j.arrival.MonoNs)
		m.prompt.value += j.promptTokens
		m.computed.value += j.promptTokens
		m.cacheQueries.value += j.promptTokens
		m.iteration.observe(j.promptTokens)
	} else {
		m.itl.observe(nowNs - j.lastNs)
		m.iteration.observe(tokens)
	}
	j.lastNs = nowNs
	m.generation.value += tokens
	j.generated.Add(tokens)
	if m.drafts != nil && s.drafted > 0 {
		m.drafts.value++
		m.draftTokens.value += int64(s.drafted)
		m.accepted.value += int64(s.accepted)
		for i := range s.accepted {
			m.acceptedAt[i].value++
		}
	}
}

// finished accounts a request that ran to its end.
func (m *metrics) finished(j *job, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j.counted = true
	m.success[reason].value++
	tokens := j.generated.Load()
	m.e2e.observe(j.lastNs - j.arrival.MonoNs)
	m.queue.observe(j.scheduledNs - j.queuedNs)
	m.inference.observe(j.lastNs - j.scheduledNs)
	m.prefill.observe(j.firstNs - j.scheduledNs)
	m.decode.observe(j.lastNs - j.firstNs)
	if tokens > 1 {
		m.tpot.observe((j.lastNs - j.firstNs) / (tokens - 1))
	}
	m.promptLen.observe(j.promptTokens)
	m.generationLen.observe(tokens)
	m.maxGeneration.observe(tokens)
	m.maxTokens.observe(j.maxTokens)
	m.n.observe(1)
	m.kvTaken.observe(j.promptTokens)
}

// gaveUp accounts a request that did not run to its end. Only the counter
// moves: a request without all its phases has no place in their histograms.
func (m *metrics) gaveUp(j *job, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !j.counted {
		j.counted = true
		m.success[reason].value++
	}
}

// answered accounts one HTTP answer.
func (m *metrics) answered(method, path string, status int) {
	class := strconv.Itoa(status/100) + "xx"
	m.mu.Lock()
	defer m.mu.Unlock()
	m.http[label("handler", path)+","+label("method", method)+","+label("status", class)]++
}
