package engine

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCanonicalTablesAreWhole(t *testing.T) {
	rows := Canonical()
	if len(rows) == 0 {
		t.Fatal("no mapping")
	}
	used := map[string]bool{}
	seen := map[Mapping]bool{}
	for i, m := range rows {
		used[m.Canonical] = true
		if seen[m] {
			t.Errorf("%s of %s stands twice", m.Source, m.Canonical)
		}
		seen[m] = true
		if m.Kind != TypeCounter && m.Kind != TypeGauge && m.Kind != TypeHistogram {
			t.Errorf("%s: kind %q", m.Canonical, m.Kind)
		}
		if m.Aggregation != "sum" && m.Aggregation != "max" && m.Aggregation != "list" {
			t.Errorf("%s: aggregation %q", m.Canonical, m.Aggregation)
		}
		if m.Source == "" || m.Engine == "" || !strings.HasSuffix(m.Definition, ".") {
			t.Errorf("%s: source %q, engine %q, definition %q", m.Canonical, m.Source, m.Engine, m.Definition)
		}
		if m.Kind == TypeCounter && strings.HasSuffix(m.Source, "_total") {
			t.Errorf("%s: counter source %s is written with _total", m.Canonical, m.Source)
		}
		var set map[string]string
		if err := json.Unmarshal([]byte(m.Labels), &set); err != nil || m.Labels != mapJSON(set) {
			t.Errorf("%s: labels %s are not canonical: %v", m.Source, m.Labels, err)
		}
		// Ranks of a name and engine begin at 0 and rise without a gap.
		if i > 0 && m.Canonical == rows[i-1].Canonical && m.Engine == rows[i-1].Engine {
			if step := m.Rank - rows[i-1].Rank; step != 0 && step != 1 {
				t.Errorf("%s: rank %d after %d", m.Source, m.Rank, rows[i-1].Rank)
			}
		} else if m.Rank != 0 {
			t.Errorf("%s: first rank is %d", m.Source, m.Rank)
		}
	}
	for _, m := range names() {
		if !used[m.Canonical] {
			t.Errorf("%s has no source", m.Canonical)
		}
	}
}

// A series has one meaning: no two canonical names take the same series whole.
func TestCanonicalNamesShareNoSource(t *testing.T) {
	type source struct{ name, labels string }
	owner := map[source]string{}
	for _, m := range Canonical() {
		key := source{m.Source, m.Labels}
		if other, ok := owner[key]; ok && other != m.Canonical {
			t.Errorf("%s%s is both %s and %s", m.Source, m.Labels, other, m.Canonical)
		}
		owner[key] = m.Canonical
	}
}

func TestResolve(t *testing.T) {
	const none = "none"
	for _, tt := range []struct {
		page, canonical string
		value           float64
		source          string // none: not on the page
	}{
		{"vllm_new.prom", "requests_running", 3, "vllm:num_requests_running"},
		{"vllm_new.prom", "requests_waiting", 3, "vllm:num_requests_waiting"},
		{"vllm_new.prom", "kv_usage_ratio", 0.42, "vllm:kv_cache_usage_perc"}, // the other rank gives NaN
		{"vllm_new.prom", "prompt_tokens", 4096, "vllm:prompt_tokens_total"},
		{"vllm_new.prom", "prompt_tokens_computed", 4000, "vllm:prompt_tokens_by_source_total"},
		{"vllm_new.prom", "prompt_tokens_computed_finished", 4000, "vllm:request_prefill_kv_computed_tokens_sum"},
		{"vllm_new.prom", "prompt_tokens_cached", 96, "vllm:prompt_tokens_by_source_total"}, // both parts of the older spelling
		{"vllm_new.prom", "requests_finished", 11, "vllm:request_success_total"},
		{"vllm_new.prom", "preemptions", 2, "vllm:num_preemptions_total"},
		{"vllm_new.prom", "kv_pool_config", 1, "vllm:cache_config_info"},
		{"vllm_new.prom", "process_start_seconds", 1793123456.78, "process_start_time_seconds"},
		{"vllm_new.prom", "requests_swapped_or_paused", 0, none},
		{"vllm_old.prom", "kv_usage_ratio", 0.42, "vllm:gpu_cache_usage_perc"},
		{"vllm_old.prom", "prefix_cache_queries", 100, "vllm:gpu_prefix_cache_queries_total"},
		{"vllm_old.prom", "prefix_cache_hits", 30, "vllm:gpu_prefix_cache_hits_total"},
		{"vllm_old.prom", "requests_swapped_or_paused", 0, "vllm:num_requests_swapped"},
		{"vllm_old.prom", "process_start_seconds", 0, none},
		{"sglang.prom", "requests_running", 5, "sglang:num_running_reqs"}, // 3 + 2: the second TP rank is a copy
		{"sglang.prom", "kv_usage_ratio", 0.75, "sglang:token_usage"},
		{"sglang.prom", "kv_pool_tokens", 2000, "sglang:max_total_num_tokens"},
		{"sglang.prom", "prompt_tokens_cached", 42, "sglang:cached_tokens_total"}, // not 84
		{"sglang.prom", "prefix_cache_queries", 0, none},
		{"sglang_underscore.prom", "generation_tokens", 77, "sglang_generation_tokens_total"},
		{"sglang_underscore.prom", "prompt_tokens_cached", 11, "sglang_cached_tokens_total"}, // no total: the parts
		{"llamacpp.prom", "prompt_tokens_computed", 1234, "llamacpp:prompt_tokens_total"},
		{"llamacpp.prom", "prompt_tokens", 0, none}, // its counter leaves cached tokens out
		{"llamacpp.prom", "prefill_compute_seconds", 3.5, "llamacpp:prompt_seconds_total"},
		{"llamacpp.prom", "requests_waiting", 4, "llamacpp:requests_deferred"},
		{"llamacpp.prom", "kv_usage_ratio", 0, none},
		{"llamacpp.prom", "no_such_metric", 0, none},
	} {
		t.Run(tt.page+" "+tt.canonical, func(t *testing.T) {
			value, source, ok := Resolve(readPage(t, tt.page), tt.canonical)
			if tt.source == none {
				if ok || source != "" || value != 0 {
					t.Errorf("= %v from %q, want it not to be there", value, source)
				}
				return
			}
			if !ok || source != tt.source || math.Abs(value-tt.value) > 1e-9 {
				t.Errorf("= %v from %q (%v), want %v from %q", value, source, ok, tt.value, tt.source)
			}
		})
	}
}

func TestResolveGivesNoNumberWhereThereIsNone(t *testing.T) {
	for _, tt := range []struct{ name, page, canonical string }{
		{"histogram", "# TYPE vllm:e2e_request_latency_seconds histogram\nvllm:e2e_request_latency_seconds_sum 1\n", "e2e_seconds"},
		{"list of several", "vllm:num_requests_waiting_by_reason{reason=\"a\"} 1\nvllm:num_requests_waiting_by_reason{reason=\"b\"} 2\n", "requests_waiting_by_reason"},
		{"sum with NaN", "vllm:num_requests_running{engine=\"0\"} 1\nvllm:num_requests_running{engine=\"1\"} NaN\n", "requests_running"},
		{"NaN alone", "vllm:kv_cache_usage_perc NaN\n", "kv_usage_ratio"},
		{"created time", "vllm:prompt_tokens_created 1.79e9\n", "prompt_tokens"},
		{"two processes", "process_start_time_seconds{pid=\"1\"} 1\nprocess_start_time_seconds{pid=\"2\"} 2\n", "process_start_seconds"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page, _ := ParsePage([]byte(tt.page))
			if value, source, ok := Resolve(page, tt.canonical); ok {
				t.Errorf("= %v from %q, want no value", value, source)
			}
		})
	}
}

func TestResolveTakesTheNewSpellingOnce(t *testing.T) {
	page, _ := ParsePage([]byte("vllm:gpu_cache_usage_perc 0.9\nvllm:kv_cache_usage_perc 0.42\nvllm:prompt_tokens 5\n"))
	if value, source, ok := Resolve(page, "kv_usage_ratio"); !ok || value != 0.42 || source != "vllm:kv_cache_usage_perc" {
		t.Errorf("= %v from %q (%v), want 0.42 from the new name", value, source, ok)
	}
	if value, source, ok := Resolve(page, "prompt_tokens"); !ok || value != 5 || source != "vllm:prompt_tokens" {
		t.Errorf("counter without _total = %v from %q (%v), want 5", value, source, ok)
	}
}

// Two metrics of close names are one, a third is not (cases.md D02).
func TestTokenLatencyNamesAreToldApart(t *testing.T) {
	got := map[string][]string{}
	for _, m := range Canonical() {
		if m.Engine == "vllm" && strings.Contains(m.Source, "token_latency") || m.Engine == "vllm" && strings.Contains(m.Source, "per_output_token") {
			got[m.Canonical] = append(got[m.Canonical], m.Source)
		}
	}
	want := map[string][]string{
		"itl_per_output_seconds": {"vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"},
		"tpot_request_seconds":   {"vllm:request_time_per_output_token_seconds"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("sources (-want +got):\n", diff)
	}
}

func TestIdle(t *testing.T) {
	for _, tt := range []struct {
		name, page  string
		idle, known bool
	}{
		{"nothing to do", "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n", true, true},
		{"running", "vllm:num_requests_running 1\nvllm:num_requests_waiting 0\n", false, true},
		{"waiting", "vllm:num_requests_running 0\nvllm:num_requests_waiting 1\n", false, true},
		{"one rank busy", "vllm:num_requests_running{engine=\"0\"} 0\nvllm:num_requests_running{engine=\"1\"} 2\nvllm:num_requests_waiting 0\n", false, true},
		{"waiting not shown", "vllm:num_requests_running 0\n", false, false},
		{"waiting not shown, running", "vllm:num_requests_running 3\n", false, true},
		{"not a number", "vllm:num_requests_running NaN\nvllm:num_requests_waiting 0\n", false, false},
		{"less than nothing", "vllm:num_requests_running -1\nvllm:num_requests_waiting 0\n", false, true},
		{"no engine metrics", "process_start_time_seconds 1\n", false, false},
		{"empty", "", false, false},
		{"SGLang", "sglang:num_running_reqs 0\nsglang:num_queue_reqs 0\n", true, true},
		{"llama.cpp", "llamacpp:requests_processing 0\nllamacpp:requests_deferred 0\n", true, true},
		{"TensorRT-LLM", "trtllm_num_requests_running 0\ntrtllm_num_requests_waiting 1\n", false, true},
		{"TGI", "tgi_batch_current_size 0\ntgi_queue_size 0\n", true, true},
		{"LMDeploy", "lmdeploy:num_requests_running 0\nlmdeploy:num_requests_waiting 0\n", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page, _ := ParsePage([]byte(tt.page))
			if idle, known := Idle(page); idle != tt.idle || known != tt.known {
				t.Errorf("Idle = %v, %v; want %v, %v", idle, known, tt.idle, tt.known)
			}
		})
	}
}
