package main

import (
	"testing"
	"time"

	"assay/ingest/ingesttest"
)

const kvRefusal = `{"error":{"message":"Input length (300000 tokens) exceeds the maximum allowed length (250000 tokens)"}}`

// edge is a capacity-edge cell of four requests.
func edge(id string, concurrency, seed int64) ingesttest.CellSpec {
	return ingesttest.CellSpec{ID: id, Workload: "capacity-edge", Concurrency: concurrency, Requests: 4, Context: 160000, Seed: seed}
}

// planCases are the cases of part H, from what a run directory holds after the
// collector did its part. What the collector does is tested where it is done.
func planCases() []methodCase {
	const second = time.Second
	return []methodCase{
		{ // the deadline protects the restoration
			id: "H02", cells: pairOf(ingesttest.CellSpec{ID: "a", Seed: 1}, ingesttest.CellSpec{ID: "b", Seed: 2}),
			build: func(run *ingesttest.Run) {
				fillTimed(run.Cell("baseline-a"), second, 2*second, plainUsage)
				a := run.Cell("baseline-b")
				a.Stream(0, ingesttest.Content(second, ingesttest.Marker(a.Plan, 0)+" "))
				a.Row(0).End, a.State = "outer_timeout", "outer_timeout"
				identified(a)
				run.Journal = append(run.Journal, stopEntry(a, "deadline", "the cell's outer timeout of 1200 s"),
					blockEntry("candidate", "candidate-a", "deadline", "not_run_deadline"), blockEntry("candidate", "candidate-b", "deadline", "not_run_deadline"))
			},
			want: map[string]string{
				"SELECT cell, run_state, planned, dispatched, eligibility FROM cell_eligibility WHERE campaign = $c ORDER BY cell": "baseline-a|complete|1|1|eligible\nbaseline-b|outer_timeout|1|1|ineligible\n" +
					"candidate-a|not_run_deadline|1|0|ineligible\ncandidate-b|not_run_deadline|1|0|ineligible",
				"SELECT outcome FROM request_facts WHERE campaign = $c ORDER BY cell":                                                         "complete\nouter_timeout\nnot_dispatched\nnot_dispatched",
				"SELECT drain_verified, drain_after_ns FROM attempts WHERE campaign = $c AND cell = 'baseline-b'":                             "true|2000",
				"SELECT count(*) FROM request_facts r JOIN campaigns c USING (campaign) WHERE campaign = $c AND t0_unix_ns >= cutoff_unix_ns": "0",
			},
		},
		{ // a timeout at C1, then C2 and C4
			id: "H03", cells: pairOf(edge("c1", 1, 1), edge("c2", 2, 2), edge("c4", 4, 3)),
			build: func(run *ingesttest.Run) {
				a := run.Cell("candidate-c1")
				for i := range int64(4) {
					a.Sent(i, 200, "text/event-stream").End = "idle_timeout"
				}
				a.State = "partial"
				identified(a).Page("during", second, "vllm:num_requests_waiting{engine=\"0\"} 1\nvllm:num_requests_running{engine=\"0\"} 0\n")
				run.Journal = append(run.Journal, stopEntry(a, "canary_or_loss", "4 requests were lost", "candidate-c2", "candidate-c4"),
					blockEntry("candidate", "candidate-c2", "canary_or_loss", "blocked_by_stop"), blockEntry("candidate", "candidate-c4", "canary_or_loss", "blocked_by_stop"))
				for _, cell := range []string{"baseline-c1", "baseline-c2", "baseline-c4"} {
					fillTimed(run.Cell(cell), second, 2*second, plainUsage)
				}
			},
			want: map[string]string{
				"SELECT DISTINCT outcome FROM request_facts WHERE campaign = $c AND cell = 'candidate-c1'":                    "idle_timeout",
				"SELECT rule FROM stops WHERE campaign = $c":                                                                  "canary_or_loss",
				"SELECT count(*) FROM pair_comparability WHERE campaign = $c AND reasons LIKE '%refused%'":                    "0",
				"SELECT cell, run_state FROM cell_eligibility WHERE campaign = $c AND arm = 'candidate' ORDER BY cell":        "candidate-c1|partial\ncandidate-c2|blocked_by_stop\ncandidate-c4|blocked_by_stop",
				"SELECT count(*) FROM cell_eligibility WHERE campaign = $c AND arm = 'baseline' AND eligibility = 'eligible'": "3",
				"SELECT max(value) FROM engine_gauges WHERE campaign = $c AND canonical = 'requests_waiting'":                 "1",
			},
			look: says("canary or loss", "4 requests were lost", "`candidate-c4`", "-(proven)", "-refused"),
		},
		{ // a refusal on one arm only
			id: "H04", cells: pairOf(edge("c1", 1, 1), edge("c2", 2, 2), edge("c4", 4, 3)),
			build: func(run *ingesttest.Run) {
				for _, cell := range []string{"baseline-c1", "baseline-c2", "baseline-c4", "candidate-c1"} {
					fillTimed(run.Cell(cell), second, 2*second, plainUsage)
				}
				a := run.Cell("candidate-c2")
				for i := range int64(4) {
					a.Refuse(i, 400, kvRefusal)
				}
				identified(a)
				run.Journal = append(run.Journal, stopEntry(a, "capacity_refusal", "refused_kv_pool", "candidate-c4"),
					blockEntry("candidate", "candidate-c4", "capacity_refusal", "blocked_by_stop"))
			},
			want: map[string]string{
				"SELECT cell, eligibility, run_state FROM cell_eligibility WHERE campaign = $c ORDER BY cell": "baseline-c1|eligible|complete\nbaseline-c2|eligible|complete\nbaseline-c4|eligible|complete\n" +
					"candidate-c1|eligible|complete\ncandidate-c2|ineligible|complete\ncandidate-c4|ineligible|blocked_by_stop",
				"SELECT concurrency, comparable, reasons LIKE '%\"candidate refused (proven): refused_kv_pool\"%' FROM pair_comparability WHERE campaign = $c ORDER BY 1": "1|true|false\n2|false|true\n4|false|false",
				"SELECT DISTINCT pair FROM comparisons WHERE campaign = $c": "capacity-edge-ctx160000-c1-seed1-n4",
			},
			look: says("candidate refused (proven): refused_kv_pool", "-∞", "-winner"),
		},
		{ // the identity changes in the middle
			id: "H05", cells: pairOf(ingesttest.CellSpec{ID: "a", Seed: 1}, ingesttest.CellSpec{ID: "b", Seed: 2}, ingesttest.CellSpec{ID: "c", Seed: 3}),
			build: func(run *ingesttest.Run) {
				for _, cell := range []string{"baseline-a", "baseline-b", "baseline-c", "candidate-a"} {
					fillTimed(run.Cell(cell), second, 2*second, plainUsage)
				}
				a := run.Cell("candidate-b")
				a.Stream(0, timed(a.Plan, 0, second, 2*second, plainUsage)...)
				a.Identity("before", "model-r11", "1.0", 327680).Identity("after", "model-r12", "1.0", 327680)
				run.Journal = append(run.Journal, stopEntry(a, "identity_drift", "served_id: model-r11, then model-r12", "candidate-c"),
					blockEntry("candidate", "candidate-c", "identity_drift", "blocked_by_stop"))
			},
			want: map[string]string{
				"SELECT cell, eligibility, failed_rules FROM cell_eligibility WHERE campaign = $c AND cell IN ('candidate-a', 'candidate-b') ORDER BY cell": `candidate-a|eligible|[]` + "\n" + `candidate-b|ineligible|["identity_stable"]`,
				"SELECT run_state, dispatched FROM cell_eligibility WHERE campaign = $c AND cell = 'candidate-c'":                                           "blocked_by_stop|0",
				"SELECT reasons FROM pair_comparability WHERE campaign = $c AND candidate_cell = 'candidate-b'":                                             `["candidate ineligible: identity_stable"]`,
				"SELECT DISTINCT value FROM identities WHERE campaign = $c AND cell = 'candidate-b' AND fact = 'served_id' ORDER BY value":                  "model-r11\nmodel-r12",
			},
		},
		{ // matched cells wrongly paired
			id: "H07",
			cells: []ingesttest.CellSpec{
				{ID: "baseline-x-c1", Arm: "baseline", Seed: 482001}, {ID: "candidate-x-c1", Arm: "candidate", Seed: 482002},
				{ID: "baseline-y-c1", Arm: "baseline", Seed: 7}, {ID: "baseline-z-c1", Arm: "baseline", Seed: 8}, {ID: "candidate-other-name", Arm: "candidate", Seed: 8},
			},
			build: func(run *ingesttest.Run) {
				for _, cell := range []string{"baseline-x-c1", "candidate-x-c1", "baseline-y-c1"} {
					fillTimed(run.Cell(cell), second, 2*second, plainUsage)
				}
				broken := run.Cell("baseline-z-c1")
				broken.Stream(0, ingesttest.Content(second, ingesttest.Marker(broken.Plan, 0)))
				identified(broken).State = "partial"
				for _, last := range []time.Duration{3 * second, 4 * second} { // both complete: the first counts
					fillTimed(run.Cell("baseline-z-c1"), second, last, plainUsage)
				}
				fillTimed(run.Cell("candidate-other-name"), second, 6*second, plainUsage)
			},
			want: map[string]string{
				"SELECT coalesce(baseline_cell, candidate_cell), comparable, reasons FROM pair_comparability WHERE campaign = $c ORDER BY 1": `baseline-x-c1|false|["unpaired: candidate has no such cell"]` + "\n" +
					`baseline-y-c1|false|["unpaired: candidate has no such cell"]` + "\n" + `baseline-z-c1|true|[]` + "\n" + `candidate-x-c1|false|["unpaired: baseline has no such cell"]`,
				"SELECT attempt, run_state, counted FROM attempts WHERE campaign = $c AND cell = 'baseline-z-c1' ORDER BY attempt": "1|partial|false\n2|complete|true\n3|complete|false",
				"SELECT baseline_p50::BIGINT, ratio_p50, pairs FROM comparisons WHERE campaign = $c AND metric = 'e2e_ns'":         "3000000000|2|1",
			},
			look: func(t *testing.T, narrative string) {
				says("unpaired: candidate has no such cell", "| `baseline-z-c1` | 1 | partial | no |", "| `baseline-z-c1` | 3 | complete | no |")(t, narrative)
			},
		},
	}
}
