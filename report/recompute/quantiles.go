package recompute

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/report/bundle"
)

const distributionsFile = "tables/distributions.csv"

// checkQuantiles is V-19: the distributions are what the views give over the data
// again; and, computed here from the values themselves, each n and quantile is the
// nearest rank, and each quantile below its floor has its label.
func (s *shared) checkQuantiles(l *bundle.Loaded) []bundle.Problem {
	p := &problems{code: "V-19", folder: l.Folder}
	e, err := s.evaluate(l)
	if err != nil {
		return nil // notEvaluated skips this
	}
	compareTables(p, l, e.out.Draft.Files, "distributions", "comparisons", "sensitivity", "repeats", "overlap")
	published, ok := parseTable(fileData(l, distributionsFile))
	if !ok {
		return p.all() // compareTables says so
	}
	values, err := e.evidence.MetricValues(s.ctx)
	if err != nil {
		p.add(distributionsFile, "the values cannot be read: %v", err)
		return p.all()
	}
	for i := range published.rows {
		for _, why := range rankProblems(published, i, values[[2]string{published.value(i, "cell"), published.value(i, "metric")}]) {
			p.add(distributionsFile, "row %d, %s of %s: %s", i+1, published.value(i, "metric"), published.value(i, "cell"), why)
		}
	}
	return p.all()
}

// rankProblems holds one row against its values in ascending order.
func rankProblems(t csvTable, row int, values []float64) []string {
	n := len(values)
	var out []string
	same := func(column string, want float64) {
		got, err := strconv.ParseFloat(t.value(row, column), 64)
		if err != nil || got != want {
			out = append(out, column+" is "+cmp.Or(t.value(row, column), "empty")+", the values give "+strconv.FormatFloat(want, 'g', -1, 64))
		}
	}
	same("n", float64(n))
	if n > 0 {
		same("min", values[0])
		same("p50", nearestRank(values, 50))
		same("p95", nearestRank(values, 95))
		same("max", values[n-1])
	}
	notes := strings.Split(t.value(row, "note"), "; ")
	for _, label := range labels(n) {
		if !slices.Contains(notes, label) {
			out = append(out, "lacks its label \""+label+"\"")
		}
	}
	return out
}

// nearestRank is the value at rank (q*n + 99) / 100 of values in ascending order
// (measurement.md section 10).
func nearestRank(values []float64, q int) float64 { return values[(q*len(values)+99)/100-1] }

// labels are what must stand beside quantiles of n values.
func labels(n int) []string {
	var out []string
	switch {
	case n == 0:
		return []string{"no value"}
	case n <= 5:
		out = append(out, "list of values", "p95 = max")
	case n < 20:
		out = append(out, "p95 = max")
	}
	if n < floor(0.50) {
		out = append(out, "p50 descriptive")
	}
	if n < floor(0.95) {
		out = append(out, "p95 descriptive")
	}
	return out
}

// floor is the smallest n for which a percentile is more than descriptive: at
// which at most one of n values lies above the quantile q with a probability of
// at most 0.01 (measurement.md section 10).
func floor(q float64) int {
	for n := 1; ; n++ {
		atMostOne := math.Pow(q, float64(n)) + float64(n)*(1-q)*math.Pow(q, float64(n-1))
		if atMostOne <= 0.01 {
			return n
		}
	}
}
