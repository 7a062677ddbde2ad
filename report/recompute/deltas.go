package recompute

import (
	"strconv"

	"assay/report/bundle"
)

const histogramsFile = "tables/engine_histograms.csv"

// checkDeltas is V-18: the engine's deltas are what the views give over the data
// again; and, counted here from the pages themselves, no histogram has a delta
// whose count or any bucket fell over the cell.
func (s *shared) checkDeltas(l *bundle.Loaded) []bundle.Problem {
	p := &problems{code: "V-18", folder: l.Folder}
	e, err := s.evaluate(l)
	if err != nil {
		return nil // notEvaluated skips this
	}
	compareTables(p, l, e.out.Draft.Files, "engine_histograms", "histogram_buckets", "engine_counters", "counters")
	s.countedDeltas(p, l)
	return p.all()
}

// sampleKey names one series on one page.
type sampleKey struct {
	attemptKey
	page           int64
	series, labels string
}

// pagesOf are the pages a cell's deltas are taken between: the last whole ones
// before and after it.
type pagesOf struct{ before, after int64 }

// countedDeltas holds the published table of histograms against the counts and
// buckets as scraped.
func (s *shared) countedDeltas(p *problems, l *bundle.Loaded) {
	published, ok := parseTable(fileData(l, histogramsFile))
	if !ok {
		return // compareTables says so
	}
	counted := s.countedAttempts()
	pages, counts := s.wholePages(), s.samples()
	for i := range published.rows {
		cell, family := published.value(i, "cell"), published.value(i, "series")
		key, known := counted[cell]
		if family == "" || !known || published.value(i, "reason") != "" {
			continue
		}
		at := pages[key]
		labels := published.value(i, "labels")
		after := counts[sampleKey{key, at.after, family + "_count", labels}]
		before := counts[sampleKey{key, at.before, family + "_count", labels}]
		n, err := strconv.ParseFloat(published.value(i, "n"), 64)
		switch {
		case len(after) != 1 || len(before) > 1:
			p.add(histogramsFile, "row %d has a delta, and the pages do not have the series once", i+1)
			continue
		case err != nil || n != after[0]-first(before):
			p.add(histogramsFile, "row %d: n is %q, the pages count %v", i+1, published.value(i, "n"), after[0]-first(before))
		case after[0] < first(before):
			p.add(histogramsFile, "row %d has a delta of a count that fell", i+1)
		}
		if s.bucketFell(key, at, family+"_bucket", labels) {
			p.add(histogramsFile, "row %d has a delta although a bucket fell: the counter was reset", i+1)
		}
	}
}

func first(values []float64) float64 {
	if len(values) == 0 {
		return 0 // absent before: a new series counts from nothing
	}
	return values[0]
}

// countedAttempts is the attempt of each cell that counts.
func (s *shared) countedAttempts() map[string]attemptKey {
	t := s.table("attempts")
	out := map[string]attemptKey{}
	for i := range t.rows {
		if t.flag("counted", i) {
			out[t.text("cell", i)] = attemptKey{t.text("cell", i), t.whole("attempt", i)}
		}
	}
	return out
}

func (s *shared) wholePages() map[attemptKey]pagesOf {
	t := s.table("pages")
	out := map[attemptKey]pagesOf{}
	for i := range t.rows {
		if series := t.columns["series"]; t.text("error", i) != "" || series == nil || series.null[i] {
			continue
		}
		key := attemptKey{t.text("cell", i), t.whole("attempt", i)}
		at, seq := out[key], t.whole("page_seq", i)
		switch t.text("phase", i) {
		case "before":
			at.before = max(at.before, seq)
		case "after":
			at.after = max(at.after, seq)
		}
		out[key] = at
	}
	return out
}

// samples indexes the values of the pages around cells by series.
func (s *shared) samples() map[sampleKey][]float64 {
	if s.counts != nil {
		return s.counts
	}
	t, pages := s.table("engine_samples"), s.wholePages()
	s.counts = map[sampleKey][]float64{}
	for i := range t.rows {
		key := attemptKey{t.text("cell", i), t.whole("attempt", i)}
		if seq := t.whole("page_seq", i); seq == pages[key].before || seq == pages[key].after {
			at := sampleKey{key, seq, t.text("series", i), t.text("labels", i)}
			s.counts[at] = append(s.counts[at], t.number("value", i))
		}
	}
	return s.counts
}

// bucketFell compares the buckets of one series on the two pages; both lists are
// in the order of their edges, as published.
func (s *shared) bucketFell(key attemptKey, at pagesOf, series, labels string) bool {
	before := s.samples()[sampleKey{key, at.before, series, labels}]
	after := s.samples()[sampleKey{key, at.after, series, labels}]
	for i := range min(len(before), len(after)) {
		if after[i] < before[i] {
			return true
		}
	}
	return false
}
