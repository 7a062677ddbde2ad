package analyze

import "math/big"

// medianRank is the pair of order statistics, by rank from 1, that bounds the
// median of n values with at least 95 % confidence: the narrowest symmetric one.
type medianRank struct{ n, low, high int64 }

// medianRanks lists the pairs for every n from 1 to upTo that has one, which is
// every n from 6 on. The coverage of the ranks [low, n+1-low] is
// 1 - 2 P(Bin(n, 1/2) < low) (David and Nagaraja, Order Statistics, section 7.1),
// computed in whole numbers: with S the sum of C(n, i) over i < low, the pair
// holds when 2 S <= 2^n / 20. S goes from n to n+1 by Pascal's rule.
func medianRanks(upTo int64) []medianRank {
	var pairs []medianRank
	low := int64(0)
	tail := new(big.Int)  // sum of C(n, i) over i < low
	next := big.NewInt(1) // C(n, low)
	all := big.NewInt(1)  // 2^n
	for n := int64(0); n <= upTo; n++ {
		for fits(new(big.Int).Add(tail, next), all) {
			tail.Add(tail, next)
			next.Mul(next, big.NewInt(n-low)).Div(next, big.NewInt(low+1))
			low++
		}
		if low > 0 {
			pairs = append(pairs, medianRank{n, low, n + 1 - low})
		}
		// To n+1: sum over i < low of C(n+1, i) is 2 tail - C(n, low-1).
		tail.Lsh(tail, 1).Sub(tail, before(next, n, low))
		next.Mul(next, big.NewInt(n+1)).Div(next, big.NewInt(n+1-low))
		all.Lsh(all, 1)
	}
	return pairs
}

// fits tells whether two tails of this size leave at least 95 %.
func fits(tail, all *big.Int) bool {
	return new(big.Int).Mul(tail, big.NewInt(40)).Cmp(all) <= 0
}

// before is C(n, low-1) for a given C(n, low).
func before(next *big.Int, n, low int64) *big.Int {
	if low == 0 {
		return new(big.Int)
	}
	b := new(big.Int).Mul(next, big.NewInt(low))
	return b.Div(b, big.NewInt(n-low+1))
}
