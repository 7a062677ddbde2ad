package analyze

import (
	"encoding/csv"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/collect/engine"
	"assay/collect/simengine"
)

const corpusFolder = "../collect/engine/testdata"

// scrapedPage adds a page as ingest stores it.
func (f *fixture) scrapedPage(cell string, body []byte) {
	f.t.Helper()
	f.page("baseline", cell, 1, "before")
	key := row{"campaign": campaign, "arm": "baseline", "cell": cell, "attempt": 1, "page_seq": 1, "phase": "before", "at_ns": int64(1_000_000_000)}
	err := pairSamples(strings.Split(strings.TrimSuffix(string(body), "\n"), "\n"), func(s engine.Series, declared bool) error {
		r := merged(key, row{"series": s.Name, "labels": s.Labels, "value": s.Value, "declared": declared})
		if s.LE != nil {
			r["le"] = *s.LE
		}
		f.add("engine_samples", r)
		return nil
	}, func(family string) error {
		f.add("engine_samples", merged(key, row{"series": family, "labels": "{}", "declared": true}))
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// The views resolve every page of the corpus as the mapping's own tests do: each
// canonical metric to its source where the engine has it, to nothing where it does
// not; series without a canonical meaning stay where they can be asked for.
func TestViewsResolveTheCorpus(t *testing.T) {
	file, err := os.Open(filepath.Join(corpusFolder, "resolved.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	for _, r := range rows[1:] {
		want[r[0]] = append(want[r[0]], r[1]+" "+r[2])
	}
	f := newFixture(t)
	for page := range want {
		body, err := os.ReadFile(filepath.Join(corpusFolder, "pages", page+".prom"))
		if err != nil {
			t.Fatal(err)
		}
		f.cell("baseline", page)
		f.scrapedPage(page, body)
	}
	db := f.load()
	got := map[string][]string{}
	for _, r := range query(t, db, `SELECT DISTINCT cell, canonical, CASE kind WHEN 'histogram' THEN family ELSE scraped END FROM resolved_series WHERE scraped IS NOT NULL`) {
		// Of the parts of one value the mapping's tests name the first on the page.
		if r[2] != "tgi_request_failure" || r[1] != "requests_finished" {
			got[r[0]] = append(got[r[0]], r[1]+" "+r[2])
		}
	}
	for page := range want {
		slices.Sort(want[page])
		slices.Sort(got[page])
		if diff := cmp.Diff(want[page], got[page]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", page, diff)
		}
	}
	if absent := one(t, db, "SELECT count(*) FROM resolved_series WHERE cell = 'tgi' AND canonical IN ('ttft_arrival_seconds', 'preemptions', 'prefix_cache_hits') AND scraped IS NULL")[0]; absent != "3" {
		t.Errorf("%s of 3 metrics TGI does not have are unavailable", absent)
	}
	if source := one(t, db, "SELECT series FROM engine_gauges WHERE cell = 'sglang_0520' AND canonical = 'kv_usage_ratio'")[0]; source != "sglang:token_usage" {
		t.Errorf("a gauge's source is %s", source)
	}
	if unmapped := one(t, db, "SELECT value FROM engine_samples WHERE cell = 'sglang_0520' AND series = 'sglang:gen_throughput'")[0]; unmapped != "100" {
		t.Errorf("an unmapped series is %s", unmapped)
	}
}

// The simulated engine exposes what vLLM does, so that what is shown of it is
// what would be shown of vLLM.
func TestViewsResolveTheSimulatedEngine(t *testing.T) {
	profile, _ := simengine.LookupProfile("glm53-candidate")
	_, url, stop, err := simengine.Start(t.Context(), simengine.Config{Profile: profile, Model: "m", MaxModelLen: 32768, Seed: 1, TimeScale: 50})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	answer, err := http.Get(strings.TrimSuffix(url, "/v1") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t)
	f.cell("baseline", "sim")
	f.scrapedPage("sim", body)
	db := f.load()
	missing := query(t, db, `SELECT canonical FROM resolved_series WHERE scraped IS NULL AND canonical IN (SELECT canonical FROM canonical_series WHERE engine = 'vllm') ORDER BY 1`)
	want := [][]string{
		{"external_prefix_cache_hits"}, {"external_prefix_cache_queries"}, {"prefix_cache_hit_ratio"}, {"prompt_tokens_recomputed"},
		{"requests_rejected"}, {"requests_swapped_or_paused"}, {"spec_accept_rate"},
	}
	if diff := cmp.Diff(want, missing); diff != "" {
		t.Error(diff)
	}
}
