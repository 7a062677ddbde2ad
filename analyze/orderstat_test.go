package analyze

import (
	"math/big"
	"testing"

	"assay/collect/plan"
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

// The upper bound of the median's interval is also how many paired differences
// must agree in sign: two computations of one tail.
func TestMedianRanksAreTheSignTest(t *testing.T) {
	upper := map[int64]int64{}
	for _, r := range medianRanks(150) {
		upper[r.n] = r.high
	}
	for n := int64(1); n <= 150; n++ {
		k, ok := plan.SignAgreement(n)
		if high, has := upper[n]; has != ok || has && high != k {
			t.Errorf("n = %d: upper rank %d (%v), sign test %d (%v)", n, high, has, k, ok)
		}
	}
}
