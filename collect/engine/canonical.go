package engine

import (
	"embed"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// canonical.csv defines the canonical names. Two engines share a name only where
// they measure the same thing. sources.csv lists what each engine calls them,
// newest spelling first (rank 0).
//
//go:embed canonical.csv sources.csv
var mappingFiles embed.FS

// Mapping is one source of one canonical metric: what one engine calls it in one
// range of versions.
//
// To resolve a canonical name on a page, take for each engine the rows of the
// lowest rank that any series matches. Rows of one rank are parts of one value
// and are added. A counter's source is written without _total and matches a
// series with or without it; a histogram's source is the family, without
// _bucket, _sum or _count.
type Mapping struct {
	Canonical   string
	Kind        string // counter, gauge or histogram
	Unit        string // empty where the labels are the value
	Aggregation string // over series: sum, max, or list (never made one number)
	Definition  string
	Engine      string // vllm, sglang, llamacpp, tensorrt_llm, lmdeploy, tgi, dynamo, or any
	Rank        int64  // 0 is the newest spelling
	Source      string // name as scraped, see above
	Labels      string // JSON object: labels a series must have; {} for all
	CopyLabels  string // labels, separated by blanks, that tell copies of one value apart; copies are never added
}

// Canonical lists the mapping in the order of its files: by canonical name, then
// engine, then rank. The caller must not change it.
func Canonical() []Mapping { return mapping() }

var (
	// names holds one Mapping per canonical name, without a source.
	names   = sync.OnceValue(func() []Mapping { return must(readNames()) })
	mapping = sync.OnceValue(func() []Mapping { return must(readSources()) })
)

// must ends the program when the embedded tables are damaged: a fault of the
// build, which the tests of this package find.
func must(rows []Mapping, err error) []Mapping {
	if err != nil {
		panic(err)
	}
	return rows
}

func readNames() ([]Mapping, error) {
	records, err := readTable("canonical.csv", 5)
	if err != nil {
		return nil, err
	}
	var rows []Mapping
	for _, f := range records {
		rows = append(rows, Mapping{Canonical: f[0], Kind: f[1], Unit: f[2], Aggregation: f[3], Definition: f[4]})
	}
	return rows, nil
}

func readSources() ([]Mapping, error) {
	records, err := readTable("sources.csv", 6)
	if err != nil {
		return nil, err
	}
	var rows []Mapping
	for _, f := range records {
		i := slices.IndexFunc(names(), func(m Mapping) bool { return m.Canonical == f[0] })
		if i < 0 {
			return nil, fmt.Errorf("sources.csv: %q is not a name of canonical.csv", f[0])
		}
		m := names()[i]
		if m.Rank, err = strconv.ParseInt(f[2], 10, 64); err != nil {
			return nil, fmt.Errorf("sources.csv: rank of %s: %w", f[3], err)
		}
		m.Engine, m.Source, m.Labels, m.CopyLabels = f[1], f[3], f[4], f[5]
		rows = append(rows, m)
	}
	return rows, nil
}

// readTable reads an embedded table without its head line.
func readTable(name string, fields int) ([][]string, error) {
	file, err := mappingFiles.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open mapping: %w", err)
	}
	defer file.Close()
	r := csv.NewReader(file)
	r.FieldsPerRecord = fields
	records, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return records[1:], nil
}

// Resolve finds the value of a canonical counter or gauge on a page, and the name
// it has there. Values of several engine ranks are made one by the metric's
// aggregation, copies counted once. ok is false when the page does not have the
// metric, when the metric is a histogram, when a list has more than one entry,
// and when the value is not a number: a missing value is never 0. source is set wherever the page
// has the metric.
func Resolve(page Page, canonical string) (value float64, source string, ok bool) {
	rows := mapping()
	for start := 0; start < len(rows); {
		end := start + 1
		for end < len(rows) && sameStep(rows[start], rows[end]) {
			end++
		}
		step := rows[start:end]
		start = end
		if step[0].Canonical != canonical || step[0].Kind == TypeHistogram {
			continue
		}
		if found := matching(page, step); len(found) > 0 {
			value, ok = aggregate(found, step[0])
			return value, found[0].Name, ok
		}
	}
	return 0, "", false
}

func sameStep(a, b Mapping) bool {
	return a.Canonical == b.Canonical && a.Engine == b.Engine && a.Rank == b.Rank
}

// matching lists the series of a page that any row of one rank names.
func matching(page Page, step []Mapping) []Series {
	var found []Series
	for _, s := range page.Series {
		if slices.ContainsFunc(step, func(m Mapping) bool { return m.matches(s) }) {
			found = append(found, s)
		}
	}
	return found
}

// matches tells whether a series is one of this source.
func (m Mapping) matches(s Series) bool {
	name := s.Name
	if m.Kind == TypeCounter && name != m.Source {
		name = strings.TrimSuffix(name, "_total")
	}
	if name != m.Source {
		return false
	}
	if m.Labels == "{}" {
		return true
	}
	have, want := labelMap(s.Labels), labelMap(m.Labels)
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

// labelMap reads a label set back from its canonical text.
func labelMap(text string) map[string]string {
	set := map[string]string{}
	if err := json.Unmarshal([]byte(text), &set); err != nil {
		return nil // not reached: the text is written by this package, or checked by its tests
	}
	return set
}

// aggregate makes one value of the series of one metric.
func aggregate(found []Series, m Mapping) (float64, bool) {
	values := withoutCopies(found, strings.Fields(m.CopyLabels))
	switch m.Aggregation {
	case "sum":
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		return sum, !math.IsNaN(sum)
	case "max":
		// One rank that gives no number does not hide the others.
		values = slices.DeleteFunc(values, math.IsNaN)
		if len(values) == 0 {
			return 0, false
		}
		return slices.Max(values), true
	}
	return values[0], len(values) == 1 && !math.IsNaN(values[0])
}

// withoutCopies keeps one value, the largest, of series that differ in copy
// labels only, in page order.
func withoutCopies(found []Series, copyLabels []string) []float64 {
	var values []float64
	at := map[string]int{}
	for _, s := range found {
		key := s.Name + s.Labels
		if len(copyLabels) > 0 {
			set := labelMap(s.Labels)
			for _, l := range copyLabels {
				delete(set, l)
			}
			key = s.Name + mapJSON(set)
		}
		if i, ok := at[key]; ok {
			values[i] = math.Max(values[i], s.Value)
			continue
		}
		at[key] = len(values)
		values = append(values, s.Value)
	}
	return values
}

// mapJSON writes a label set in canonical form.
func mapJSON(set map[string]string) string {
	pairs := make([]pair, 0, len(set))
	for k, v := range set {
		pairs = append(pairs, pair{k, v})
	}
	return labelsOf(pairs).withLE
}
