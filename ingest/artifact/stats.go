package artifact

import (
	"math"
	"slices"
)

// relTolerance is how far a recomputed figure may be from the stated one and
// still count as the same: the order of a sum and a step through seconds cost
// the last places. Percentiles are observed values and come out exact.
const relTolerance = 1e-9

// compare sets a stated figure against the one from the rows; nil is null.
func compare(stated, rows *float64) Agreement {
	switch {
	case stated == nil && rows == nil:
		return AgreeExact
	case stated == nil || rows == nil:
		return AgreeDifferent
	case *stated == *rows:
		return AgreeExact
	case math.Abs(*stated-*rows) <= relTolerance*math.Max(math.Abs(*stated), math.Abs(*rows)):
		return AgreeClose
	}
	return AgreeDifferent
}

// percentile is the q-th percentile (0 to 100) of sorted values under a rule,
// or nil when there are none or the rule is not known.
func percentile(sorted []float64, q float64, rule string) *float64 {
	n := len(sorted)
	if n == 0 || q < 0 || q > 100 {
		return nil
	}
	switch rule {
	case ruleNearestRank:
		// Tenths keep q*n whole for the percentiles tools print, p99.9 included.
		rank := int(math.Ceil(math.Round(q*10) * float64(n) / 1000))
		return &sorted[max(rank, 1)-1]
	case ruleRoundHalf:
		return &sorted[int(math.RoundToEven(float64(n-1)*q/100))]
	case ruleCumulative:
		return ptr(cumulative(sorted, q/100))
	case ruleLinear:
		return finite(linear(sorted, float64(n-1)*q/100))
	}
	return nil
}

// linear interpolates as numpy does: from the nearer neighbour.
func linear(sorted []float64, at float64) float64 {
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	a, b, part := sorted[low], sorted[low+1], at-float64(low)
	if part >= 0.5 {
		return b - (b-a)*(1-part)
	}
	return a + (b-a)*part
}

// cumulative adds up the shares of the distinct values as GuideLLM does, in
// floating point and in order, so that ties at a rank fall as they do there.
func cumulative(sorted []float64, share float64) float64 {
	var sum float64
	for from := 0; from < len(sorted); {
		to := from
		for to < len(sorted) && sorted[to] == sorted[from] {
			to++
		}
		if sum += float64(to-from) / float64(len(sorted)); sum >= share {
			return sorted[from]
		}
		from = to
	}
	return sorted[len(sorted)-1]
}

// column is the values of one metric over the rows of a file. Sums run in file
// order; only then are the values sorted, in place, because a second copy would
// cost more memory than the file.
type column struct {
	sorted  []float64
	sum     float64
	squares float64 // of the differences from the mean
}

// newColumn takes the values over.
func newColumn(values []float64) *column {
	c := &column{sorted: values}
	for _, v := range values {
		c.sum += v
	}
	mean := c.sum / float64(len(values))
	for _, v := range values {
		c.squares += (v - mean) * (v - mean)
	}
	slices.Sort(values)
	return c
}

func (c *column) n() int { return len(c.sorted) }

// mean of no values is nil.
func (c *column) mean() *float64 {
	if c.n() == 0 {
		return nil
	}
	return finite(c.sum / float64(c.n()))
}

// deviation is the standard deviation: of the sample with divisor n-1 when
// sample is set, else n. One value deviates by 0.
func (c *column) deviation(sample bool) *float64 {
	n := float64(c.n())
	switch {
	case n == 0:
		return nil
	case n == 1:
		return ptr(0.0)
	case sample:
		n--
	}
	return finite(math.Sqrt(c.squares / n))
}

// ends are the least and the greatest value, nil without any.
func (c *column) ends() (least, most *float64) {
	if c.n() == 0 {
		return nil, nil
	}
	return &c.sorted[0], &c.sorted[c.n()-1]
}

// statistic is one that a file states of a column, as parsed from its key.
type statistic struct {
	name     string // as in artifact_stats.stat
	quantile float64
}

// z95 is the two-sided 95 % point of the normal distribution as anvil-serving
// has it.
const z95 = 1.96

// of computes a statistic under a rule; ok is false for one that is not known.
func (s statistic) of(c *column, rule string, sample bool) (value *float64, ok bool) {
	switch s.name {
	case "n":
		return ptr(float64(c.n())), true
	case "sum":
		return finite(c.sum), true
	case "mean":
		return c.mean(), true
	case "stddev":
		return c.deviation(sample), true
	case "mean_ci95_low", "mean_ci95_high":
		return s.interval(c, sample), true
	case "min":
		least, _ := c.ends()
		return least, true
	case "max":
		_, most := c.ends()
		return most, true
	case "percentile":
		return percentile(c.sorted, s.quantile, rule), true
	}
	return nil, false
}

func (s statistic) interval(c *column, sample bool) *float64 {
	mean, sd := c.mean(), c.deviation(sample)
	if mean == nil || sd == nil {
		return nil
	}
	half := z95 * *sd / math.Sqrt(float64(c.n()))
	if s.name == "mean_ci95_low" {
		half = -half
	}
	return finite(*mean + half)
}

// label is the statistic as artifact_stats names it: p50, p99.9, mean.
func (s statistic) label() string {
	if s.name != "percentile" {
		return s.name
	}
	return "p" + number(&s.quantile)
}
