package report

import (
	"strings"
	"unicode"
)

// Literal is how a claim's text stands in a text of the finding: with Markdown's
// active characters escaped.
func Literal(s string) string { return literal(s) }

// literal writes a text so that Markdown shows it as it is, in a table or
// outside: every active character is escaped and line ends become spaces. Runes
// of the private area are replaced, because they mark claims while a text is
// being made.
func literal(s string) string {
	var b strings.Builder
	runes := []rune(strings.TrimSpace(clean(s)))
	for i, r := range runes {
		if active(runes, i) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// active reports whether Markdown could read something into the rune at i.
func active(runes []rune, i int) bool {
	r := runes[i]
	ends := i+1 == len(runes) || runes[i+1] == ' '
	switch {
	case strings.ContainsRune("\\`*[]<>|&~$", r):
		return true
	case r == '_':
		return !(i > 0 && i+1 < len(runes) && isAlnum(runes[i-1]) && isAlnum(runes[i+1]))
	case r == '#' || r == '=':
		return i == 0
	case r == '-' || r == '+':
		return i == 0 && (ends || runes[1] == r) // a list, a rule or a heading
	case r == '.' || r == ')':
		www := r == '.' && i >= 3 && strings.EqualFold(string(runes[i-3:i]), "www")
		return www || ends && i > 0 && allDigits(runes[:i]) // a link by itself, an ordered list
	case r == ':': // a link by itself
		return i+2 < len(runes) && runes[i+1] == '/' && runes[i+2] == '/'
	}
	return false
}

// clean makes one line of printable text.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.Is(unicode.Co, r):
			return unicode.ReplacementChar
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

func isAlnum(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func allDigits(runes []rune) bool {
	for _, r := range runes {
		if r < '0' || r > '9' {
			return false
		}
	}
	return true
}

// code writes a text as a code span. A text that a code span cannot carry
// unchanged in a table is written as a literal instead.
func code(s string) string {
	s = strings.TrimSpace(clean(s))
	if s == "" {
		return ""
	}
	if strings.ContainsAny(s, "`|\\") {
		return literal(s)
	}
	return "`" + s + "`"
}

// table is a Markdown table. Cells are finished Markdown.
type table struct {
	head  []string
	right []bool // columns of numbers
	rows  [][]string
	notes []string // reasons of missing values, in order of first use
}

// newTable takes the head; a trailing ">" aligns a column to the right.
func newTable(head ...string) *table {
	t := &table{}
	for _, h := range head {
		name, number := strings.CutSuffix(h, ">")
		t.head = append(t.head, name)
		t.right = append(t.right, number)
	}
	return t
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// dash is a missing value with its reason, finished Markdown, which is listed
// below the table.
func (t *table) dash(reason string) string {
	if strings.TrimSpace(reason) == "" {
		return missing
	}
	return missing + " " + t.note(reason)
}

// note is the mark of a text that is listed once below the table.
func (t *table) note(text string) string {
	for i, n := range t.notes {
		if unmark(n) == unmark(text) {
			return noteMark(i)
		}
	}
	t.notes = append(t.notes, text)
	return noteMark(len(t.notes) - 1)
}

// noteMark counts (a) to (z), (aa), ...
func noteMark(i int) string {
	mark := ""
	for i++; i > 0; i = (i - 1) / 26 {
		mark = string(rune('a'+(i-1)%26)) + mark
	}
	return "(" + mark + ")"
}

// String writes the table and its notes, or nothing without rows.
func (t *table) String() string {
	if len(t.rows) == 0 {
		return ""
	}
	var b strings.Builder
	line := func(cells []string) {
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	line(t.head)
	rule := make([]string, len(t.head))
	for i := range rule {
		rule[i] = "---"
		if t.right[i] {
			rule[i] = "---:"
		}
	}
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
	if len(t.notes) > 0 {
		b.WriteString("\n")
		for i, n := range t.notes {
			if i > 0 {
				b.WriteString(" ")
			}
			b.WriteString(noteMark(i) + " " + n + ".")
		}
		b.WriteString("\n")
	}
	return b.String()
}
