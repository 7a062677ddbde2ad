package artifact

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// An importer may use 8 times its input and 4 MiB.
const (
	heapFactor = 8
	heapSlack  = 4 << 20
)

// peakOf reads one file and returns the most heap that was live at the end of
// any collection, in bytes, the input's own included. Collections come often
// meanwhile; garbage is the collector's affair and not counted.
func peakOf(tb testing.TB, name string, data []byte) (peak uint64) {
	tb.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	runtime.GC()
	before := liveHeap()
	own := append([]byte{}, data...)
	stop, highest := make(chan bool), make(chan uint64)
	go watch(stop, highest)
	err := Read("0", name, own, func(b Batch) error {
		checkBatch(tb, b)
		return nil
	})
	runtime.GC()
	close(stop)
	most := max(<-highest, liveHeap())
	runtime.KeepAlive(own)
	if err != nil {
		tb.Fatal(err)
	}
	return most - min(most, before)
}

// allocatedBy reads one file and returns all it allocated, in bytes: quick to
// know, and never below the peak.
func allocatedBy(tb testing.TB, name string, data []byte) uint64 {
	tb.Helper()
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	own := append([]byte{}, data...)
	err := Read("0", name, own, func(b Batch) error {
		checkBatch(tb, b)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}

// liveHeap is what the last collection found in use, in bytes.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// watch looks at the heap all the time until told to stop.
func watch(stop <-chan bool, highest chan<- uint64) {
	var most uint64
	for {
		select {
		case <-stop:
			highest <- most
			return
		case <-time.After(100 * time.Microsecond):
			most = max(most, liveHeap())
		}
	}
}

// checkBatch holds what no file may bring about.
func checkBatch(tb testing.TB, b Batch) {
	for _, a := range b.Artifacts {
		if a.Kind == "" || a.State == "" || a.State == stateLoaded && (a.Kind == KindBenchmark) && a.Protocol == "" {
			tb.Errorf("artifact without kind, state or protocol: %+v", a)
		}
	}
	for _, s := range b.Stats {
		if s.Metric == "" || s.Stat == "" || s.Unit == "" || s.SourceKey == "" || s.Agreement == "" {
			tb.Errorf("figure without a name: %+v", s)
		}
		if s.Value != nil && finite(*s.Value) == nil || s.Recomputed != nil && finite(*s.Recomputed) == nil {
			tb.Errorf("figure that is no number: %+v", s)
		}
	}
	for _, r := range b.Requests {
		if r.Status == "" || r.Phase == "" {
			tb.Errorf("request without a status: %+v", r)
		}
	}
}

func checkPeak(tb testing.TB, name string, data []byte) {
	tb.Helper()
	if allocated := allocatedBy(tb, name, data); allocated <= uint64(heapFactor*len(data)+heapSlack) {
		return // what was never allocated was never held
	}
	// What is allocated while a collection runs counts as live, garbage or not, and
	// on a busy machine a collection takes long: the least of a few is nearest.
	peak := peakOf(tb, name, data)
	for range 4 {
		if peak <= uint64(heapFactor*len(data)+heapSlack) {
			return
		}
		peak = min(peak, peakOf(tb, name, data))
	}
	tb.Errorf("%d bytes of input took %d bytes of heap, %.1f times", len(data), peak, float64(peak)/float64(len(data)))
}

// Texts made to be costly: many tiny values where an importer keeps something
// of each.
func TestCostlyTextsStayWithinTheirMemory(t *testing.T) {
	const n = costlyBytes
	list := func(one string) string { return "[" + strings.Repeat(one+",", n/len(one)) + one + "]" }
	keys := func(value string) string {
		var b strings.Builder
		for i := 0; b.Len() < 2*n; i++ {
			fmt.Fprintf(&b, `"%x":%s,`, i, value)
		}
		return "{" + b.String() + `"z":0}`
	}
	anvil := `{"schema":"anvil-serving.benchmark/v1","measurement_protocol":"capacity-v3","requests":1,"metrics":{"ttft_p50_ms":1,"e2e_p50_ms":1,"output_tokens":1},`
	vllm := `{"backend":"v","num_prompts":1,"duration":1,"completed":1,"total_output_tokens":1,"mean_ttft_ms":1,"p99_itl_ms":1,"p99_tpot_ms":1,`
	for name, text := range map[string]string{
		"numbers":             list("0"),
		"brackets":            "[" + strings.Repeat("[],", n) + "0]",
		"keys":                keys("0"),
		"escapes":             list(`"\u0041\u0041\u0041\u0041"`),
		"one text":            `"` + strings.Repeat(`\n`, n) + `"`,
		"anvil empty rows":    anvil + `"request_timings":` + list("{}") + "}",
		"anvil thin rows":     anvil + `"request_timings":` + list(`{"ttft_ms":1,"e2e_ms":2,"output_tokens":3}`) + "}",
		"anvil failures":      anvil + `"request_timings":[],"failures":` + list("{}") + "}",
		"anvil figures":       `{"schema":"anvil-serving.benchmark/v1","metrics":` + keys("0") + "}",
		"anvil top":           `{"schema":"anvil-serving.benchmark/v1","x":` + keys("0") + "}",
		"anvil wrong types":   anvil + `"request_timings":` + list(`{"ttft_ms":""}`) + "}",
		"anvil contexts":      anvil + `"context_distribution":` + keys("1") + "}",
		"anvil comparison":    `{"schema":"glm53-apc-matched-comparison/v1","cells":{"a":{"baseline":` + keys("1") + `,"candidate":{},"candidate_percent_change":` + keys("1") + `}}}`,
		"vllm arrays":         vllm + `"output_lens":` + list("2") + `,"ttfts":` + list("1") + `,"latencies":` + list("2") + "}",
		"vllm gaps":           vllm + `"output_lens":[2],"ttfts":[1],"itls":[` + list("1") + "]}",
		"vllm unknown":        strings.TrimSuffix(keys("0"), "}") + "," + strings.TrimPrefix(vllm, "{") + `"a0a":0}`,
		"sglang lines":        strings.Repeat(`{"backend":"s","duration":1,"completed":1,"mean_e2e_latency_ms":1}`+"\n", n/40),
		"guidellm benchmarks": `{"metadata":{"version":2},"benchmarks":` + list("{}") + "}",
		"guidellm requests":   `{"metadata":{"version":2},"benchmarks":[{"requests":{"successful":` + list("{}") + `},"metrics":{"request_latency":{"successful":{"count":1,"mean":1}}}}]}`,
		"guidellm latencies":  `{"metadata":{"version":2},"benchmarks":[{"requests":{"successful":` + list(`{"request_latency":1}`) + `},"metrics":{"request_latency":{"successful":{"count":1,"mean":1}}}}]}`,
		"guidellm metrics":    `{"metadata":{"version":2},"benchmarks":[{"metrics":` + keys(`{"total":{"count":0,"mean":0}}`) + `}]}`,
		"aiperf metrics":      `{"schema_version":"1.5","aiperf_version":"1","x":0,` + strings.TrimPrefix(keys(`{"avg":1}`), "{"),
		"aiperf errors":       `{"schema_version":"1.5","aiperf_version":"1","error_summary":` + list(`{"count":1}`) + "}",
		"aiperf records":      strings.Repeat(`{"metadata":{"request_start_ns":1,"benchmark_phase":""},"metrics":{}}`+"\n", n/40),
	} {
		t.Run(name, func(t *testing.T) { checkPeak(t, "x.json", []byte(text)) })
	}
}

// fuzzImporter mutates the fixtures of one importer. Whatever comes, it neither
// fails nor takes more memory than its share.
func fuzzImporter(f *testing.F, patterns ...string) {
	for _, pattern := range patterns {
		names, err := filepath.Glob(filepath.Join("testdata", "files", pattern))
		if err != nil || len(names) == 0 {
			f.Fatalf("no fixture %s, %v", pattern, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
			f.Add(data[:len(data)/2])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkPeak(t, "x.json", data) })
}

func FuzzAnvil(f *testing.F)    { fuzzImporter(f, "anvil-*.json") }
func FuzzVLLM(f *testing.F)     { fuzzImporter(f, "vllm-*.json") }
func FuzzSGLang(f *testing.F)   { fuzzImporter(f, "sglang*.jsonl") }
func FuzzGuideLLM(f *testing.F) { fuzzImporter(f, "guidellm*.json") }
func FuzzAIPerf(f *testing.F)   { fuzzImporter(f, "aiperf-*") }
