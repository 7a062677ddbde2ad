package engine

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/collect/record"
)

// captured is what real engines answered (tools/interop); docs/engines has how.
const captured = "testdata/captured"

func readCaptured(t *testing.T, engine, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(captured, engine, name))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func capturedPage(t *testing.T, engine, name string) Page {
	t.Helper()
	page, problems := ParsePage(readCaptured(t, engine, name))
	if len(problems) > 0 {
		t.Fatalf("%s of %s has problems: %v", name, engine, problems)
	}
	return page
}

// capturedEngines says for each engine what its pages must resolve to: one
// answer with 38 prompt and 12 generated tokens lies between idle and after; busy
// is in the middle of a request whose client left before left.
var capturedEngines = map[string]struct {
	facts      map[string]string // identity
	has        string            // canonical counters and gauges of one value on the page
	histograms string            // canonical histograms on the page
	lists      string            // canonical names whose series are never made one number
}{
	"vllm-0.32.0": {
		facts: map[string]string{"served_id": "tiny-random", "max_model_len": "4096", "engine_version": "0.32.0", "process_start": "1796067227.67"},
		has: "external_prefix_cache_hits external_prefix_cache_queries generation_tokens kv_pool_config kv_usage_ratio preemptions prefix_cache_hits " +
			"prefix_cache_queries process_start_seconds prompt_tokens prompt_tokens_cached prompt_tokens_computed prompt_tokens_computed_finished " +
			"requests_finished requests_rejected requests_running requests_waiting",
		histograms: "decode_seconds e2e_seconds inference_seconds iteration_tokens itl_per_output_seconds prefill_seconds queue_seconds " +
			"request_generation_tokens request_prompt_tokens tpot_request_seconds ttft_arrival_seconds",
		lists: "requests_waiting_by_reason",
	},
	"llamacpp-xllamacpp-2026.10.11549": {
		facts: map[string]string{"served_id": "tiny-random", "max_model_len": "4096", "engine_version": "b0-unknown", "max_num_seqs": "2"},
		has: "decode_compute_seconds engine_steps generation_tokens prefill_compute_seconds prompt_tokens_cached prompt_tokens_computed requests_running requests_waiting " +
			"spec_accepted_tokens spec_draft_rounds spec_draft_tokens",
	},
}

func TestEveryCapturedEngineIsHeldToItsPages(t *testing.T) {
	folders, err := os.ReadDir(captured)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range folders {
		names = append(names, f.Name())
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(capturedEngines)), names); diff != "" {
		t.Errorf("captured engines (-here +folder):\n%s", diff)
	}
}

func TestCapturedIdentity(t *testing.T) {
	for engine, want := range capturedEngines {
		got := map[string]string{}
		facts := PageFacts(capturedPage(t, engine, "idle.prom"))
		for _, a := range AskIdentity(func(path string) record.Answer {
			file := strings.TrimPrefix(strings.TrimPrefix(path, "/v1"), "/") + ".json"
			if path == pathHealth { // its body says nothing
				return record.Answer{Path: path}
			}
			return record.Answer{Path: path, Body: readCaptured(t, engine, file)}
		}) {
			facts = append(facts, AnswerFacts(a)...)
		}
		for _, f := range facts {
			if f.Value != nil {
				got[f.Fact] = *f.Value
			}
		}
		if diff := cmp.Diff(want.facts, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", engine, diff)
		}
	}
}

func TestCapturedPagesResolve(t *testing.T) {
	for engine, want := range capturedEngines {
		page := capturedPage(t, engine, "after.prom")
		var has, histograms, lists []string
		for _, m := range names() {
			_, source, ok := Resolve(page, m.Canonical)
			switch {
			case m.Kind == TypeHistogram:
				if slices.ContainsFunc(Canonical(), func(s Mapping) bool { return s.Canonical == m.Canonical && page.Families[s.Source] == TypeHistogram }) {
					histograms = append(histograms, m.Canonical)
				}
			case ok:
				has = append(has, m.Canonical)
			case source != "":
				lists = append(lists, m.Canonical)
			}
		}
		slices.Sort(has)
		slices.Sort(histograms)
		for what, pair := range map[string][2][]string{"one value": {strings.Fields(want.has), has}, "histograms": {strings.Fields(want.histograms), histograms}, "lists": {strings.Fields(want.lists), lists}} {
			if diff := cmp.Diff(strings.Join(pair[0], "\n"), strings.Join(pair[1], "\n")); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", engine, what, diff)
			}
		}
	}
}

// What one answer of 38 prompt and 12 generated tokens moved, and what a client
// moved that left.
func TestCapturedCounters(t *testing.T) {
	for _, tt := range []struct {
		engine, from, to, canonical string
		want                        float64
	}{
		{"vllm-0.32.0", "idle", "after", "prompt_tokens", 38},
		{"vllm-0.32.0", "idle", "after", "prompt_tokens_computed", 38},
		{"vllm-0.32.0", "idle", "after", "generation_tokens", 12},
		{"vllm-0.32.0", "idle", "after", "requests_finished", 1},
		{"vllm-0.32.0", "after", "left", "prompt_tokens", 38},
		{"vllm-0.32.0", "after", "left", "requests_finished", 0}, // a client that leaves is counted under no reason, abort included
		{"vllm-0.32.0", "after", "busy", "requests_running", 1},
		{"llamacpp-xllamacpp-2026.10.11549", "after", "busy", "requests_running", 1},
		{"llamacpp-xllamacpp-2026.10.11549", "idle", "after", "generation_tokens", 12},
	} {
		from, source, hasFrom := Resolve(capturedPage(t, tt.engine, tt.from+".prom"), tt.canonical)
		to, _, hasTo := Resolve(capturedPage(t, tt.engine, tt.to+".prom"), tt.canonical)
		if !hasFrom || !hasTo || to-from != tt.want {
			t.Errorf("%s: %s moves by %v from %s to %s, want %v (source %q)", tt.engine, tt.canonical, to-from, tt.from, tt.to, tt.want, source)
		}
	}
}

// The server of llama.cpp counts the prompt in two parts, and their sum is what
// usage says.
func TestCapturedPromptOfLlamaCppIsComputedAndCached(t *testing.T) {
	const engine = "llamacpp-xllamacpp-2026.10.11549"
	sum := 0.0
	for _, canonical := range []string{"prompt_tokens_computed", "prompt_tokens_cached"} {
		before, _, was := Resolve(capturedPage(t, engine, "idle.prom"), canonical)
		after, _, is := Resolve(capturedPage(t, engine, "after.prom"), canonical)
		if !was || !is {
			t.Fatalf("%s is not on the pages", canonical)
		}
		sum += after - before
	}
	if sum != 38 {
		t.Errorf("the prompt had %v tokens, want 38", sum)
	}
}

// Behind several API servers no one process start is on vLLM's page, and no
// counter says when it was made: a restart must not be read out of it.
func TestCapturedPageOfSeveralServersHasNoProcessStart(t *testing.T) {
	page := capturedPage(t, "vllm-0.32.0", "two_api_servers.prom")
	if diff := cmp.Diff([]Fact{{Fact: FactProcessStart, Source: pathMetrics, Reason: "absent"}}, PageFacts(page)); diff != "" {
		t.Error("facts (-want +got):\n", diff)
	}
	if slices.ContainsFunc(page.Series, func(s Series) bool { return strings.HasSuffix(s.Name, "_created") }) {
		t.Error("the page has a time of creation")
	}
	if v, _, ok := Resolve(page, "requests_finished"); !ok || v != 30 { // all that this engine had answered by then
		t.Errorf("requests_finished = %v (%v), want 30", v, ok)
	}
}
