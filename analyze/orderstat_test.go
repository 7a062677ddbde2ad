package analyze

import (
	"math/big"
	"testing"
)

func TestMedianRanksAreTheNarrowestPairWithNinetyFivePercent(t *testing.T) {
	const upTo = 200
	got := map[int64]medianRank{}
	for _, r := range medianRanks(upTo) {
		got[r.n] = r
	}
	for n := int64(1); n <= upTo; n++ {
		best := narrowest(n)
		r, ok := got[n]
		if ok != (best > 0) {
			t.Fatalf("n = %d: has a pair: %v, brute force says %v", n, ok, best > 0)
		}
		if ok && (r.low != best || r.high != n+1-best) {
			t.Errorf("n = %d: ranks %d and %d, brute force says %d and %d", n, r.low, r.high, best, n+1-best)
		}
	}
}

// narrowest is the largest low whose order statistics low and n+1-low hold the
// median with at least 95 %: it adds up the chances of low to n-low values below
// the median, from the widest pair inwards; 0 when the widest does not do.
func narrowest(n int64) int64 {
	inside, all := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(n))
	for i := int64(1); i <= n-1; i++ {
		inside.Add(inside, new(big.Int).Binomial(n, i))
	}
	best := int64(0)
	for low := int64(1); 2*low <= n; low++ {
		if new(big.Rat).SetFrac(inside, all).Cmp(big.NewRat(95, 100)) >= 0 {
			best = low
		}
		inside.Sub(inside, new(big.Int).Lsh(new(big.Int).Binomial(n, low), 1))
	}
	return best
}

func TestMedianRanksOfThePlansCellSizes(t *testing.T) {
	got := map[int64]medianRank{}
	for _, r := range medianRanks(20) {
		got[r.n] = r
	}
	if _, ok := got[4]; ok {
		t.Error("n = 4 has an interval, want none")
	}
	if got[8] != (medianRank{8, 1, 8}) {
		t.Errorf("n = 8: %v, want ranks 1 and 8", got[8])
	}
	if got[20] != (medianRank{20, 6, 15}) {
		t.Errorf("n = 20: %v, want ranks 6 and 15", got[20])
	}
}

func TestPercentileFloorsAgreeWithBruteForce(t *testing.T) {
	stated := map[int64]int64{50: 11, 75: 24, 90: 64, 95: 130, 99: 662}
	for _, q := range percentiles {
		floor := percentileFloor(q)
		if floor != stated[q] {
			t.Errorf("p%d: floor %d, measurement.md states %d", q, floor, stated[q])
		}
		if !atMostOneAbove(q, floor) || atMostOneAbove(q, floor-1) {
			t.Errorf("p%d: %d is not the smallest n by brute force", q, floor)
		}
	}
}

// atMostOneAbove tells whether P(Bin(n, 1-q) <= 1) <= 0.01.
func atMostOneAbove(percentile, n int64) bool {
	q, above := big.NewRat(percentile, 100), big.NewRat(100-percentile, 100)
	none, one := big.NewRat(1, 1), new(big.Rat).Mul(above, big.NewRat(n, 1))
	for i := int64(0); i < n; i++ {
		none.Mul(none, q)
		if i > 0 {
			one.Mul(one, q)
		}
	}
	return none.Add(none, one).Cmp(big.NewRat(1, 100)) <= 0
}
