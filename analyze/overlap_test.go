package analyze

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const second = 1_000_000_000

// span is a request that sends at t0, has outputs from first to last and ends
// at end, all in ns on the run's clock.
func span(t0, first, last, end int64, tokens int) row {
	return row{
		"t0_ns": t0, "ttfo_ns": first - t0, "ttft_ns": first - t0, "ttft_nonblank_ns": first - t0, "last_output_ns": last - t0,
		"done_ns": end - t0, "end_ns": end - t0, "completion_tokens": tokens, "output_events": tokens, "short_gaps": 0,
	}
}

func TestThroughputWindowAndOverlapOfCaseC04(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "a", row{"requests": 4, "concurrency": 2})
	for i, s := range [][3]int64{{0, 10, 100}, {0, 6, 60}, {6, 12, 60}, {10, 20, 100}} {
		f.request("baseline", "a", i, span(s[0]*second, s[0]*second+1, s[1]*second, s[1]*second, int(s[2])))
	}
	got := one(t, f.load(), `SELECT requests, max_overlap, mean_overlap, full_share, window_ns, generating_overlap, completion_tokens, throughput_tok_s, throughput_note
		FROM cell_overlap`)
	want := []string{"4", "2", "1.6", "0.6", "20000000000", "2", "320", "16", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOverlapAtTouchingInstants(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "a", row{"requests": 2})
	// The second request starts in the ns in which the first ends and has its only
	// output in the ns of the first one's last.
	f.request("baseline", "a", 0, span(0, 10, 20, 20, 2))
	f.request("baseline", "a", 1, span(20, 20, 20, 30, 2))
	got := one(t, f.load(), "SELECT max_overlap, mean_overlap, generating_overlap FROM cell_overlap")
	if diff := cmp.Diff([]string{"1", "1", "2"}, got); diff != "" {
		t.Errorf("[t0, end) does not hold its end, output instants belong to both: %s", diff)
	}
}

func TestOverlapAgreesWithAnIndependentComputation(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	f := newFixture(t)
	want := map[string][]string{}
	for c := range 40 {
		cell, n, concurrency := fmt.Sprint("cell", c), 1+random.IntN(12), 1+random.IntN(4)
		f.cell("baseline", cell, row{"requests": n, "concurrency": concurrency})
		var spans [][4]int64
		for i := range n {
			t0 := random.Int64N(40)
			first := t0 + random.Int64N(20)
			last := first + random.Int64N(20)
			end := last + 1 + random.Int64N(5)
			spans = append(spans, [4]int64{t0, first, last, end})
			f.request("baseline", cell, i, span(t0, first, last, end, 2))
		}
		want[cell] = slowOverlap(spans, int64(concurrency))
	}
	got := keyed(t, f.load(), "SELECT cell, max_overlap, mean_overlap, full_share, generating_overlap FROM cell_overlap")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// slowOverlap looks at every nanosecond.
func slowOverlap(spans [][4]int64, concurrency int64) []string {
	start, end := spans[0][0], spans[0][3]
	for _, s := range spans {
		start, end = min(start, s[0]), max(end, s[3])
	}
	var most, generating, total, full int64
	for now := start; now < end; now++ {
		var open, streaming int64
		for _, s := range spans {
			if s[0] <= now && now < s[3] {
				open++
			}
			if s[1] <= now && now <= s[2] {
				streaming++
			}
		}
		most, generating, total = max(most, open), max(generating, streaming), total+open
		if open >= concurrency {
			full++
		}
	}
	return []string{fmt.Sprint(most), text(float64(total) / float64(end-start)), text(float64(full) / float64(end-start)), fmt.Sprint(generating)}
}

func TestThroughputIsWithheldUnlessTheCellIsEligible(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "ineligible")
	f.request("baseline", "ineligible", 0, row{"canary_state": "absent"})
	f.cell("baseline", "warm", row{"excluded_warmup": true, "workload": "warmup"})
	f.request("baseline", "warm", 0)
	f.plannedCell("baseline", "never")
	f.cell("baseline", "stepped")
	f.request("baseline", "stepped", 0, row{"t0_ns": 9 * second})
	f.rows["attempts"][2]["clock_drift_ns"] = -2 * second
	want := [][]string{
		{"ineligible", "-", "withheld: the cell is not eligible"},
		{"warm", "-", "withheld: warm-up"},
		{"never", "-", "no request was sent"},
		{"stepped", "-", "withheld: clock_step"},
	}
	got := query(t, f.load(), "SELECT cell, throughput_tok_s, throughput_note FROM cell_overlap")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSamplingIntervals(t *testing.T) {
	f := newFixture(t)
	f.cell("baseline", "a")
	f.request("baseline", "a", 0)
	for seq, phase := range []string{"before", "during", "during", "during", "during", "after"} {
		f.page("baseline", "a", seq, phase)
	}
	f.rows["pages"][3]["error"] = "timeout"
	for seq, at := range []int64{0, 5, 7} {
		for gpu := range 2 {
			f.add("gpu_samples", row{"campaign": campaign, "arm": "baseline", "cell": "a", "attempt": 1, "sample_seq": seq, "phase": "during", "at_ns": at + int64(gpu), "status": "ok", "gpu_index": gpu})
		}
	}
	f.add("host_samples", row{"campaign": campaign, "arm": "baseline", "cell": "a", "attempt": 1, "sample_seq": 0, "phase": "before", "at_ns": 0, "status": "unavailable"})
	f.plannedCell("baseline", "never")
	want := [][]string{
		{"cgroup", "0", "0", "0", "-", "-", "-"},
		{"gpu", "3", "3", "0", "2", "2", "5"},
		{"host", "1", "0", "1", "-", "-", "-"},
		{"pages", "6", "4", "1", "1000000000", "1000000000", "2000000000"},
	}
	got := query(t, f.load(), "SELECT source, samples, during, errors, min_ns, p50_ns, max_ns FROM sampling_intervals")
	slices.SortFunc(got, func(a, b []string) int { return slices.Compare(a, b) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
