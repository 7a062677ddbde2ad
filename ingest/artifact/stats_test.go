package artifact

import (
	"math"
	"slices"
	"testing"
)

// Ranks of formats.md section 2.3, and the linear rule of numpy.
func TestPercentileRules(t *testing.T) {
	count := func(n int) (v []float64) {
		for i := range n {
			v = append(v, float64(i+1))
		}
		return v
	}
	for _, tt := range []struct {
		rule string
		n    int
		q    float64
		want float64
	}{
		{ruleNearestRank, 8, 50, 4}, {ruleNearestRank, 20, 50, 10}, {ruleNearestRank, 4, 50, 2}, {ruleNearestRank, 8, 95, 8},
		{ruleNearestRank, 20, 95, 19}, {ruleNearestRank, 4, 95, 4}, {ruleNearestRank, 1, 50, 1}, {ruleNearestRank, 1000, 99.9, 999},
		{ruleNearestRank, 3, 0, 1}, {ruleNearestRank, 3, 100, 3}, {ruleNearestRank, 100, 99, 99}, {ruleNearestRank, 101, 99, 100},
		{ruleRoundHalf, 4, 50, 3}, {ruleRoundHalf, 8, 50, 5}, {ruleRoundHalf, 2, 50, 1}, {ruleRoundHalf, 6, 50, 3}, {ruleRoundHalf, 32, 95, 30}, {ruleRoundHalf, 12, 95, 11},
		{ruleLinear, 2, 50, 1.5}, {ruleLinear, 5, 50, 3}, {ruleLinear, 4, 90, 3.7}, {ruleLinear, 1, 99, 1}, {ruleLinear, 3, 100, 3},
		{ruleCumulative, 2, 50, 1}, {ruleCumulative, 2, 95, 2}, {ruleCumulative, 1, 0.1, 1}, {ruleCumulative, 4, 25, 1}, {ruleCumulative, 3, 100, 3},
	} {
		got := percentile(count(tt.n), tt.q, tt.rule)
		if got == nil || math.Abs(*got-tt.want) > 1e-12 {
			t.Errorf("%s p%v of %d: %v, want %v", tt.rule, tt.q, tt.n, number(got), tt.want)
		}
	}
	if percentile(nil, 50, ruleNearestRank) != nil || percentile(count(3), 50, "other") != nil || percentile(count(3), 101, ruleLinear) != nil {
		t.Error("a percentile of nothing")
	}
	if got := percentile([]float64{1, 1, 1, 2}, 75, ruleCumulative); *got != 1 {
		t.Errorf("ties: %v", *got)
	}
}

// The nearest rank is the least value that at least q percent do not exceed.
func TestNearestRankAgainstItsDefinition(t *testing.T) {
	for n := 1; n <= 200; n++ {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64((i * 7919) % 101)
		}
		slices.Sort(values)
		for _, q := range []int{1, 5, 25, 50, 75, 90, 95, 99, 100} {
			rank := (q*n + 99) / 100
			if got := percentile(values, float64(q), ruleNearestRank); *got != values[rank-1] {
				t.Fatalf("p%d of %d: %v, want %v", q, n, *got, values[rank-1])
			}
		}
	}
}

func TestDeviationsAndEdges(t *testing.T) {
	c := newColumn([]float64{2, 4, 4, 4, 5, 5, 7, 9})
	if sd, sample := *c.deviation(false), *c.deviation(true); sd != 2 || math.Abs(sample-2.1380899352993947) > 1e-15 {
		t.Errorf("deviations %v and %v", sd, sample)
	}
	low, high := statistic{name: "mean_ci95_low"}.interval(c, true), statistic{name: "mean_ci95_high"}.interval(c, true)
	if math.Abs(*low-(5-1.96*2.1380899352993947/math.Sqrt(8))) > 1e-12 || math.Abs(*high+*low-10) > 1e-12 {
		t.Errorf("interval %v to %v", *low, *high)
	}
	if one := newColumn([]float64{3}); *one.deviation(true) != 0 || *one.mean() != 3 {
		t.Error("one value")
	}
	none := newColumn(nil)
	for _, name := range []string{"mean", "stddev", "min", "max", "mean_ci95_low"} {
		if got, ok := (statistic{name: name}).of(none, ruleNearestRank, true); got != nil || !ok {
			t.Errorf("%s of nothing: %v", name, got)
		}
	}
	if huge := newColumn([]float64{math.MaxFloat64, math.MaxFloat64}); huge.mean() != nil {
		t.Error("an overflowing mean is a number")
	}
	if _, ok := (statistic{name: "mode"}).of(c, ruleLinear, false); ok {
		t.Error("an unknown statistic was computed")
	}
}

func TestCompare(t *testing.T) {
	one, near, far := 1.0, 1+1e-12, 1+1e-8
	for _, tt := range []struct {
		a, b *float64
		want Agreement
	}{{nil, nil, AgreeExact}, {&one, nil, AgreeDifferent}, {nil, &one, AgreeDifferent}, {&one, &one, AgreeExact}, {&one, &near, AgreeClose}, {&one, &far, AgreeDifferent}} {
		if got := compare(tt.a, tt.b); got != tt.want {
			t.Errorf("%s and %s: %s, want %s", number(tt.a), number(tt.b), got, tt.want)
		}
	}
}
