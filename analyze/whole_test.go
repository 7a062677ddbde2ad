package analyze

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"assay/collect/plan"

	"github.com/google/go-cmp/cmp"
)

// everything fills a campaign in which all kinds of things happened, at random.
func everything(f *fixture, random *rand.Rand) {
	outcomes := []row{nil, nil, nil, nil, nil, {"outcome": "idle_timeout", "done_ns": nil}, {"canary_state": "absent"}, {"completion_tokens": 40, "short_gaps": 9}, {"cached_tokens": 4000}, {"prompt_tokens": nil}}
	for c := range 6 {
		for _, arm := range []string{"baseline", "candidate"} {
			cell, n := fmt.Sprint(arm, c), 1+3*c
			f.cell(arm, cell, row{"requests": n, "seed": c, "concurrency": 1 + c%3})
			for i := range n {
				t0 := int64(c)*100*second + random.Int64N(20*second)
				first := t0 + 1 + random.Int64N(second)
				last := first + 1 + random.Int64N(second)
				facts := span(t0, first, last, last+random.Int64N(second), 20)
				over := row{}
				if arm == "candidate" && c%2 == 1 { // so that some pairs are whole
					over = outcomes[random.IntN(len(outcomes))]
				}
				f.request(arm, cell, i, facts, over)
			}
			for seq, phase := range []string{"before", "during", "during", "after"} {
				total := seq * n
				f.page(arm, cell, seq, phase, with(histogram(`{"engine":"0"}`, float64(total)/3, total, fmt.Sprint("1:", total/2), fmt.Sprint("+Inf:", total)),
					start, pool("0", "1000"), fmt.Sprintf(`vllm:num_requests_running{"engine":"0"} %d`, random.IntN(4)), fmt.Sprintf(`vllm:num_requests_running{"engine":"1"} %d`, random.IntN(4)),
					fmt.Sprintf(`vllm:kv_cache_usage_perc{"engine":"0"} %v`, random.Float64()), fmt.Sprintf(`vllm:request_success_total{"finished_reason":"stop"} %d`, total))...)
				f.add("gpu_samples", row{"campaign": campaign, "arm": arm, "cell": cell, "attempt": 1, "sample_seq": seq, "phase": phase, "at_ns": seq, "status": "ok", "gpu_index": 0, "sm_clock_mhz": 1000 + random.IntN(1000)})
			}
		}
	}
}

// dump is every row of every view, as the view orders them.
func dump(t *testing.T, f *fixture, threads int) map[string][]string {
	t.Helper()
	db := f.loadWith(threads)
	all := map[string][]string{}
	for _, name := range ViewNames() {
		for _, line := range query(t, db, "SELECT * FROM "+name) {
			all[name] = append(all[name], strings.Join(line, "|"))
		}
	}
	return all
}

func TestViewsDoNotDependOnThreadsOrInputOrder(t *testing.T) {
	f := newFixture(t)
	everything(f, rand.New(rand.NewPCG(11, 12)))
	f.repeat("c2", nil)
	one := dump(t, f, 1)
	for _, name := range ViewNames() {
		// A campaign has no artifacts of other tools; their views are tried where
		// artifacts are loaded.
		if len(one[name]) == 0 && !strings.HasPrefix(name, "artifact_") {
			t.Errorf("%s has no rows, so its order is not tried", name)
		}
	}
	shuffle := rand.New(rand.NewPCG(13, 14))
	for _, table := range slices.Sorted(maps.Keys(f.rows)) {
		rows := f.rows[table]
		shuffle.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	if diff := cmp.Diff(one, dump(t, f, 2)); diff != "" {
		t.Error(diff)
	}
}

func TestCountsAddUp(t *testing.T) {
	f := newFixture(t)
	everything(f, rand.New(rand.NewPCG(15, 16)))
	db := f.load()
	checks := map[string]string{
		"a cell's verdicts of a request rule are not its planned requests": `SELECT v.cell, v.rule FROM cell_verdicts v JOIN cells c ON c.cell = v.cell
			WHERE v.scope = 'request' AND v.passing + v.failing + v.not_applicable + v.not_evaluable <> c.requests`,
		"dispatched above planned, or terminal above dispatched, or eligible above passing": `SELECT cell FROM cell_eligibility
			WHERE dispatched > planned OR terminal > dispatched OR passing > planned OR eligible > passing`,
		"an eligible cell with a request that does not pass": `SELECT cell FROM cell_eligibility WHERE eligibility = 'eligible' AND eligible <> planned`,
		"a failing request that is not listed":               `SELECT cell FROM cell_verdicts WHERE scope = 'request' AND failing <> json_array_length(failing_requests)`,
		"n above the requests of its population":             `SELECT d.cell FROM cell_distributions d JOIN cell_eligibility e ON e.cell = d.cell WHERE d.n > e.passing`,
		"percentiles out of order":                           `SELECT cell, metric FROM cell_distributions WHERE NOT (min <= p50 AND p50 <= p95 AND p95 <= max AND coalesce(p50_low <= p50 AND p50 <= p50_high, true))`,
		"a distribution without n":                           `SELECT cell FROM cell_distributions WHERE n IS NULL`,
		"a delta below 0":                                    `SELECT cell FROM histogram_deltas WHERE delta < 0 OR total < 0 UNION ALL SELECT cell FROM counter_deltas WHERE delta < 0`,
		"neither a delta nor a reason, or both":              `SELECT cell FROM histogram_deltas WHERE (delta IS NULL) = (reason IS NULL) UNION ALL SELECT cell FROM counter_deltas WHERE (delta IS NULL) = (reason IS NULL)`,
		"neither a throughput nor a note, or both":           `SELECT cell FROM cell_overlap WHERE (throughput_tok_s IS NULL) = (throughput_note = '')`,
		"overlap above the planned requests":                 `SELECT cell FROM cell_overlap WHERE max_overlap > requests OR mean_overlap > max_overlap OR generating_overlap > max_overlap OR full_share NOT BETWEEN 0 AND 1`,
	}
	for what, sql := range checks {
		if found := query(t, db, sql); len(found) > 0 {
			t.Errorf("%s: %v", what, found)
		}
	}
}

func TestCampaignInWhichNothingRan(t *testing.T) {
	f := newFixture(t)
	f.plannedCell("baseline", "a", row{"requests": 8})
	f.plannedCell("candidate", "b", row{"requests": 8})
	f.plannedCell("baseline", "warm", row{"excluded_warmup": true})
	got := dump(t, f, 2)
	rows := map[string]int{}
	for name, lines := range got {
		rows[name] = len(lines)
	}
	want := map[string]int{
		"counted_attempts": 3, "request_verdicts": 17 * 8, "request_passes": 17, "cell_verdicts": 3 * 10, "cell_eligibility": 3,
		"cell_distributions": 2 * 10, "cell_overlap": 3, "cell_pairs": 1, "pair_comparability": 1, "repeat_spread": 2 * 9, "capacity_facts": 12, "concurrency_claims": 12,
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
}

func TestFrozenPlanHasFortyEightCellsAndDemandsEveryRule(t *testing.T) {
	text, err := os.ReadFile("../../shared/seeds/000_444b2f82a3a4a8f3.json")
	if err != nil {
		t.Skip("the frozen plan is not here:", err)
	}
	p, _ := plan.Decode(text)
	f := newFixture(t)
	f.rows["campaigns"][0]["plan"] = string(text)
	for _, c := range p.Cells {
		f.plannedCell(c.Arm, c.ID, row{
			"workload": c.Workload, "context_tokens": c.PlannedContextTokens, "concurrency": c.Concurrency, "requests": c.Requests,
			"seed": c.Seed, "excluded_warmup": c.ExcludedWarmup, "response_words": c.Request.ResponseWords, "output_policy": c.Request.ControlledOutputPolicy,
		})
	}
	db := f.load()
	if got := one(t, db, "SELECT count(*), sum(planned), count(*) FILTER (eligibility = 'excluded_warmup') FROM cell_eligibility"); !slices.Equal(got, []string{"48", "534", "6"}) {
		t.Errorf("cells, requests and warm-ups are %v, want 48, 534 and 6", got)
	}
	if got := one(t, db, "SELECT count(*), count(*) FILTER (demanded) FROM plan_rules"); !slices.Equal(got, []string{"11", "11"}) {
		t.Errorf("%s rules, %s demanded; want 11 and 11", got[0], got[1])
	}
	if got := one(t, db, "SELECT count(*), count(baseline_cell), count(candidate_cell) FROM pair_comparability"); !slices.Equal(got, []string{"21", "21", "21"}) {
		t.Errorf("pairs and their sides are %v, want 21 each", got)
	}
	applicable := one(t, db, "SELECT count(*) FROM request_verdicts WHERE rule = 'controlled_exact' AND verdict <> 'not_applicable'")[0]
	if applicable != "360" {
		t.Errorf("controlled_exact concerns %s requests, want 360", applicable)
	}
}
