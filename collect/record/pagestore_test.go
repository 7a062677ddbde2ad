package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// vllmHistograms are the histograms of a vLLM page with the number of their
// buckets and whether an observation is made at each engine step or when a
// request ends.
var vllmHistograms = []struct {
	name     string
	buckets  int
	eachStep bool
}{
	{"vllm:time_to_first_token_seconds", 22, false},
	{"vllm:inter_token_latency_seconds", 19, true},
	{"vllm:request_time_per_output_token_seconds", 19, false},
	{"vllm:e2e_request_latency_seconds", 20, false},
	{"vllm:request_queue_time_seconds", 20, false},
	{"vllm:request_inference_time_seconds", 20, false},
	{"vllm:request_prefill_time_seconds", 20, false},
	{"vllm:request_decode_time_seconds", 20, false},
	{"vllm:request_prompt_tokens", 18, false},
	{"vllm:request_generation_tokens", 18, false},
	{"vllm:request_max_num_generation_tokens", 18, false},
	{"vllm:request_params_max_tokens", 18, false},
	{"vllm:request_params_n", 5, false},
	{"vllm:request_prefill_kv_computed_tokens", 18, false},
	{"vllm:iteration_tokens_total", 14, true},
	{"vllm:kv_block_lifetime_seconds", 20, false},
	{"vllm:kv_block_idle_before_evict_seconds", 20, false},
	{"vllm:kv_block_reuse_gap_seconds", 20, false},
}

var vllmCounters = []string{
	"num_preemptions", "prefix_cache_queries", "prefix_cache_hits", "external_prefix_cache_queries", "external_prefix_cache_hits",
	"mm_cache_queries", "mm_cache_hits", "prompt_tokens", "prompt_tokens_cached", "generation_tokens", "spec_decode_num_drafts",
	"spec_decode_num_draft_tokens", "spec_decode_num_accepted_tokens",
}

// vllmEngine is a server of two engine ranks under load, as its page shows it.
type vllmEngine struct {
	random   *rand.Rand
	counters [2][]int64
	buckets  [2][][]int64
	sums     [2][]float64
	http     [17][]int64
	httpSum  [17]float64
	cpu      float64
}

const (
	vllmModel   = "example-org/Example-Model-70B-Instruct-FP8"
	httpBuckets = 22
)

func newVLLMEngine() *vllmEngine {
	e := &vllmEngine{random: rand.New(rand.NewPCG(1, 2))}
	for rank := range 2 {
		e.counters[rank] = make([]int64, len(vllmCounters))
		e.sums[rank] = make([]float64, len(vllmHistograms))
		for _, h := range vllmHistograms {
			e.buckets[rank] = append(e.buckets[rank], make([]int64, h.buckets))
		}
	}
	for i := range e.http {
		e.http[i] = make([]int64, httpBuckets)
	}
	return e
}

// step is half a second under load: some tokens of every rank, and now and then
// a request that ends.
func (e *vllmEngine) step() {
	for rank := range 2 {
		for i, name := range vllmCounters {
			if strings.Contains(name, "tokens") || strings.Contains(name, "drafts") || strings.Contains(name, "cache_queries") {
				e.counters[rank][i] += int64(30 + e.random.IntN(200))
			}
		}
		ended := e.random.IntN(6) == 0
		for i, h := range vllmHistograms {
			if h.eachStep || ended {
				e.buckets[rank][i][e.random.IntN(h.buckets)] += int64(1 + e.random.IntN(4))
				e.sums[rank][i] += e.random.Float64() * 3
			}
		}
	}
	e.http[0][e.random.IntN(httpBuckets)]++ // the scrape itself
	e.httpSum[0] += e.random.Float64() / 100
	e.cpu += e.random.Float64()
}

func (e *vllmEngine) page() []byte {
	var b strings.Builder
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	fmt.Fprintf(&b, "# HELP process_cpu_seconds_total Total user and system CPU time.\n# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %s\n", number(e.cpu))
	b.WriteString("# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.79312345678e+09\n")
	for i, name := range vllmCounters {
		fmt.Fprintf(&b, "# HELP vllm:%s_total Counter of the engine.\n# TYPE vllm:%s_total counter\n", name, name)
		for rank := range 2 {
			fmt.Fprintf(&b, "vllm:%s_total{engine=\"%d\",model_name=%q} %d.0\n", name, rank, vllmModel, e.counters[rank][i])
		}
		for rank := range 2 {
			fmt.Fprintf(&b, "vllm:%s_created{engine=\"%d\",model_name=%q} 1.79312345678e+09\n", name, rank, vllmModel)
		}
	}
	for i, h := range vllmHistograms {
		fmt.Fprintf(&b, "# HELP %s Histogram of the engine.\n# TYPE %s histogram\n", h.name, h.name)
		for rank := range 2 {
			total := int64(0)
			for edge, n := range e.buckets[rank][i] {
				total += n
				fmt.Fprintf(&b, "%s_bucket{engine=\"%d\",le=\"%s\",model_name=%q} %d.0\n", h.name, rank, number(float64(edge+1)/4), vllmModel, total)
			}
			fmt.Fprintf(&b, "%s_bucket{engine=\"%d\",le=\"+Inf\",model_name=%q} %d.0\n", h.name, rank, vllmModel, total)
			fmt.Fprintf(&b, "%s_count{engine=\"%d\",model_name=%q} %d.0\n%s_sum{engine=\"%d\",model_name=%q} %s\n",
				h.name, rank, vllmModel, total, h.name, rank, vllmModel, number(e.sums[rank][i]))
		}
	}
	b.WriteString("# TYPE http_request_duration_highr_seconds histogram\n")
	for i, counts := range e.http {
		total := int64(0)
		for edge, n := range counts {
			total += n
			fmt.Fprintf(&b, "http_request_duration_highr_seconds_bucket{handler=\"/v1/route/%d\",le=\"%s\",method=\"GET\"} %d.0\n", i, number(float64(edge+1)/8), total)
		}
		fmt.Fprintf(&b, "http_request_duration_highr_seconds_sum{handler=\"/v1/route/%d\",method=\"GET\"} %s\n", i, number(e.httpSum[i]))
	}
	return []byte(b.String())
}

// Unchanged families cost little on disk: a row group is compressed as a whole,
// so that of a page after the first only what changed takes room. The pages come
// back byte for byte.
func TestPagesOfARunAreStoredWholeInFewBytes(t *testing.T) {
	const attempts, pages, most = 2, 60, 4096 // half a minute each
	engine, stored, size := newVLLMEngine(), int64(0), 0
	for range attempts {
		folder := t.TempDir()
		spool, err := CreateSpool(filepath.Join(folder, SpoolName))
		if err != nil {
			t.Fatal(err)
		}
		var bodies [][]byte
		for i := range int64(pages) {
			engine.step()
			body := engine.page()
			bodies, size = append(bodies, body), len(body)
			if err := Append(spool, Pages, []Page{scraped(i, body)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := spool.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Convert(folder, nil); err != nil {
			t.Fatal(err)
		}
		rows, err := ReadTable(folder, Pages)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(rows, bodies, func(p Page, body []byte) bool { return bytes.Equal(p.Body, body) }) {
			t.Fatal("the pages that come back are not those that were stored")
		}
		info, err := os.Stat(filepath.Join(folder, "pages.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		stored += info.Size()
	}
	each := stored / (attempts * pages)
	t.Logf("%d pages of %d bytes: %d bytes each on disk", attempts*pages, size, each)
	if size < 139_000 || size > 142_000 {
		t.Errorf("a page has %d bytes; the test is about pages of 140 kB", size)
	}
	if each > most {
		t.Errorf("a page takes %d bytes on disk, more than %d", each, most)
	}
}

// scraped is the row of a page that was fetched whole.
func scraped(seq int64, body []byte) Page {
	ok, sum := int64(200), sha256.Sum256(body)
	return Page{
		Seq: seq, Phase: "during", StartNs: seq * 5e8, EndNs: seq*5e8 + 4e6, StartUnixNs: 1e18 + seq*5e8,
		HTTPStatus: &ok, ContentType: "text/plain", BodySHA256: hex.EncodeToString(sum[:]), Body: body,
	}
}
