package cases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/collect/engine"
	"assay/collect/record"
	"assay/ingest/ingesttest"
	"assay/ingest/store"
)

// TestCapturedEnginesThroughThePipeline gives the pages, the identity and one
// answer of each real engine (docs/engines) to ingest and the views: what the
// engine says of the one request must be what the client saw of it.
func TestCapturedEnginesThroughThePipeline(t *testing.T) {
	for _, tt := range []struct {
		folder, file string
		counters     map[string]string // delta of one request
		histograms   map[string]string // n of one request
		capacity     map[string]string
		withheld     []string
	}{
		{
			folder: "vllm-0.32.0", file: "captured_vllm_0.32.0",
			counters: map[string]string{
				"prompt_tokens": "38", "prompt_tokens_computed": "38", "prompt_tokens_cached": "0", "generation_tokens": "12", "requests_finished": "1", "preemptions": "0",
			},
			histograms: map[string]string{
				"ttft_arrival_seconds": "1", "itl_per_output_seconds": "11", "tpot_request_seconds": "1", "e2e_seconds": "1", "queue_seconds": "1",
				"prefill_seconds": "1", "decode_seconds": "1", "inference_seconds": "1", "request_prompt_tokens": "1", "request_generation_tokens": "1",
			},
			capacity: map[string]string{"max_model_len": "4096", "max_num_seqs": "null", "kv_pool_tokens": "1048576", "kv_bytes": "1073741824"},
			withheld: nil,
		},
		{
			folder: "llamacpp-xllamacpp-2026.10.11549", file: "captured_llamacpp_xllamacpp_2026.10.11549",
			counters: map[string]string{
				"prompt_tokens_computed": "25", "prompt_tokens_cached": "13", "generation_tokens": "12", "prompt_tokens": "null", "requests_finished": "null",
			},
			histograms: map[string]string{"e2e_seconds": "null"},
			capacity:   map[string]string{"max_model_len": "4096", "max_num_seqs": "2", "kv_pool_tokens": "8192"}, // slots x context, marked derived,
			withheld:   []string{"cache_assisted effective_prefill_tok_s", "foreign_traffic token_attribution"},
		},
	} {
		t.Run(tt.folder, func(t *testing.T) {
			db := analysed(t, capturedRun(t, tt.folder, tt.file))
			for canonical, want := range tt.counters {
				ask(t, db, want, "SELECT sum(delta)::BIGINT FROM counter_deltas WHERE canonical = ?", canonical)
			}
			for canonical, want := range tt.histograms {
				ask(t, db, want, "SELECT sum(n)::BIGINT FROM histogram_summary WHERE canonical = ?", canonical)
			}
			// The engine's clock starts later and ends earlier than the client's.
			for canonical, column := range map[string]string{"ttft_arrival_seconds": "ttfo_ns", "e2e_seconds": "e2e_ns"} {
				want := "true"
				if tt.histograms[canonical] != "1" {
					want = "null"
				}
				ask(t, db, want, "SELECT max(h.mean) > 0 AND max(h.mean) * 1e9 <= max(m."+column+") FROM histogram_summary h, request_metrics m WHERE h.canonical = ?", canonical)
			}
			for fact, want := range tt.capacity {
				ask(t, db, want, "SELECT value::BIGINT FROM capacity_facts WHERE fact = ?", fact)
			}
			withheld, err := store.Strings(db.Query(t.Context(), "withheld", "SELECT DISTINCT flag || ' ' || metric AS w FROM metric_withholdings WHERE metric IS NOT NULL ORDER BY w"))
			if diff := cmp.Diff(tt.withheld, withheld); err != nil || diff != "" {
				t.Errorf("withheld (-want +got): %v\n%s", err, diff)
			}
		})
	}
}

// ask compares one value, null included.
func ask(t *testing.T, db *store.DB, want, query, argument string) {
	t.Helper()
	got, err := store.Strings(db.Query(t.Context(), argument, "SELECT coalesce(("+query+")::VARCHAR, 'null')", argument))
	if err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%s = %v, want %s (%v)", argument, got, want, err)
	}
}

// capturedRun writes a run directory of one request: the captured answer between
// the captured pages.
func capturedRun(t *testing.T, folder, file string) string {
	t.Helper()
	read := func(name string) []byte {
		body, err := os.ReadFile(filepath.Join("../collect/engine/testdata/captured", folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	p := ingesttest.Plan(t, ingesttest.CellSpec{ID: "captured", Arm: "arm", Requests: 1})
	run := ingesttest.NewRun(t, p)
	a := run.Cell("captured")
	for _, phase := range []string{"before", "after"} {
		a.Answers = append(a.Answers, engine.AskIdentity(func(path string) record.Answer {
			status := int64(200)
			answer := record.Answer{Phase: phase, Path: path, HTTPStatus: &status, AtNs: a.StartNs, AtUnixNs: ingesttest.AnchorUnixNs + a.StartNs}
			if path != "/health" {
				answer.Body = read(strings.TrimPrefix(strings.TrimPrefix(path, "/v1"), "/") + ".json")
			}
			return answer
		})...)
	}
	a.Page("before", 0, string(read("idle.prom")))
	for _, f := range loadCases(t) {
		if f.name != file {
			continue
		}
		w, err := wireOf(f.stream("answer"), a.Plan, 0)
		if err != nil {
			t.Fatal(err)
		}
		res := w.replay(ingesttest.AnchorUnixNs + a.T0Ns(0))
		put(a, 0, &res)
	}
	a.Page("after", time.Minute, string(read("after.prom")))
	return run.Write()
}
