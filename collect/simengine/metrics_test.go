package simengine

import (
	"math"
	"strings"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

// finishedHistograms are observed once for each finished request.
var finishedHistograms = []string{
	"vllm:e2e_request_latency_seconds", "vllm:request_queue_time_seconds", "vllm:request_prefill_time_seconds",
	"vllm:request_decode_time_seconds", "vllm:request_inference_time_seconds", "vllm:time_to_first_token_seconds",
	"vllm:request_time_per_output_token_seconds", "vllm:request_prompt_tokens", "vllm:request_generation_tokens",
	"vllm:request_max_num_generation_tokens", "vllm:request_params_max_tokens", "vllm:request_params_n",
	"vllm:request_prefill_kv_computed_tokens",
}

func TestHistogramCountsEqualFinishedRequests(t *testing.T) {
	for _, name := range ProfileNames() {
		e := start(t, quick(t, name))
		const requests = 6
		var mu sync.Mutex
		var wg sync.WaitGroup
		var prompts, completions, outputs int64
		for i := range requests {
			wg.Go(func() {
				s := e.ask(t, prompt(482001, i, i%2*16)).tell(t)
				mu.Lock()
				defer mu.Unlock()
				prompts += s.Prompt
				completions += s.Completion
				outputs += int64(s.Outputs)
			})
		}
		wg.Wait()
		page := e.scrape(t)
		if got := page.value(t, "vllm:request_success_total", "finished_reason", "stop"); got != requests {
			t.Errorf("%s: %g finished", name, got)
		}
		for _, h := range finishedHistograms {
			if got := page.histogram(t, h).GetSampleCount(); got != requests {
				t.Errorf("%s: %s has %d observations", name, h, got)
			}
		}
		if got := page.histogram(t, "vllm:inter_token_latency_seconds").GetSampleCount(); got != uint64(outputs-requests) {
			t.Errorf("%s: %d gaps for %d outputs", name, got, outputs)
		}
		for family, want := range map[string]int64{
			"vllm:prompt_tokens_total": prompts, "vllm:generation_tokens_total": completions,
			"vllm:prompt_tokens_by_source_total": prompts, "vllm:prompt_tokens_cached_total": 0,
			"vllm:num_requests_running": 0, "vllm:num_requests_waiting": 0, "vllm:kv_cache_usage_perc": 0,
		} {
			if got := page.value(t, family); got != float64(want) {
				t.Errorf("%s: %s is %g, want %d", name, family, got, want)
			}
		}
		sum := func(h string) float64 { return page.histogram(t, h).GetSampleSum() }
		parts := sum("vllm:request_prefill_time_seconds") + sum("vllm:request_decode_time_seconds")
		if whole := sum("vllm:request_inference_time_seconds"); math.Abs(whole-parts) > 1e-9 {
			t.Errorf("%s: inference %g, prefill and decode %g", name, whole, parts)
		}
		if sum("vllm:e2e_request_latency_seconds") < sum("vllm:request_queue_time_seconds")+sum("vllm:request_inference_time_seconds") {
			t.Errorf("%s: e2e is less than queue and inference", name)
		}
	}
}

func TestFinishedRequestIsCountedBeforeItsLastOutput(t *testing.T) {
	e := start(t, quick(t, "glm53-baseline"))
	w := e.dial(t, chatBody(prompt(4, 2, 8), 1000))
	if _, _, err := w.head(); err != nil {
		t.Fatal(err)
	}
	for {
		data, err := w.chunk()
		if err != nil || strings.Contains(data, `"finish_reason":"stop"`) {
			break
		}
	}
	page := e.scrape(t)
	if page.value(t, "vllm:request_success_total") != 1 || page.value(t, "vllm:num_requests_running") != 0 {
		t.Error("the finish chunk came before the counters")
	}
}

func TestPageHasTheBucketsAndTwinsOfVLLM(t *testing.T) {
	e := start(t, quick(t, "glm53-candidate"))
	status, header, text := e.get(t, "/metrics")
	if status != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("status %d, type %q", status, header.Get("Content-Type"))
	}
	if !strings.Contains(text, `vllm:e2e_request_latency_seconds_bucket{engine="0",le="1.0",model_name="sim-model"} 0.0`) {
		t.Error("labels or numbers are not written as the Python client does")
	}
	page := e.scrape(t)
	for name, family := range page {
		base := strings.TrimSuffix(name, "_total")
		if family.GetType() == dto.MetricType_HISTOGRAM {
			base = name
		} else if family.GetType() != dto.MetricType_COUNTER || strings.HasPrefix(name, "http_") {
			continue
		}
		if page.value(t, base+"_created") < page.value(t, "process_start_time_seconds") {
			t.Errorf("%s has no created time of this process", name)
		}
	}
	for name, want := range map[string][]float64{
		"vllm:time_to_first_token_seconds":    ttftEdges,
		"vllm:inter_token_latency_seconds":    itlEdges,
		"vllm:e2e_request_latency_seconds":    latencyEdges,
		"vllm:request_queue_time_seconds":     latencyEdges,
		"vllm:request_prompt_tokens":          lengthEdges(DefaultMaxModelLen),
		"vllm:iteration_tokens_total":         iterationEdges,
		"vllm:request_params_n":               nEdges,
		"vllm:request_inference_time_seconds": latencyEdges,
	} {
		buckets := page.histogram(t, name).Bucket
		for i, edge := range append(want, math.Inf(1)) {
			if len(buckets) != len(want)+1 || buckets[i].GetUpperBound() != edge {
				t.Errorf("%s: bucket %d of %d differs from %g", name, i, len(buckets), edge)
				break
			}
		}
	}
	if lengths := lengthEdges(DefaultMaxModelLen); lengths[len(lengths)-1] != 200000 || lengths[3] != 10 {
		t.Errorf("length edges %v", lengths)
	}
	if got := page.value(t, "vllm:cache_config_info", "kv_cache_size_tokens", "786432"); got != 1 {
		t.Errorf("the pool label is missing: %g", got)
	}
	for _, reason := range finishReasons {
		if !strings.Contains(text, `finished_reason="`+reason+`"`) {
			t.Errorf("no series for %s before the first event", reason)
		}
	}
}

func TestSpeculationCountersAgree(t *testing.T) {
	e := start(t, quick(t, "glm53-candidate"))
	e.ask(t, prompt(4, 2, 0))
	page := e.scrape(t)
	accepted := page.value(t, "vllm:spec_decode_num_accepted_tokens_total")
	drafts := page.value(t, "vllm:spec_decode_num_drafts_total")
	if perPos := page.value(t, "vllm:spec_decode_num_accepted_tokens_per_pos_total"); perPos != accepted || accepted == 0 {
		t.Errorf("accepted %g, by position %g", accepted, perPos)
	}
	previous := drafts
	for _, position := range []string{"0", "1", "2"} {
		now := page.value(t, "vllm:spec_decode_num_accepted_tokens_per_pos_total", "position", position)
		if now > previous {
			t.Errorf("position %s accepted %g after %g", position, now, previous)
		}
		previous = now
	}
	if page.value(t, "vllm:spec_decode_num_draft_tokens_total") != 3*drafts {
		t.Error("draft tokens are not three a round")
	}
	if _, ok := start(t, quick(t, "glm53-baseline")).scrape(t)["vllm:spec_decode_num_drafts_total"]; ok {
		t.Error("an engine without speculation has draft counters")
	}
}

func TestMetricsReportWallSecondsUnderTimeScale(t *testing.T) {
	cfg := quick(t, "glm53-baseline")
	cfg.ChunkInterval, cfg.Chunks, cfg.TimeScale = 1e9, 30, 200
	e := start(t, cfg)
	before := monoNow()
	e.ask(t, prompt(4, 2, 0))
	elapsed := float64(monoNow()-before) / 1e9
	page := e.scrape(t)
	e2e := page.histogram(t, "vllm:e2e_request_latency_seconds").GetSampleSum()
	// 29 gaps of one simulated second are 0.145 s on the wall, and never less.
	inference := page.histogram(t, "vllm:request_inference_time_seconds").GetSampleSum()
	if e2e > elapsed || inference < 29*0.005 {
		t.Errorf("e2e %g s of %g s, inference %g s", e2e, elapsed, inference)
	}
}

func TestNumbersLookLikeThePythonClients(t *testing.T) {
	for want, value := range map[string]float64{
		"0.0": 0, "1.0": 1, "0.25": 0.25, "+Inf": math.Inf(1), "1.76e+09": 1.76e9, "1.234567e+06": 1234567, "200000.0": 200000, "0.001": 0.001,
	} {
		if got := number(value); got != want {
			t.Errorf("%g is written %s, want %s", value, got, want)
		}
	}
}
