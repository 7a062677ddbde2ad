package simengine

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// page renders the Prometheus text format as the Python client does: _total and
// _created names, floats with a decimal point, labels sorted.
type page struct{ text strings.Builder }

// number formats a float like the Python client: 1.0, 0.25, 1.7e+09, +Inf.
func number(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// head writes HELP and TYPE.
func (p *page) head(name, kind, help string) {
	p.text.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

// sample writes one line.
func (p *page) sample(name, labels string, value float64) {
	p.text.WriteString(name)
	if labels != "" {
		p.text.WriteString("{" + labels + "}")
	}
	p.text.WriteString(" " + number(value) + "\n")
}

// gauge writes a gauge of one series.
func (p *page) gauge(name, help, labels string, value float64) {
	p.head(name, "gauge", help)
	p.sample(name, labels, value)
}

// counter writes a family and its _created gauge.
func (p *page) counter(f *counterFamily, created float64) {
	p.head(f.name+"_total", "counter", f.help)
	for _, s := range f.series {
		p.sample(f.name+"_total", s.labels, float64(s.value))
	}
	p.head(f.name+"_created", "gauge", f.help)
	for _, s := range f.series {
		p.sample(f.name+"_created", s.labels, created)
	}
}

// histogram writes a family and its _created gauge.
func (p *page) histogram(h *histogram, labels string, created float64) {
	p.head(h.name, "histogram", h.help)
	at := strings.Index(labels, ",")
	line := func(edge float64, count int64) {
		p.sample(h.name+"_bucket", labels[:at]+","+label("le", number(edge))+labels[at:], float64(count))
	}
	var below int64
	for i, edge := range h.edges {
		below += h.counts[i]
		line(edge, below)
	}
	line(math.Inf(1), h.n)
	p.sample(h.name+"_count", labels, float64(h.n))
	p.sample(h.name+"_sum", labels, float64(h.sum)/h.perUnit)
	p.gauge(h.name+"_created", h.help, labels, created)
}

// metricsPage renders everything the process exposes at nowNs.
func (p *process) metricsPage(nowNs int64) string {
	var out page
	created := float64(p.startUnixNs) / 1e9
	now := p.sched.gauges(nowNs)
	m := p.metrics
	m.mu.Lock()
	defer m.mu.Unlock()

	out.gauge("process_start_time_seconds", "Start of the process, seconds since the epoch.", "", created)
	out.gauge("process_resident_memory_bytes", "Resident memory of the API server.", "", 2_147_483_648)
	out.gauge("vllm:num_requests_running", "Requests in the running set.", m.labels, float64(now.running))
	out.gauge("vllm:num_requests_waiting", "Requests waiting, deferred ones included.", m.labels, float64(now.waiting))
	out.head("vllm:num_requests_waiting_by_reason", "gauge", "Requests waiting, by reason.")
	out.sample("vllm:num_requests_waiting_by_reason", m.labels+","+label("reason", "capacity"), float64(now.waiting))
	out.sample("vllm:num_requests_waiting_by_reason", m.labels+","+label("reason", "deferred"), 0)
	out.head("vllm:engine_sleep_state", "gauge", "Sleep level of the engine; awake is 1 when it is not asleep.")
	out.sample("vllm:engine_sleep_state", m.labels+","+label("sleep_state", "awake"), 1)
	out.gauge("vllm:kv_cache_usage_perc", "Share of the KV blocks in use, 0 to 1.", m.labels, now.kvUsage)
	out.gauge("vllm:model_weights_memory_bytes", "Weights of the model.", m.labels, float64(p.cfg.Profile.WeightsBytes))
	for _, f := range m.counters {
		out.counter(f, created)
	}
	for _, h := range m.histograms {
		out.histogram(h, m.labels, created)
	}
	out.gauge("vllm:cache_config_info", "Configuration of the KV cache as labels.", cacheConfig(p.cfg), 1)
	m.httpCounter(&out)
	return out.text.String()
}

// httpCounter writes the API server's own request counter.
func (m *metrics) httpCounter(out *page) {
	out.head("http_requests_total", "counter", "HTTP answers by handler, method and status class.")
	for _, labels := range slices.Sorted(maps.Keys(m.http)) {
		out.sample("http_requests_total", labels, float64(m.http[labels]))
	}
}

// cacheConfig is the labels of vllm:cache_config_info. kv_cache_size_tokens is
// the pool; kv_cache_max_concurrency is pool over model length, which is not a
// number of requests the scheduler allows.
func cacheConfig(cfg Config) string {
	p := cfg.Profile
	pairs := [][2]string{
		{"block_size", strconv.FormatInt(p.BlockSize, 10)},
		{"cache_dtype", p.CacheDtype},
		{"calculate_kv_scales", "False"},
		{"enable_prefix_caching", "True"},
		{"engine", "0"},
		{"gpu_memory_utilization", "0.94"},
		{"is_attention_free", "False"},
		{"kv_cache_max_concurrency", strconv.FormatFloat(float64(p.KVPoolTokens)/float64(cfg.MaxModelLen), 'f', 4, 64)},
		{"kv_cache_memory_bytes", "None"},
		{"kv_cache_size_tokens", strconv.FormatInt(p.KVPoolTokens, 10)},
		{"num_cpu_blocks", "None"},
		{"num_gpu_blocks", strconv.FormatInt(p.NumGPUBlocks, 10)},
		{"num_gpu_blocks_override", "None"},
		{"prefix_caching_hash_algo", "sha256"},
		{"sliding_window", "None"},
	}
	labels := make([]string, len(pairs))
	for i, pair := range pairs {
		labels[i] = label(pair[0], pair[1])
	}
	return strings.Join(labels, ",")
}
