package analyze

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reading adds a reading of one GPU with a counter; energy below 0 is null.
func (f *fixture) reading(cell string, seq int, phase string, at, energy int, over ...row) {
	r := row{
		"campaign": campaign, "arm": "baseline", "cell": cell, "attempt": 1, "sample_seq": seq, "phase": phase, "at_ns": at,
		"status": "ok", "gpu_index": 0, "gpu": "gpu-1",
	}
	if energy >= 0 {
		r["energy_mj"] = energy
	}
	f.add("gpu_samples", merged(r, over...))
}

// TestEnergyOfACellOrWhyThereIsNone has one request of each cell from 0 to 13 ms.
func TestEnergyOfACellOrWhyThereIsNone(t *testing.T) {
	f := newFixture(t)
	const ms = 1_000_000
	for _, cell := range []string{"around", "inside", "thrice", "once", "fell", "outside", "unsent", "none", "unsupported", "lost"} {
		f.cell("baseline", cell)
		if cell != "unsent" {
			f.request("baseline", cell, 0)
		}
	}
	f.reading("around", 0, "before", -2*ms, 100)
	f.reading("around", 1, "before", -ms, 150)
	f.reading("around", 2, "during", 5*ms, 200)
	f.reading("around", 3, "after", 20*ms, 450)
	f.reading("around", 4, "after", 30*ms, 900)
	f.reading("inside", 0, "during", 0, 100)
	f.reading("inside", 1, "during", 13*ms/2, 160)
	for gpu, name := range []string{"gpu-1", "gpu-2", "gpu-3"} {
		for seq, at := range []int{-ms, 14 * ms} {
			f.reading("thrice", seq, []string{"before", "after"}[seq], at, 10+seq*(gpu+1), row{"gpu": name, "gpu_index": gpu})
		}
	}
	f.reading("once", 0, "before", -ms, 100)
	f.reading("fell", 0, "before", -ms, 100)
	f.reading("fell", 1, "during", 5*ms, 20)
	f.reading("fell", 2, "after", 20*ms, 200)
	f.reading("outside", 0, "before", -2*ms, 100)
	f.reading("outside", 1, "during", -ms, 200)
	f.reading("unsent", 0, "before", -ms, 100)
	f.reading("unsent", 1, "after", ms, 200)
	f.reading("unsupported", 0, "before", -ms, -1, row{"missing": `{"energy_mj":"not supported"}`})
	f.reading("lost", 0, "before", -ms, -1, row{"status": "lost"})
	f.add("gpu_samples", row{"campaign": campaign, "arm": "baseline", "cell": "elsewhere", "attempt": 1, "sample_seq": 0, "phase": "before", "at_ns": 0, "status": "unavailable: no NVIDIA driver library"})
	got := map[string]string{}
	for _, line := range query(t, f.load(), "SELECT cell || coalesce(' ' || gpu, ''), n, energy_mj, span_ns // 1000000, round(covered_share, 2), reason FROM cell_energy") {
		got[line[0]] = strings.Join(line[1:], " ")
	}
	want := map[string]string{
		"around gpu-1": "3 300 21 1 -", "inside gpu-1": "2 60 6 0.5 -",
		"thrice gpu-1": "2 1 15 1 -", "thrice gpu-2": "2 2 15 1 -", "thrice gpu-3": "2 3 15 1 -",
		"once gpu-1":        "1 - - - one reading of the counter only",
		"fell gpu-1":        "3 - - - the counter fell: the driver was loaded anew",
		"outside gpu-1":     "2 - - - the readings lie outside the requests",
		"unsent gpu-1":      "2 - - - no request was dispatched",
		"none":              "0 - - - unavailable: no NVIDIA driver library",
		"unsupported gpu-1": "0 - - - no energy counter: not supported",
		"lost gpu-1":        "0 - - - no energy counter: lost",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("energy (-want +got):\n", diff)
	}
}

// TestCountersOfMemoryKills holds that a rise is told where it was seen, and that
// nothing is said to have been quiet where it was not watched.
func TestCountersOfMemoryKills(t *testing.T) {
	f := newFixture(t)
	read := func(cell string, seq int, over row) {
		f.add("cgroup_samples", merged(row{
			"campaign": campaign, "arm": "baseline", "cell": cell, "attempt": 1, "sample_seq": seq, "phase": "during", "at_ns": seq, "status": "ok", "group_number": 1,
		}, over))
	}
	for _, cell := range []string{"quiet", "rose", "fell", "gap", "gaprose", "single", "lacks", "unread"} {
		f.cell("baseline", cell)
	}
	for seq, kills := range []int{4, 4, 4} {
		read("quiet", seq, row{"oom_kill_events": kills})
		read("rose", seq, row{"oom_kill_events": kills + seq})
		read("fell", seq, row{"oom_kill_events": kills - seq})
		read("lacks", seq, row{"missing": `{"oom_kill_events":"memory.events lacks oom_kill"}`})
		gone := row{"oom_kill_events": kills}
		rose := row{"oom_kill_events": kills + seq}
		if seq == 1 {
			gone = row{"status": "unavailable: no such group", "group_number": nil}
			rose = gone
		}
		read("gap", seq, gone)
		read("gaprose", seq, rose)
	}
	read("single", 0, row{"oom_kill_events": 0})
	got := map[string]string{}
	for cell, line := range keyed(t, f.load(), "SELECT cell, n, added, reason FROM oom_counters WHERE counter = 'oom_kill_events'") {
		got[cell] = strings.Join(line, " ")
	}
	want := map[string]string{
		"quiet": "3 0 -", "rose": "3 2 -", "fell": "3 - the counter fell", "gap": "2 - some readings failed: unavailable: no such group",
		"gaprose": "2 2 some readings failed: unavailable: no such group", "single": "1 - one reading only", "lacks": "0 - memory.events lacks oom_kill",
		"unread": "0 - unavailable: no such group",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("memory kills (-want +got):\n", diff)
	}
}

// TestGapsInTheSampling has requests from 1 s to 11 s and a plan of one reading a
// second.
func TestGapsInTheSampling(t *testing.T) {
	f := newFixture(t)
	f.rows["campaigns"][0]["settings"] = `{"sample_every_ns": "1000000000", "page_every_ns": "odd"}`
	const second = 1_000_000_000
	for cell, times := range map[string][]int{
		"whole": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, "late": {3, 4, 5, 6, 7, 8, 9, 10}, "early": {1, 2, 3, 4, 5, 6, 7, 8}, "holes": {1, 2, 5, 6, 9, 10, 11},
		"outside": {-5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 20}, "never": {},
	} {
		f.cell("baseline", cell)
		f.request("baseline", cell, 0, row{"t0_ns": second, "end_ns": 10 * second})
		for seq, at := range times {
			f.add("host_samples", row{"campaign": campaign, "arm": "baseline", "cell": cell, "attempt": 1, "sample_seq": seq, "phase": "during", "at_ns": at * second, "status": "ok"})
		}
	}
	db := f.load()
	got := map[string]string{}
	for cell, line := range keyed(t, db, "SELECT cell, good, expected, gaps FROM sampling_intervals WHERE source = 'host'") {
		got[cell] = strings.Join(line, " ")
	}
	want := map[string]string{"whole": "11 11 0", "late": "8 11 1", "early": "8 11 1", "holes": "7 11 2", "outside": "14 11 0", "never": "0 11 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("gaps (-want +got):\n", diff)
	}
	if got := query(t, db, "SELECT DISTINCT planned_ns, expected, gaps FROM sampling_intervals WHERE source = 'pages'"); len(got) != 1 || strings.Join(got[0], " ") != "- - -" {
		t.Errorf("a plan that does not state its interval: %v", got)
	}
}
