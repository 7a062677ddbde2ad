package engine

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Metric types of a family, as the TYPE line states them. A family without a
// TYPE line is untyped.
const (
	TypeCounter   = "counter"
	TypeGauge     = "gauge"
	TypeHistogram = "histogram"
	TypeSummary   = "summary"
	TypeUntyped   = "untyped"
)

// Series is one sample line of a metrics page.
type Series struct {
	Name   string   // as scraped, with _bucket, _sum, _count or _total
	Labels string   // canonical JSON object: keys sorted, no white space; le left out where LE is set
	LE     *float64 // upper edge of a histogram bucket, +Inf for the last; nil for other series
	Value  float64  // as scraped; NaN and infinities kept
	Family string   // declared family the series belongs to; Name where none is declared
	Type   string   // type of that family, one of the Type constants, info or stateset
}

// Page is one metrics page, in the order of its lines.
type Page struct {
	Series []Series
	// Families maps the name of every family that a TYPE or HELP line declares to
	// its type, also those without a series.
	Families map[string]string
}

// PageProblem is one thing wrong with a page. The lines around it were read.
type PageProblem struct {
	Line int64  // from 1; 0 for the page as a whole
	Code string // one of the Page* constants
}

// Codes of page problems.
const (
	PageEmpty       = "empty_page"       // no byte but white space
	PageNotMetrics  = "not_metrics"      // HTML, JSON or another text without a single metrics line
	PageTornLine    = "torn_line"        // last line without a line feed; its value may be cut, so it is not read
	PageBadName     = "bad_name"         // no valid metric name
	PageBadLabels   = "bad_labels"       // label set that cannot be read, or a label twice
	PageBadEdge     = "bad_edge"         // le of a histogram bucket is no number
	PageBadValue    = "bad_value"        // value is no number
	PageBadTime     = "bad_timestamp"    // timestamp is no number, or text after it
	PageBadType     = "bad_type"         // TYPE line with an unknown type
	PageSecondType  = "second_type"      // TYPE line for a family that has one or has series; the first reading stands
	PageDuplicate   = "duplicate_series" // name and labels seen before; the first value is kept
	PageBadEncoding = "bad_encoding"     // line that is not UTF-8
)

// ParsePage reads a Prometheus text page, or an OpenMetrics one, line by line.
// A line that cannot be read is one problem and the rest survives. Both line
// ends are accepted, exemplars and timestamps are accepted and dropped (a page
// has one time: that of its scrape). On a page that prometheus/common/expfmt
// accepts the samples are the same as that library's, duplicates apart.
func ParsePage(body []byte) (Page, []PageProblem) {
	r := pageReader{
		page:     Page{Families: map[string]string{}},
		typed:    map[string]bool{},
		bare:     map[string]bool{},
		seen:     map[seriesKey]bool{},
		labelSet: map[string]labels{},
	}
	trimmed := bytes.TrimSpace(body)
	switch {
	case len(trimmed) == 0:
		return r.page, []PageProblem{{Code: PageEmpty}}
	case trimmed[0] == '<', trimmed[0] == '[', json.Valid(trimmed):
		return r.page, []PageProblem{{Code: PageNotMetrics}}
	}
	r.readLines(string(body))
	if len(r.page.Series) == 0 && len(r.page.Families) == 0 && len(r.problems) > 0 {
		return r.page, []PageProblem{{Code: PageNotMetrics}}
	}
	return r.page, r.problems
}

// pageReader holds what one page has declared so far.
type pageReader struct {
	page     Page
	problems []PageProblem
	typed    map[string]bool // families with a TYPE line
	bare     map[string]bool // names of series that belong to no declared family
	seen     map[seriesKey]bool
	labelSet map[string]labels // label text already read on this page
}

// seriesKey tells two series of a page apart. hasEdge keeps a bucket at 0 apart
// from a series without an edge.
type seriesKey struct {
	name, labels string
	edge         float64
	hasEdge      bool
}

func (r *pageReader) readLines(text string) {
	for number := int64(1); text != ""; number++ {
		line, rest, whole := strings.Cut(text, "\n")
		text = rest
		line = strings.Trim(strings.TrimSuffix(line, "\r"), " \t")
		if line == "" || line == "# EOF" {
			continue
		}
		code := PageTornLine
		if whole {
			code = r.readLine(line)
		}
		if code != "" {
			r.problems = append(r.problems, PageProblem{Line: number, Code: code})
		}
	}
}

// readLine takes in one line and returns the code of what is wrong with it.
func (r *pageReader) readLine(line string) string {
	if line[0] == '#' {
		return r.readComment(line[1:])
	}
	return r.readSample(line)
}

// readComment takes in HELP and TYPE lines; any other comment is skipped.
func (r *pageReader) readComment(text string) string {
	keyword, rest := cutBlank(strings.TrimLeft(text, " \t"))
	if keyword != "HELP" && keyword != "TYPE" {
		return ""
	}
	name, rest, ok := readName(rest)
	switch {
	case !ok:
		return PageBadName
	case !utf8.ValidString(name):
		return PageBadEncoding
	}
	if keyword == "HELP" || rest == "" {
		r.declare(name, TypeUntyped)
		return ""
	}
	kind, ok := familyType(strings.TrimLeft(rest, " \t"))
	if !ok {
		return PageBadType
	}
	if r.typed[name] || r.bare[name] {
		return PageSecondType
	}
	r.typed[name] = true
	r.page.Families[name] = kind
	return ""
}

// declare notes a family without replacing the type it has.
func (r *pageReader) declare(name, kind string) {
	if _, known := r.page.Families[name]; !known {
		r.page.Families[name] = kind
	}
}

// familyType reads the type of a TYPE line, in any case as expfmt does.
func familyType(text string) (string, bool) {
	switch kind := strings.ToLower(text); kind {
	case TypeCounter, TypeGauge, TypeHistogram, TypeSummary, TypeUntyped, "info", "stateset":
		return kind, true
	case "unknown":
		return TypeUntyped, true
	case "gaugehistogram", "gauge_histogram":
		return TypeHistogram, true
	}
	return "", false
}

// familyOf finds the declared family of a series name: the name itself, or the
// histogram, summary or OpenMetrics counter whose part it is.
func (r *pageReader) familyOf(name string) (family, kind string) {
	if kind, ok := r.page.Families[name]; ok {
		return name, kind
	}
	if r.bare[name] { // what is declared later does not change a name's family
		return name, TypeUntyped
	}
	for _, suffix := range []string{"_count", "_sum", "_bucket", "_total"} {
		base, found := strings.CutSuffix(name, suffix)
		if !found || base == "" {
			continue
		}
		switch kind := r.page.Families[base]; {
		case kind == TypeSummary && suffix != "_bucket" && suffix != "_total",
			kind == TypeHistogram && suffix != "_total",
			kind == TypeCounter && suffix == "_total":
			return base, kind
		}
	}
	return name, TypeUntyped
}
