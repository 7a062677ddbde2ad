package analyze

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repeat adds another campaign with the same plan and rows, and lets change alter
// each of its rows.
func (f *fixture) repeat(name string, change func(table string, r row)) {
	for table, rows := range f.rows {
		for _, r := range rows {
			if r["campaign"] != campaign {
				continue
			}
			again := maps.Clone(r)
			again["campaign"] = name
			if change != nil {
				change(table, again)
			}
			f.add(table, again)
		}
	}
}

// slower adds to the first output of every request of an arm.
func slower(arm string, ns int) func(string, row) {
	return func(table string, r row) {
		if table == "request_facts" && r["arm"] == arm {
			r["ttfo_ns"] = r["ttfo_ns"].(int) + ns
		}
	}
}

func TestRepeatsShowTheSpreadOfMedians(t *testing.T) {
	f := newFixture(t)
	f.pairOf("a", 3, nil)
	f.repeat("c2", slower("baseline", 4_000))
	f.repeat("c3", slower("candidate", 1_000))
	f.repeat("other plan", func(table string, r row) {
		if table == "campaigns" {
			r["plan"] = planText(sentences, `"max_tokens": 1`)
		}
	})
	f.repeat("simulated", func(table string, r row) {
		if table == "campaigns" {
			r["kind"] = "simulated"
		}
	})
	db := f.load()
	want := [][]string{{"c1", "c2", "2", "2"}, {"c1", "c3", "2", "2"}, {"c2", "c1", "2", "2"}, {"c2", "c3", "2", "2"}, {"c3", "c1", "2", "2"}, {"c3", "c2", "2", "2"}}
	if diff := cmp.Diff(want, query(t, db, "SELECT campaign, repeat, cells, cells_compared FROM campaign_repeats")); diff != "" {
		t.Error(diff)
	}
	spread := query(t, db, "SELECT cell, campaigns, n, p50_min, p50_median, p50_max, note FROM repeat_spread WHERE campaign = 'c1' AND metric = 'ttfo_ns'")
	wantSpread := [][]string{{"baseline a", "3", "3", "1e+06", "1e+06", "1.004e+06", ""}, {"candidate a", "3", "3", "1e+06", "1e+06", "1.001e+06", ""}}
	if diff := cmp.Diff(wantSpread, spread); diff != "" {
		t.Error(diff)
	}
	beside := query(t, db, `SELECT campaign, baseline_repeats, baseline_p50_min, baseline_p50_max, candidate_p50_min, candidate_p50_max, repeat_note
		FROM comparisons WHERE metric = 'ttfo_ns' ORDER BY campaign`)
	wantBeside := [][]string{
		{"c1", "3", "1e+06", "1.004e+06", "1e+06", "1.001e+06", ""}, {"c2", "3", "1e+06", "1.004e+06", "1e+06", "1.001e+06", ""}, {"c3", "3", "1e+06", "1.004e+06", "1e+06", "1.001e+06", ""},
		{"other plan", "1", "-", "-", "-", "-", "no repeat"}, {"simulated", "1", "-", "-", "-", "-", "no repeat"},
	}
	if diff := cmp.Diff(wantBeside, beside); diff != "" {
		t.Error(diff)
	}
}

func TestRepeatsThatDoNotMeasureTheSameHaveAReason(t *testing.T) {
	change := func(column string, value any) func(string, row) {
		return func(table string, r row) {
			if table == "request_facts" && r["arm"] == "candidate" && r["request_index"] == 1 {
				r[column] = value
			}
		}
	}
	tests := []struct {
		name   string
		change func(string, row)
		metric string
		want   []string // reason, p50 of the candidate in the repeat; note and p50_min of its spread
	}{
		{"equal", nil, "e2e_ns", []string{"", "1.2e+07", "", "1.2e+07"}},
		{"not eligible", change("canary_state", "absent"), "e2e_ns", []string{"not eligible", "-", "1 of 2 campaigns have a median", "-"}},
		{"other prompt", change("prompt_sha256", "x"), "e2e_ns", []string{"prompts differ", "-", "1 of 2 campaigns have a median", "-"}},
		{"other prompt length", change("prompt_tokens", 8001), "e2e_ns", []string{"prompts differ", "-", "1 of 2 campaigns have a median", "-"}},
		{"warm cache", change("cached_tokens", 4000), "effective_prefill_tok_s", []string{"cache_assisted", "-", "1 of 2 campaigns have a median", "-"}},
		{"warm cache elsewhere", change("cached_tokens", 4000), "e2e_ns", []string{"", "1.2e+07", "", "1.2e+07"}},
		{"no reasoning count", func(table string, r row) {
			if table == "request_facts" {
				r["reasoning_tokens"] = nil
			}
		}, "reasoning_tokens", []string{"no value", "-", "1 of 2 campaigns have a median", "-"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			f.pairOf("a", 3, nil)
			f.repeat("c2", test.change)
			got := one(t, f.load(), `SELECT m.reason, m.p50, s.note, s.p50_min FROM repeat_medians m
				JOIN repeat_spread s ON s.campaign = m.campaign AND s.cell = m.cell AND s.metric = m.metric
				WHERE m.campaign = 'c1' AND m.cell = 'candidate a' AND m.metric = $1`, test.metric)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWithheldComparisonShowsNoSpread(t *testing.T) {
	f := newFixture(t)
	f.pairOf("a", 2, func(f *fixture) { f.lastRequest(0)["cached_tokens"] = 4000 })
	f.repeat("c2", nil)
	got := one(t, f.load(), "SELECT baseline_p50, baseline_repeats, baseline_p50_min, repeat_note FROM comparisons WHERE campaign = 'c1' AND metric = 'effective_prefill_tok_s'")
	if diff := cmp.Diff([]string{"-", "-", "-", "withheld"}, got); diff != "" {
		t.Error(diff)
	}
}
