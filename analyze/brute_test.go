package analyze

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// facts is one request as the test knows it: nil stands for what is not known.
type facts struct {
	ttfo, ttft, last, done          int64
	prompt, completion, reasoning   int64
	hasUsage, hasReasoning, hasTTFT bool
	gap                             int64
}

// metrics computes the ten metrics of measurement.md section 5 from their
// definitions. A metric that is not in the map is null.
func (r facts) metrics() map[string]float64 {
	m := map[string]float64{"ttfo_ns": float64(r.ttfo), "e2e_ns": float64(r.done), "gap_p50_ns": float64(r.gap)}
	if r.hasTTFT {
		m["ttft_ns"] = float64(r.ttft)
	}
	if !r.hasUsage {
		return m
	}
	m["prompt_tokens"], m["completion_tokens"] = float64(r.prompt), float64(r.completion)
	if r.hasReasoning {
		m["reasoning_tokens"] = float64(r.reasoning)
	}
	m["effective_prefill_tok_s"] = float64(r.prompt) * 1e9 / float64(r.ttfo)
	if r.completion >= 2 && r.last > r.ttfo {
		m["tpot_ns"] = float64(r.last-r.ttfo) / float64(r.completion-1)
		m["decode_tok_s"] = float64(r.completion-1) * 1e9 / float64(r.last-r.ttfo)
	}
	return m
}

func (r facts) row() row {
	out := row{
		"ttfo_ns": r.ttfo, "ttft_ns": nil, "last_output_ns": r.last, "done_ns": r.done, "end_ns": r.done, "gap_p50_ns": r.gap, "cached_tokens": nil,
		"prompt_tokens": nil, "completion_tokens": nil, "reasoning_tokens": nil,
	}
	if r.hasTTFT {
		out["ttft_ns"] = r.ttft
	}
	if r.hasUsage {
		out["prompt_tokens"], out["completion_tokens"] = r.prompt, r.completion
		if r.hasReasoning {
			out["reasoning_tokens"] = r.reasoning
		}
	}
	return out
}

func randomFacts(random *rand.Rand) facts {
	ttfo := (1 + random.Int64N(40)) * 1_000_000 // coarse, so that values tie
	last := ttfo + random.Int64N(30)*1_000_000
	return facts{
		ttfo: ttfo, ttft: ttfo + random.Int64N(last-ttfo+1), last: last, done: last + 1 + random.Int64N(1_000_000), gap: 1 + random.Int64N(5),
		prompt: 1 + random.Int64N(50), completion: random.Int64N(30), reasoning: random.Int64N(3),
		hasUsage: random.IntN(5) > 0, hasReasoning: random.IntN(4) > 0, hasTTFT: random.IntN(6) > 0,
	}
}

// TestDistributionsOfEveryMetricAgreeWithBruteForce looks at every metric, with
// ties and with values that are not known, for each n from 1 to 45: n, extremes,
// nearest ranks, and the interval of the median by adding up the binomial.
func TestDistributionsOfEveryMetricAgreeWithBruteForce(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 32))
	f := newFixture(t)
	f.rows["campaigns"][0]["plan"] = planText(`"all planned requests completed and terminal"`, "") // what is unknown fails no rule
	want := map[string][]string{}
	for n := 1; n <= 45; n++ {
		cell := fmt.Sprint("n", n)
		f.cell("baseline", cell, row{"requests": n})
		values := map[string][]float64{}
		for i := range n {
			r := randomFacts(random)
			f.request("baseline", cell, i, r.row())
			for metric, v := range r.metrics() {
				values[metric] = append(values[metric], v)
			}
		}
		for _, metric := range metricNames {
			want[cell+" "+metric] = summary(values[metric])
		}
	}
	got := keyed(t, f.load(), "SELECT cell || ' ' || metric, n, min, p50, p95, max, p50_low, p50_high FROM cell_distributions")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

var metricNames = []string{
	"ttfo_ns", "ttft_ns", "e2e_ns", "decode_tok_s", "tpot_ns", "effective_prefill_tok_s", "prompt_tokens", "completion_tokens", "reasoning_tokens", "gap_p50_ns",
}

// summary is what a row of cell_distributions says of these values.
func summary(values []float64) []string {
	if len(values) == 0 {
		return []string{"0", "-", "-", "-", "-", "-", "-"}
	}
	sorted := slices.Sorted(slices.Values(values))
	out := []string{strconv.Itoa(len(sorted)), text(sorted[0]), text(nearest(values, 50)), text(nearest(values, 95)), text(sorted[len(sorted)-1]), "-", "-"}
	if rank := narrowest(int64(len(sorted))); rank > 0 {
		out[5], out[6] = text(sorted[rank-1]), text(sorted[len(sorted)-int(rank)])
	}
	return out
}

// TestPooledThroughputIsNoMeanOfRates computes the throughput of random cells as
// all tokens over the window from the first start to the last output.
func TestPooledThroughputIsNoMeanOfRates(t *testing.T) {
	random := rand.New(rand.NewPCG(33, 34))
	f := newFixture(t)
	want := map[string][]string{}
	for c := range 40 {
		cell, n := fmt.Sprint("cell", c), 1+random.IntN(9)
		f.cell("baseline", cell, row{"requests": n, "concurrency": n})
		base := int64(c+1) * 1000 * second
		first, end, tokens := int64(1)<<62, int64(0), int64(0)
		for i := range n {
			start := base + random.Int64N(10*second)
			last := start + 2 + random.Int64N(50*second)
			completion := 2 + random.Int64N(20)
			f.request("baseline", cell, i, span(start, start+1, last, last+1, int(completion)))
			first, end, tokens = min(first, start), max(end, last), tokens+completion
		}
		want[cell] = []string{fmt.Sprint(end - first), fmt.Sprint(tokens), text(float64(tokens) * 1e9 / float64(end-first))}
	}
	got := keyed(t, f.load(), "SELECT cell, window_ns, completion_tokens, throughput_tok_s FROM cell_overlap")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
