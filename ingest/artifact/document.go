package artifact

import (
	"bytes"
	"iter"
)

// document is a text of one JSON value, or of one a line. Its first value is
// checked; the others are checked as they come.
type document struct {
	text  []byte
	notes *notes
	head  value
	next  int // offset behind the first value
}

// first checks the first value.
func (d *document) first() *fault {
	start := 0
	for start < len(d.text) && isSpace(d.text[start]) {
		start++
	}
	if start == len(d.text) {
		return &fault{CodeEmpty, 0, "the file holds nothing but white space"}
	}
	n, wrong := checkValue(d.text[start:])
	if wrong != nil {
		wrong.at += start
		return wrong
	}
	d.head, d.next = value(d.text[start:start+n]), start+n
	return nil
}

// single says that nothing follows the first value.
func (d *document) single() bool {
	return len(bytes.TrimLeft(d.text[d.next:], " \t\r\n")) == 0
}

// values goes through all values of the document, the first included, with the
// number of their line. A line that cannot be read is a problem, and the next
// one is tried.
func (d *document) values() iter.Seq2[int, value] {
	return func(yield func(int, value) bool) {
		line := 1 + bytes.Count(d.text[:d.next], []byte("\n")) - bytes.Count(d.head, []byte("\n"))
		if !yield(line, d.head) {
			return
		}
		line += bytes.Count(d.head, []byte("\n"))
		rest := d.text[d.next:]
		for {
			for len(rest) > 0 && isSpace(rest[0]) {
				if rest[0] == '\n' {
					line++
				}
				rest = rest[1:]
			}
			if len(rest) == 0 {
				return
			}
			n, wrong := checkValue(rest)
			if wrong != nil {
				d.notes.add(wrong.code, "line "+itoa(line), "%s; the line is not used", wrong.detail)
				n = bytes.IndexByte(rest, '\n')
				if n < 0 {
					return
				}
			} else if !yield(line, value(rest[:n])) {
				return
			}
			line += bytes.Count(rest[:n], []byte("\n"))
			rest = rest[n:]
		}
	}
}
