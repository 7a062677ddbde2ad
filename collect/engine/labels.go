package engine

import (
	"slices"
	"strings"
)

// labels is one label set, read once per distinct text of a page.
type labels struct {
	json   string // canonical JSON without le
	withLE string // canonical JSON with le, for families that are not histograms
	le     string
	hasLE  bool
}

// closingBrace is the index of the brace that ends the label set text begins
// with, or -1. Braces inside quotes do not count.
func closingBrace(text string) int {
	quoted := false
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case '}':
			if !quoted {
				return i
			}
		}
	}
	return -1
}

type pair struct{ name, value string }

// readPairs reads the inside of the braces. With nameInside one item may be a
// lone name, that of the metric.
func readPairs(text string, nameInside bool) (pairs []pair, metric string, ok bool) {
	for text = strings.TrimLeft(text, " \t"); text != ""; {
		name, rest, ok := readName(text)
		if !ok {
			return nil, "", false
		}
		rest = strings.TrimLeft(rest, " \t")
		if value, found := strings.CutPrefix(rest, "="); found {
			p := pair{name: name}
			if p.value, rest, ok = readQuoted(strings.TrimLeft(value, " \t")); !ok {
				return nil, "", false
			}
			if name == "__name__" || strings.Contains(name, ":") || slices.ContainsFunc(pairs, p.sameName) {
				return nil, "", false
			}
			pairs = append(pairs, p)
		} else if nameInside && metric == "" {
			metric = name
		} else {
			return nil, "", false
		}
		rest = strings.TrimLeft(rest, " \t")
		if text, ok = strings.CutPrefix(rest, ","); !ok && rest != "" {
			return nil, "", false
		}
		text = strings.TrimLeft(text, " \t")
	}
	return pairs, metric, true
}

func (p pair) sameName(q pair) bool { return p.name == q.name }

// labelsOf writes a label set in canonical form.
func labelsOf(pairs []pair) labels {
	slices.SortFunc(pairs, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	set := labels{withLE: labelJSON(pairs)}
	set.json = set.withLE
	if i := slices.IndexFunc(pairs, pair{name: "le"}.sameName); i >= 0 {
		set.le, set.hasLE = pairs[i].value, true
		set.json = labelJSON(slices.Delete(pairs, i, i+1))
	}
	return set
}

// readName reads a metric or label name, bare or quoted, at the start of text.
func readName(text string) (name, rest string, ok bool) {
	if strings.HasPrefix(text, `"`) {
		name, rest, ok = readQuoted(text)
		return name, rest, ok && name != ""
	}
	end := 0
	for end < len(text) && nameByte(text[end], end == 0) {
		end++
	}
	return text[:end], text[end:], end > 0
}

func nameByte(c byte, first bool) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':' || !first && c >= '0' && c <= '9'
}

// readQuoted reads a quoted string with the three escapes of the text format.
func readQuoted(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", false
	}
	text = text[1:]
	if end := strings.IndexAny(text, `"\`); end >= 0 && text[end] == '"' {
		return text[:end], text[end+1:], true
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return b.String(), text[i+1:], true
		case '\\':
			i++
			if i == len(text) || !writeEscaped(&b, text[i]) {
				return "", "", false
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

func writeEscaped(b *strings.Builder, c byte) bool {
	switch c {
	case '\\', '"':
		b.WriteByte(c)
	case 'n':
		b.WriteByte('\n')
	default:
		return false
	}
	return true
}

const hexDigits = "0123456789abcdef"

// labelJSON writes sorted pairs as a JSON object with the escapes of RFC 8785:
// quote, backslash and control characters only.
func labelJSON(pairs []pair) string {
	b := []byte{'{'}
	for i, p := range pairs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, p.name), ':')
		b = appendString(b, p.value)
	}
	return string(append(b, '}'))
}

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\b':
			b = append(b, '\\', 'b')
		case c == '\f':
			b = append(b, '\\', 'f')
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
