package engine

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readSample takes in a line "name{labels} value [timestamp] [# exemplar]".
func (r *pageReader) readSample(line string) string {
	if !utf8.ValidString(line) {
		return PageBadEncoding
	}
	name, set, rest, code := r.readSeriesName(line)
	if code != "" {
		return code
	}
	family, kind := r.familyOf(name)
	s := Series{Name: name, Labels: set.json, Family: family, Type: kind}
	if code := s.setEdge(set); code != "" {
		return code
	}
	if s.Value, code = readValue(rest); code != "" {
		return code
	}
	key := seriesKey{name: s.Name, labels: s.Labels, hasEdge: s.LE != nil}
	if s.LE != nil {
		key.edge = *s.LE
	}
	if r.seen[key] {
		return PageDuplicate
	}
	r.seen[key] = true
	if _, declared := r.page.Families[family]; !declared {
		r.bare[name] = true
	}
	r.page.Series = append(r.page.Series, s)
	return ""
}

// readSeriesName reads the name and the labels. The name may stand inside the
// braces, as the quoted form of the text format has it.
func (r *pageReader) readSeriesName(line string) (name string, set labels, rest, code string) {
	rest = line
	if line[0] != '{' {
		var ok bool
		if name, rest, ok = readName(line); !ok {
			return "", set, "", PageBadName
		}
		rest = strings.TrimLeft(rest, " \t")
	}
	if rest == "" || rest[0] != '{' {
		return name, labels{json: "{}", withLE: "{}"}, rest, ""
	}
	end := closingBrace(rest)
	if end < 0 {
		return "", set, "", PageBadLabels
	}
	text, rest := rest[1:end], strings.TrimLeft(rest[end+1:], " \t")
	if name != "" {
		if cached, ok := r.labelSet[text]; ok {
			return name, cached, rest, ""
		}
	}
	pairs, inner, ok := readPairs(text, name == "")
	if !ok {
		return "", set, "", PageBadLabels
	}
	set = labelsOf(pairs)
	if inner != "" {
		return inner, set, rest, ""
	}
	if name == "" {
		return "", set, "", PageBadName
	}
	r.labelSet[text] = set
	return name, set, rest, ""
}

// setEdge moves le out of the labels where it is the edge of a bucket: in a
// declared histogram, and in a name that says bucket where nothing is declared.
// Anywhere else le is a label like any other.
func (s *Series) setEdge(set labels) string {
	if !set.hasLE {
		return ""
	}
	edge, ok := readFloat(set.le)
	ok = ok && !math.IsNaN(edge)
	switch {
	case ok && (s.Type == TypeHistogram || s.Type == TypeUntyped && strings.HasSuffix(s.Name, "_bucket")):
		s.LE = &edge
	case s.Type == TypeHistogram:
		return PageBadEdge
	default:
		s.Labels = set.withLE
	}
	return ""
}

// readValue reads what follows the labels.
func readValue(text string) (float64, string) {
	text, _, _ = strings.Cut(text, " # ") // an OpenMetrics exemplar
	word, rest := cutBlank(text)
	value, ok := readFloat(word)
	if !ok {
		return 0, PageBadValue
	}
	if stamp := strings.TrimRight(rest, " \t"); stamp != "" {
		// Milliseconds in the text format, seconds with a fraction in OpenMetrics.
		if _, ok := readFloat(stamp); !ok {
			return 0, PageBadTime
		}
	}
	return value, ""
}

// readFloat reads a number as the text format allows it: Go's syntax without
// hexadecimal and underscores.
func readFloat(s string) (float64, bool) {
	if strings.ContainsAny(s, "pP_") {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// cutBlank splits at the first run of blanks.
func cutBlank(text string) (word, rest string) {
	if i := strings.IndexAny(text, " \t"); i >= 0 {
		return text[:i], strings.TrimLeft(text[i:], " \t")
	}
	return text, ""
}
