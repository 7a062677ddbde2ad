package workload

import (
	_ "embed"
	"math/bits"
	"math/rand/v2"
	"strings"
)

// wordlist.txt has one lower-case English word a line, sorted, 2 to 10 letters.
//
//go:embed wordlist.txt
var wordlist string

// maxWord is the longest word of the list.
const maxWord = 10

// byLength has the words of each length.
var byLength = func() (groups [maxWord + 1][]string) {
	for _, w := range strings.Fields(wordlist) {
		groups[len(w)] = append(groups[len(w)], w)
	}
	return groups
}()

// lengthWeights says how many of 100 draws give a word of each length. Short
// words prevail, because a prompt has three characters for each token of its
// label and a common word is about one token: with these weights the cl100k and
// o200k vocabularies count 0.76 to 0.77 of the label, and words of natural
// length would count about half of it.
var lengthWeights = [maxWord + 1]uint64{2: 36, 3: 43, 4: 14, 5: 3, 6: 2, 7: 1, 8: 1}

// generator draws words. It uses the PCG stream itself and its own reduction,
// because math/rand/v2 promises the former's output for all time and not the
// latter's.
type generator struct{ pcg *rand.PCG }

func newGenerator(seed, index int64) generator {
	return generator{rand.NewPCG(uint64(seed), uint64(index))}
}

// below draws a number in [0, n). The bias of the multiplication is n/2^64.
func (g generator) below(n uint64) uint64 {
	high, _ := bits.Mul64(g.pcg.Uint64(), n)
	return high
}

func (g generator) ofLength(n int) string {
	return byLength[n][g.below(uint64(len(byLength[n])))]
}

func (g generator) length() int {
	draw := g.below(100)
	for n, weight := range lengthWeights {
		if draw < weight {
			return n
		}
		draw -= weight
	}
	panic("workload: length weights do not add up to 100")
}

// fill appends exactly n characters of words and single spaces. n is at least 2.
func fill(b *strings.Builder, n int, g generator) {
	// One word of 2 to 10 letters ends the text, so a word may be drawn freely
	// while at least a space and two letters would be left after it.
	for n > maxWord {
		size := min(g.length(), n-3)
		b.WriteString(g.ofLength(size))
		b.WriteByte(' ')
		n -= size + 1
	}
	b.WriteString(g.ofLength(n))
}
