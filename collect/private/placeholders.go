package private

import (
	"fmt"
	"strings"
)

// Name replaces a value that its place makes private by a placeholder of the
// given kind, counted under the class.
func (r *Redactor) Name(kind string, c Class, value string) string {
	r.count(c)
	return r.name(kind, value)
}

func (r *Redactor) count(c Class) {
	if r.Counts == nil {
		r.Counts = Counts{}
	}
	r.Counts[c]++
}

func (r *Redactor) name(kind, value string) string {
	if r.names == nil {
		r.names, r.next = map[string]string{}, map[string]int{}
	}
	at := kind + " " + value
	if r.names[at] == "" {
		r.names[at] = r.fresh(kind)
	}
	return r.names[at]
}

// fresh is the next placeholder of a kind that the file does not have already.
func (r *Redactor) fresh(kind string) string {
	for {
		n := r.next[kind]
		r.next[kind]++
		name := fmt.Sprintf("[%s-%d]", kind, n+1)
		if kind == "host" {
			name = fmt.Sprintf("[host-%s]", letters(n))
		}
		if !strings.Contains(r.taken, name) {
			return name
		}
	}
}

// letters counts a, b, ..., z, aa, ab, ...
func letters(n int) string {
	text := string(rune('a' + n%26))
	if n >= 26 {
		return letters(n/26-1) + text
	}
	return text
}

// IsPlaceholder says whether a value is what a redaction left.
func IsPlaceholder(s string) bool { return placeholder.FindString(s) == s && s != "" }
