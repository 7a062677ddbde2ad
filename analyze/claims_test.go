package analyze

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pool is a cache configuration of one engine rank.
func pool(engine, tokens string) string {
	return `vllm:cache_config_info{"block_size":"16","engine":"` + engine + `","kv_cache_memory_bytes":"None","kv_cache_size_tokens":"` + tokens + `","num_gpu_blocks":"1000"} 1`
}

func TestCapacityFacts(t *testing.T) {
	tests := []struct {
		name    string
		samples []string
		want    []string // value, source, confidence of kv_pool_tokens
	}{
		{"stated", []string{pool("0", "393216")}, []string{"393216", "vllm:cache_config_info kv_cache_size_tokens", "reported"}},
		{"two ranks", []string{pool("0", "100"), pool("1", "200")}, []string{"300", "vllm:cache_config_info kv_cache_size_tokens", "reported"}},
		{"not stated", []string{pool("0", "None")}, []string{"16000", "vllm:cache_config_info num_gpu_blocks x block_size", "lower_bound"}},
		{"gauge with copies", []string{`sglang:max_total_num_tokens{"tp_rank":"0"} 500`, `sglang:max_total_num_tokens{"tp_rank":"1"} 500`}, []string{"500", "sglang:max_total_num_tokens", "reported"}},
		{"not visible", []string{`x{} 1`}, []string{"-", "not visible", "unknown"}},
	}
	f := newFixture(t)
	for i, test := range tests {
		f.add("arms", row{"campaign": campaign, "arm": test.name, "arm_order": 2 + i})
		f.cell(test.name, test.name)
		f.page(test.name, test.name, 1, "before", test.samples...)
		f.page(test.name, test.name, 2, "after", test.samples...)
	}
	got := keyed(t, f.load(), "SELECT arm, value, source, confidence FROM capacity_facts WHERE fact = 'kv_pool_tokens'")
	for _, test := range tests {
		if diff := cmp.Diff(test.want, got[test.name]); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// said is a fact an engine states beside its pages.
func said(arm, cell, fact, value, unit, source, confidence string, place int) row {
	return row{"campaign": campaign, "arm": arm, "cell": cell, "attempt": 1, "phase": "before", "fact": fact, "value": value, "unit": unit, "source": source, "confidence": confidence, "place": place}
}

// Of several sources of a fact the best stands, and a product only where nothing
// states the fact itself.
func TestCapacityFactsTakeTheBestSource(t *testing.T) {
	tests := []struct {
		name, fact string
		samples    []string
		said       [][5]string // value, unit, source, confidence, place
		want       []string    // value, unit, source, confidence
	}{
		{"label before the log", "kv_pool_tokens", []string{pool("0", "393216")}, [][5]string{{"393215", "tokens", "engine log", "logged", "40"}},
			[]string{"393216", "tokens", "vllm:cache_config_info kv_cache_size_tokens", "reported"}},
		{"log before a product", "kv_pool_tokens", []string{pool("0", "None")}, [][5]string{{"17000", "tokens", "engine log", "logged", "40"}}, []string{"17000", "tokens", "engine log", "logged"}},
		{"cells before slots", "kv_pool_tokens", nil, [][5]string{{"32768", "tokens", "/props total_slots x n_ctx", "derived", "90"}, {"8192", "tokens", "engine log", "logged", "40"}}, []string{"8192", "tokens", "engine log", "logged"}},
		{"slots alone", "kv_pool_tokens", nil, [][5]string{{"32768", "tokens", "/props total_slots x n_ctx", "derived", "90"}}, []string{"32768", "tokens", "/props total_slots x n_ctx", "derived"}},
		{"blocks of TensorRT-LLM", "kv_pool_tokens", []string{"trtllm_kv_cache_max_blocks{} 1000", "trtllm_kv_cache_tokens_per_block{} 32"}, nil,
			[]string{"32000", "tokens", "trtllm_kv_cache_max_blocks x trtllm_kv_cache_tokens_per_block", "derived"}},
		{"effective before configured", "max_num_seqs", nil, [][5]string{{"48", "requests", "/server_info max_running_requests", "configured", "50"}, {"10", "requests", "engine log", "logged", "14"}}, []string{"10", "requests", "engine log", "logged"}},
		{"server before argv", "max_num_seqs", nil, [][5]string{{"8", "requests", "argv --max-num-seqs", "configured", "60"}, {"4", "requests", "/server_info max_num_seqs", "configured", "50"}}, []string{"4", "requests", "/server_info max_num_seqs", "configured"}},
		{"not on the command line", "max_num_seqs", nil, [][5]string{{"read", "", "argv", "", "0"}}, []string{"-", "requests", "default, not reported", "unknown"}},
		{"two readings of one source", "max_num_seqs", nil, [][5]string{{"4", "requests", "engine log", "logged", "15"}, {"5", "requests", "engine log", "logged", "15"}}, []string{"-", "requests", "engine log", "conflicting"}},
		{"GB that may be GiB", "weights_bytes", []string{`sglang:weight_memory_usage_gb{"tp_rank":"0"} 30.5`}, nil, []string{"30.5", "GB", "sglang:weight_memory_usage_gb", "reported"}},
		{"weights of a worker", "weights_bytes", nil, [][5]string{{"35970351104", "bytes", "engine log", "logged", "40"}}, []string{"3.5970351104e+10", "bytes", "engine log", "logged"}},
	}
	f := newFixture(t)
	for i, test := range tests {
		f.add("arms", row{"campaign": campaign, "arm": test.name, "arm_order": 2 + i})
		f.cell(test.name, test.name)
		f.page(test.name, test.name, 1, "before", append(test.samples, start)...)
		for _, s := range test.said {
			fact := test.fact
			if s[0] == "read" {
				fact = "answer"
			}
			f.add("engine_facts", said(test.name, test.name, fact, s[0], s[1], s[2], s[3], int(parseFloat(t, s[4]))))
		}
	}
	db := f.load()
	for _, test := range tests {
		got := one(t, db, "SELECT value, unit, source, confidence FROM capacity_facts WHERE arm = ? AND fact = ?", test.name, test.fact)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestCapacityFactThatChangesHasNoValue(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "a")
	f.page("baseline", "a", 1, "before", pool("0", "100"))
	f.page("baseline", "a", 2, "after", pool("0", "101"))
	got := one(t, f.load(), "SELECT value, confidence FROM capacity_facts WHERE arm = 'baseline' AND fact = 'kv_pool_tokens'")
	if diff := cmp.Diff([]string{"-", "conflicting"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestConcurrencyClaimsStayApart(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "small", row{"requests": 2, "concurrency": 2, "max_tokens": 4096, "max_model_len": 393216})
	f.cell("baseline", "large", row{"requests": 2, "concurrency": 2, "context_tokens": 180000, "max_tokens": 4096, "max_model_len": 393216})
	for _, cell := range []string{"small", "large"} {
		prompt := map[string]int{"small": 8000, "large": 180000}[cell]
		f.request("baseline", cell, 0, span(0, 10, 20, 30, 5), row{"prompt_tokens": prompt})
		f.request("baseline", cell, 1, span(0, 15, 25, 30, 9), row{"prompt_tokens": prompt})
		f.page("baseline", cell, 1, "before", pool("0", "393216"))
		f.page("baseline", cell, 2, "during", pool("0", "393216"), `vllm:num_requests_running{"engine":"0"} 1`)
		f.page("baseline", cell, 3, "after", pool("0", "393216"), `vllm:num_requests_running{"engine":"0"} 7`)
	}
	want := [][]string{
		{"scheduler_ceiling", "-", "requests", "not visible", "the engine does not state it"},
		{"kv_resident_capacity", "393216", "tokens", "vllm:cache_config_info kv_cache_size_tokens", "pool, reported"},
		{"pool_contexts", "1", "contexts", "arithmetic", "393216 / 393216; not a claim of fit"},
		{"envelope_remainder", "25024", "tokens", "arithmetic", "393216 - 2 x (180000 + 4096), cell large"},
		{"measured_concurrency", "2", "requests", "client, exact", "cell large; prompts of 180000 to 180000 tokens, outputs of 5 to 9"},
		{"sampled_running", "1", "requests", "engine pages", "lower bound, 2 pages"},
	}
	db := f.load()
	if diff := cmp.Diff(want, query(t, db, "SELECT claim, value, unit, source, note FROM concurrency_claims WHERE arm = 'baseline'")); diff != "" {
		t.Error(diff)
	}
	none := [][]string{
		{"scheduler_ceiling", "-", "the engine does not state it"},
		{"kv_resident_capacity", "-", "pool unknown"},
		{"pool_contexts", "-", "pool or configured context unknown"},
		{"envelope_remainder", "-", "pool, prompt or output limit unknown"},
		{"measured_concurrency", "-", "no measured request had output"},
		{"sampled_running", "-", "not visible"},
	}
	if diff := cmp.Diff(none, query(t, db, "SELECT claim, value, note FROM concurrency_claims WHERE arm = 'candidate'")); diff != "" {
		t.Error(diff)
	}
}
