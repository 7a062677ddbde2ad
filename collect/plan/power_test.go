package plan

import (
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSignAgreementIsExact counts all outcomes of n tosses one by one, which is
// the definition, up to n = 16, and compares the binomial sums beyond.
func TestSignAgreementIsExact(t *testing.T) {
	for n := int64(0); n <= 16; n++ {
		want, ok := int64(0), false
		for k := n; k >= 1; k-- {
			extreme := int64(0) // outcomes with at least k alike, in either direction
			for toss := range int64(1) << n {
				if heads := ones(toss); heads >= k || n-heads >= k {
					extreme++
				}
			}
			if 20*extreme > int64(1)<<n {
				break
			}
			want, ok = k, true
		}
		got, found := SignAgreement(n)
		if found != ok || ok && got != want {
			t.Errorf("n = %d: %d of %d, %v; brute force says %d, %v", n, got, n, found, want, ok)
		}
	}
	for n := int64(17); n <= 300; n++ {
		k, ok := SignAgreement(n)
		if !ok || chance(n, k).Cmp(big.NewRat(1, 20)) > 0 || chance(n, k-1).Cmp(big.NewRat(1, 20)) <= 0 {
			t.Errorf("n = %d: %d is not the smallest number", n, k)
		}
	}
}

func ones(bits int64) int64 {
	n := int64(0)
	for ; bits > 0; bits &= bits - 1 {
		n++
	}
	return n
}

// chance is 2 P(Bin(n, 1/2) >= k).
func chance(n, k int64) *big.Rat {
	sum := new(big.Int)
	for i := k; i <= n; i++ {
		sum.Add(sum, new(big.Int).Binomial(n, i))
	}
	return new(big.Rat).SetFrac(sum.Lsh(sum, 1), new(big.Int).Lsh(big.NewInt(1), uint(n)))
}

func TestPercentileFloorsAgreeWithBruteForce(t *testing.T) {
	stated := map[int64]int64{50: 11, 75: 24, 90: 64, 95: 130, 99: 662}
	for _, q := range powerPercentiles {
		floor := PercentileFloor(q)
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

func TestPowerOfTheExamplePlan(t *testing.T) {
	p, problems := Decode(exampleJSON(t))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var b strings.Builder
	if err := WritePower(&b, p); err != nil {
		t.Fatal(err)
	}
	want := `power    n = 4 (6 cells): no percentile is certifiable (p50 needs 11, p75 needs 24, p90 needs 64, p95 needs 130, p99 needs 662); p95 is the maximum; the median has no 95 % interval; no agreement of 4 paired requests excludes chance at 5 %
power    n = 8 (18 cells): no percentile is certifiable (p50 needs 11, p75 needs 24, p90 needs 64, p95 needs 130, p99 needs 662); p95 is the maximum; the median lies between values 1 and 8; 8 of 8 paired requests must agree in sign to exclude chance at 5 %
power    n = 20 (18 cells): certifiable p50 (p75 needs 24, p90 needs 64, p95 needs 130, p99 needs 662); the median lies between values 6 and 15; 15 of 20 paired requests must agree in sign to exclude chance at 5 %
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestPowerOfALargeCell(t *testing.T) {
	p := &Plan{Cells: []Cell{{Requests: 662}, {Requests: 130, ExcludedWarmup: true}}}
	got := Powers(p)
	if len(got) != 1 || !cmp.Equal(got[0].Certifiable, powerPercentiles) || got[0].Cells != 1 {
		t.Errorf("%+v: want one size with every percentile, warm-ups left out", got)
	}
	if text := got[0].String(); strings.Contains(text, "needs") || !strings.Contains(text, "certifiable p50, p75, p90, p95, p99") {
		t.Error(text)
	}
}
