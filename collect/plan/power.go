package plan

import (
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
)

// p95Distinct is the smallest n at which the nearest rank of p95 is not the last
// value: (95 n + 99) / 100 < n.
const p95Distinct = 20

// powerPercentiles are the percentiles whose floor is looked at. A request metric
// has no p99 anywhere; its floor is here to say why.
var powerPercentiles = []int64{50, 75, 90, 95, 99}

// PercentileFloor is the smallest n at which a percentile is more than
// descriptive: with confidence 0.99 and one allowed overshoot, the smallest n
// with P(Bin(n, 1-q) <= 1) <= 0.01 (measurement.md section 10). percentile is
// from 1 to 99.
func PercentileFloor(percentile int64) int64 {
	// With q in hundredths P = q^(n-1) (q + n (100-q)) / 100^n, in whole numbers.
	power, all := big.NewInt(1), big.NewInt(100) // q^(n-1) and 100^n
	for n := int64(1); ; n++ {
		tail := new(big.Int).Mul(power, big.NewInt(percentile+n*(100-percentile)))
		if tail.Mul(tail, big.NewInt(100)).Cmp(all) <= 0 {
			return n
		}
		power.Mul(power, big.NewInt(percentile))
		all.Mul(all, big.NewInt(100))
	}
}

// SignAgreement is how many of n paired requests must differ in the same
// direction to exclude chance at 5 %, two-sided: the smallest k with
// 2 P(Bin(n, 1/2) >= k) <= 1/20, exact (the sign test). ok is false when even all
// n do not suffice, which is so below n = 6. Ties count as no agreement.
func SignAgreement(n int64) (k int64, ok bool) {
	tail := new(big.Int)    // sum of C(n, i) over i >= k
	choose := big.NewInt(1) // C(n, k), from C(n, n) down
	all := new(big.Int).Lsh(choose, uint(max(n, 0)))
	k = n + 1
	for i := n; i >= 1; i-- {
		tail.Add(tail, choose)
		if new(big.Int).Mul(tail, big.NewInt(40)).Cmp(all) > 0 {
			break
		}
		k = i
		choose.Mul(choose, big.NewInt(i)).Div(choose, big.NewInt(n-i+1))
	}
	return k, k <= n
}

// Power is what the cells of one size can and cannot show.
type Power struct {
	N           int64   // requests of a cell, and pairs of two matched cells
	Cells       int64   // measured cells of this size
	Certifiable []int64 // percentiles whose floor N reaches
	// Agree is how many of N paired requests must agree in sign; 0 when no number
	// suffices. It is also the rank of the upper bound of the median's 95 %
	// interval, whose lower bound is the value of rank N + 1 - Agree.
	Agree int64
}

// P95IsMaximum says that the nearest rank of p95 is the largest value.
func (w Power) P95IsMaximum() bool { return w.N < p95Distinct }

// Powers lists the sizes of a plan's measured cells, smallest first.
func Powers(p *Plan) []Power {
	cells := map[int64]int64{}
	var sizes []int64
	for _, i := range p.measured() {
		n := p.Cells[i].Requests
		cells[n]++
		sizes = append(sizes, n)
	}
	var out []Power
	for _, n := range sortedUnique(sizes) {
		w := Power{N: n, Cells: cells[n]}
		if k, ok := SignAgreement(n); ok {
			w.Agree = k
		}
		for _, q := range powerPercentiles {
			if n >= PercentileFloor(q) {
				w.Certifiable = append(w.Certifiable, q)
			}
		}
		out = append(out, w)
	}
	return out
}

// String is one line for the operator.
func (w Power) String() string {
	parts := []string{fmt.Sprintf("n = %d (%d cells): %s", w.N, w.Cells, w.percentiles())}
	if w.P95IsMaximum() {
		parts = append(parts, "p95 is the maximum")
	}
	if w.Agree == 0 {
		parts = append(parts, "the median has no 95 % interval",
			fmt.Sprintf("no agreement of %d paired requests excludes chance at 5 %%", w.N))
	} else {
		parts = append(parts, fmt.Sprintf("the median lies between values %d and %d", w.N+1-w.Agree, w.Agree),
			fmt.Sprintf("%d of %d paired requests must agree in sign to exclude chance at 5 %%", w.Agree, w.N))
	}
	return strings.Join(parts, "; ")
}

// percentiles says which percentiles are certifiable, and what the others need.
func (w Power) percentiles() string {
	var can, cannot []string
	for _, q := range powerPercentiles {
		if slices.Contains(w.Certifiable, q) {
			can = append(can, fmt.Sprintf("p%d", q))
		} else {
			cannot = append(cannot, fmt.Sprintf("p%d needs %d", q, PercentileFloor(q)))
		}
	}
	text := "certifiable " + strings.Join(can, ", ")
	if len(can) == 0 {
		text = "no percentile is certifiable"
	}
	if len(cannot) > 0 {
		text += " (" + strings.Join(cannot, ", ") + ")"
	}
	return text
}

// WritePower prints what the plan's sample sizes can and cannot show, a line a
// size. The error is that of the writer.
func WritePower(w io.Writer, p *Plan) error {
	for _, power := range Powers(p) {
		if _, err := fmt.Fprintf(w, "power    %s\n", power); err != nil {
			return err
		}
	}
	return nil
}
