package campaign

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/collect/plan"
)

// The server of llama.cpp says what preflight wants to know in other places than
// vLLM does: its context in meta, a count of a text and not of messages.
func TestPreflightReadsTheServerOfLlamaCpp(t *testing.T) {
	const folder = "../engine/testdata/captured/llamacpp-xllamacpp-2026.10.11549"
	var words int
	mux := http.NewServeMux()
	for path, file := range map[string]string{"/v1/models": "models.json", "/props": "props.json", "/metrics": "idle.prom"} {
		body, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
	}
	mux.HandleFunc("/tokenize", func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Content string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		tokens := make([]int, len(strings.Fields(asked.Content))) // one a word; an empty list without a text
		words = len(tokens)
		_ = json.NewEncoder(w).Encode(map[string]any{"tokens": tokens})
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	p := smallPlan(t, func(p *plan.Plan) {
		for i := range p.Cells {
			p.Cells[i].Request.Model, p.Cells[i].Request.MaxModelLen = "tiny-random", 8192
		}
	})
	o := options(t, p, server.URL+"/v1", server.URL+"/v1")
	o.OnlyArm = "baseline"
	checks, err := Preflight(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Check{}
	for _, c := range checks {
		got[c.Name] = c
	}
	if c := got["model length"]; c.Verdict != CheckFail || c.Found != "4096 tokens, the plan counts on 8192" || strings.Contains(c.Fix, "--") {
		t.Errorf("the length is that of a slot, and the fix names no flag of another engine: %+v", c)
	}
	if c := got["metrics"]; c.Verdict != CheckWarn || c.Found != "lacks kv_usage_ratio" {
		t.Errorf("a page that counts computed prompt tokens counts prompt tokens: %+v", c)
	}
	if c := got["prompt of context 4096"]; !strings.HasPrefix(c.Found, decimal(int64(words))+" tokens without the chat template") {
		t.Errorf("%d words: %+v", words, c)
	}
}
