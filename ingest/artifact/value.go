package artifact

import (
	"bytes"
	"iter"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// value is one JSON value as its text inside a checked file. It holds no copy
// and builds no tree, so that a file costs little more memory than its bytes.
type value []byte

// isNull says that there is no value, or null.
func (v value) isNull() bool { return len(v) == 0 || v[0] == 'n' }

func (v value) isObject() bool { return len(v) > 0 && v[0] == '{' }
func (v value) isArray() bool  { return len(v) > 0 && v[0] == '[' }
func (v value) isText() bool   { return len(v) > 0 && v[0] == '"' }

// skip returns where the value that starts at text[0] ends. The text was
// checked before.
func skip(text []byte) int {
	switch text[0] {
	case '"':
		return skipText(text)
	case '{', '[':
		depth := 0
		for i := 0; i < len(text); i++ {
			switch text[i] {
			case '"':
				i += skipText(text[i:]) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return len(text)
	}
	for i, b := range text {
		if b == ',' || b == ']' || b == '}' || isSpace(b) {
			return i
		}
	}
	return len(text)
}

func skipText(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(text)
}

func skipSpace(text []byte) []byte {
	for len(text) > 0 && (isSpace(text[0]) || text[0] == ',' || text[0] == ':') {
		text = text[1:]
	}
	return text
}

// members goes through an object in file order; anything else has none. The
// key is only good until the next one.
func (v value) members() iter.Seq2[[]byte, value] {
	return func(yield func([]byte, value) bool) {
		if !v.isObject() {
			return
		}
		rest := skipSpace(v[1:])
		for len(rest) > 0 && rest[0] == '"' {
			n := skipText(rest)
			key := unquote(rest[:n])
			rest = skipSpace(rest[n:])
			if len(rest) == 0 {
				return
			}
			n = skip(rest)
			if !yield(key, value(rest[:n])) {
				return
			}
			rest = skipSpace(rest[n:])
		}
	}
}

// cursor goes through an array one element at a time, so that arrays that
// belong together can be read side by side.
type cursor struct{ rest []byte }

func (v value) cursor() cursor {
	if !v.isArray() {
		return cursor{}
	}
	return cursor{skipSpace(v[1:])}
}

// next is the next element; ok is false behind the last.
func (c *cursor) next() (v value, ok bool) {
	if len(c.rest) == 0 || c.rest[0] == ']' {
		return nil, false
	}
	n := skip(c.rest)
	v, c.rest = value(c.rest[:n]), skipSpace(c.rest[n:])
	return v, n > 0
}

// elements goes through an array in order; anything else has none.
func (v value) elements() iter.Seq2[int, value] {
	return func(yield func(int, value) bool) {
		c := v.cursor()
		for i := 0; ; i++ {
			if e, ok := c.next(); !ok || !yield(i, e) {
				return
			}
		}
	}
}

// count is the number of elements of an array.
func (v value) count() (n int) {
	for range v.elements() {
		n++
	}
	return n
}

// get is a member of an object; nothing when there is none.
func (v value) get(name string) value {
	for key, member := range v.members() {
		if string(key) == name {
			return member
		}
	}
	return nil
}

// path is a member of a member, and so on.
func (v value) path(names ...string) value {
	for _, name := range names {
		v = v.get(name)
	}
	return v
}

// number is a JSON number, NaN or an infinity.
func (v value) number() (float64, bool) {
	if len(v) == 0 {
		return 0, false
	}
	switch string(v) {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	if v[0] != '-' && (v[0] < '0' || v[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil
}

// integer is a number that is whole and fits.
func (v value) integer() (int64, bool) {
	if len(v) == 0 || v[0] != '-' && (v[0] < '0' || v[0] > '9') {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func (v value) boolean() (val, ok bool) {
	return string(v) == "true", string(v) == "true" || string(v) == "false"
}

// maxText bounds a text that is kept, in bytes.
const maxText = 500

// text is a text of at most maxText bytes, cut at a whole character.
func (v value) text() (string, bool) {
	if !v.isText() {
		return "", false
	}
	if len(v) > 8*maxText {
		v = v[:8*maxText] // unquote copies; what is cut off anyway is not copied
	}
	return cut(string(bytes.ReplaceAll(unquote(v), []byte{0}, []byte("\uFFFD"))), maxText), true
}

// cut shortens a text to at most n bytes of whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// unquote decodes a quoted text; without escapes it is the bytes in place.
func unquote(quoted []byte) []byte {
	inner := bytes.TrimSuffix(quoted[1:], []byte(`"`))
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	out := make([]byte, 0, len(inner))
	for len(inner) > 0 {
		if inner[0] != '\\' {
			out, inner = append(out, inner[0]), inner[1:]
			continue
		}
		n, ok := escape(inner)
		if !ok {
			return out // only where text cut a long one
		}
		if inner[1] != 'u' {
			out, inner = append(out, unescaped(inner[1])), inner[n:]
			continue
		}
		r := code(inner)
		inner = inner[n:]
		if m, ok := escape(inner); utf16.IsSurrogate(r) && ok && m == 6 {
			if whole := utf16.DecodeRune(r, code(inner)); whole != utf8.RuneError {
				r, inner = whole, inner[m:]
			}
		}
		out = utf8.AppendRune(out, r) // half of a pair becomes U+FFFD
	}
	return out
}

func unescaped(b byte) byte {
	switch b {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return b
}

func code(escaped []byte) (r rune) {
	for _, b := range escaped[2:6] {
		d, _ := hexDigit(b)
		r = r<<4 | d
	}
	return r
}
