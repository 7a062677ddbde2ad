package analyze

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// served is a page of an engine with the given counters: requests finished by
// reason, prompt and generated tokens, preemptions, and histograms of n finished
// requests whose times fit together.
func served(stop, abort, prompt, generated, preempted, n int, inference float64) []string {
	samples := []string{
		start,
		fmt.Sprintf(`vllm:request_success_total{"finished_reason":"stop"} %d`, stop),
		fmt.Sprintf(`vllm:request_success_total{"finished_reason":"abort"} %d`, abort),
		fmt.Sprintf(`vllm:prompt_tokens_total{} %d`, prompt),
		fmt.Sprintf(`vllm:generation_tokens_total{} %d`, generated),
		fmt.Sprintf(`vllm:num_preemptions_total{} %d`, preempted),
	}
	for name, sum := range map[string]float64{
		"e2e_request_latency_seconds": 10 * float64(n), "request_queue_time_seconds": 1 * float64(n), "request_prefill_time_seconds": 2 * float64(n),
		"request_decode_time_seconds": 6 * float64(n), "request_inference_time_seconds": inference,
	} {
		samples = append(samples, fmt.Sprintf(`vllm:%s_bucket{} le=+Inf %d`, name, n), fmt.Sprintf(`vllm:%s_count{} %d`, name, n), fmt.Sprintf(`vllm:%s_sum{} %v`, name, sum))
	}
	return samples
}

// The identities of the engine's numbers, each broken in turn: what explains it
// is said, and nothing is called foreign traffic that has another cause.
func TestEngineChecksAndWhatExplainsThem(t *testing.T) {
	const requests = 2 // each 8000 prompt and 11 completion tokens
	tests := []struct {
		name  string
		after []string
		check string
		want  string // verdict, explanation
	}{
		{"sound", served(2, 0, 16000, 22, 0, 2, 16), "inference_is_prefill_and_decode", "holds -"},
		{"sound", nil, "e2e_covers_queue_and_inference", "holds -"},
		{"sound", nil, "finished_histograms_agree", "holds -"},
		{"sound", nil, "finished_counter_agrees", "holds -"},
		{"sound", nil, "requests_are_ours", "holds -"},
		{"sound", nil, "prompt_tokens_are_ours", "holds -"},
		{"sound", nil, "generation_tokens_are_ours", "holds -"},
		{"sound", nil, "prompt_is_computed_and_cached", "not_evaluable a side of it is not exposed, or has no delta"},
		{"times that do not add up", served(2, 0, 16000, 22, 0, 2, 15), "inference_is_prefill_and_decode", "broken -"},
		{"rounded sums", served(2, 0, 16000, 22, 0, 2, 16.000001), "inference_is_prefill_and_decode", "holds -"},
		{"inference beyond e2e", served(2, 0, 16000, 22, 0, 2, 19), "e2e_covers_queue_and_inference", "broken -"},
		{"an abort beside them", served(2, 1, 16000, 22, 0, 2, 16), "finished_counter_agrees", "explained aborted: 1 requests ended by an abort or an error"},
		{"three foreign requests", served(5, 0, 40000, 55, 0, 5, 40), "requests_are_ours", "explained foreign_traffic: 3 foreign or unaccounted requests"},
		{"three foreign requests", nil, "prompt_tokens_are_ours", "explained foreign_traffic: 3 foreign or unaccounted requests"},
		{"foreign tokens of no request", served(2, 0, 16017, 22, 0, 2, 16), "prompt_tokens_are_ours", "explained foreign_traffic: 17 tokens that no request of the client accounts for"},
		{"preempted", served(2, 0, 32000, 22, 2, 2, 16), "prompt_tokens_are_ours", "explained preemption_recompute: 2 preemptions; the engine's count holds tokens computed again"},
		{"preempted, and foreign too", served(3, 0, 32000, 22, 2, 3, 24), "prompt_tokens_are_ours", "explained foreign_traffic: 1 foreign or unaccounted requests"},
		{"one not counted yet", served(1, 0, 8000, 11, 0, 1, 8), "requests_are_ours", "explained not_yet_counted: 1 of 2 requests the client saw end"},
		{"one not counted yet", nil, "generation_tokens_are_ours", "explained not_yet_counted: 1 of 2 requests the client saw end"},
		{"tokens lost", served(2, 0, 16000, 21, 0, 2, 16), "generation_tokens_are_ours", "broken -"},
		{"restarted", with(served(2, 0, 16000, 22, 0, 2, 16)[1:], "process_start_time_seconds{} 2000"), "requests_are_ours", "not_evaluable a side of it is not exposed, or has no delta"},
	}
	f := newFixture(t)
	for _, test := range tests {
		if test.after == nil {
			continue
		}
		f.cell("baseline", test.name, row{"requests": requests, "concurrency": requests})
		for i := range requests {
			f.request("baseline", test.name, i)
		}
		f.page("baseline", test.name, 1, "before", served(0, 0, 0, 0, 0, 0, 0)...)
		f.page("baseline", test.name, 9, "after", test.after...)
	}
	db := f.load()
	for _, test := range tests {
		got := one(t, db, "SELECT verdict || ' ' || coalesce(explanation, '-') FROM engine_checks WHERE cell = ? AND check_name = ?", test.name, test.check)[0]
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s, %s: %s", test.name, test.check, diff)
		}
	}
	sides := one(t, db, "SELECT observed, expected, unit FROM engine_checks WHERE cell = 'three foreign requests' AND check_name = 'requests_are_ours'")
	if diff := cmp.Diff([]string{"5", "2", "requests"}, sides); diff != "" {
		t.Error(diff)
	}
}

func TestPartsOfAcceptedTokensAreChecked(t *testing.T) {
	f := newFixture(t)
	position := func(p, n int) string {
		return fmt.Sprintf(`vllm:spec_decode_num_accepted_tokens_per_pos_total{"position":"%d"} %d`, p, n)
	}
	page := func(accepted, second int) []string {
		return []string{start, position(0, 5), position(1, second), fmt.Sprintf("vllm:spec_decode_num_accepted_tokens_total{} %d", accepted), fmt.Sprintf("vllm:spec_decode_num_draft_tokens_total{} %d", 2*accepted)}
	}
	for name, second := range map[string]int{"sound": 3, "broken": 4} {
		f.cell("baseline", name)
		f.request("baseline", name, 0)
		f.page("baseline", name, 1, "before", start, position(0, 0), position(1, 0), "vllm:spec_decode_num_accepted_tokens_total{} 0", "vllm:spec_decode_num_draft_tokens_total{} 0")
		f.page("baseline", name, 2, "after", page(8, second)...)
	}
	want := map[string][]string{"sound": {"holds", "holds"}, "broken": {"broken", "holds"}}
	got := keyed(t, f.load(), `SELECT cell, min(verdict) FILTER (check_name = 'accepted_is_the_sum_of_positions'), min(verdict) FILTER (check_name = 'accepted_is_within_drafted') FROM engine_checks GROUP BY cell`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
