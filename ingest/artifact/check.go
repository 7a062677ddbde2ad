package artifact

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"unicode/utf8"
)

// maxDepth bounds nesting. The deepest real file has 12 levels.
const maxDepth = 200

// fault is why a text is no JSON value that can be used.
type fault struct {
	code   Code
	at     int // byte offset
	detail string
}

// position names a place in a text.
func position(data []byte, at int) string {
	head := data[:min(max(at, 0), len(data))]
	return fmt.Sprintf("line %d column %d", bytes.Count(head, []byte("\n"))+1, len(head)-bytes.LastIndexByte(head, '\n'))
}

// checker reads a text once and proves that the readers of value.go may skip
// through it without looking back: one JSON value, no deeper than maxDepth, no
// key twice in an object. NaN, Infinity and -Infinity count as numbers, since
// Python's json writes them.
type checker struct {
	data   []byte
	at     int
	closed []byte   // the closing bracket of each open level
	hashes []uint64 // of the keys of all open objects
	starts []int    // where each open level's hashes begin
	seed   maphash.Seed
}

// checkValue checks the value that starts at data[0] after white space and
// returns where it ends.
func checkValue(data []byte) (end int, wrong *fault) {
	c := &checker{data: data, seed: maphash.MakeSeed()}
	for {
		if wrong := c.begin(); wrong != nil {
			return 0, wrong
		}
		done, wrong := c.finish()
		if done || wrong != nil {
			return c.at, wrong
		}
	}
}

// begin reads up to the next scalar, or to an empty array or object.
func (c *checker) begin() *fault {
	for {
		c.space()
		if c.at == len(c.data) {
			return c.cut()
		}
		open := c.data[c.at]
		if open != '{' && open != '[' {
			return c.scalar()
		}
		if len(c.closed) == maxDepth {
			return &fault{CodeTooDeep, c.at, fmt.Sprintf("nested deeper than %d levels", maxDepth)}
		}
		c.at++
		c.closed, c.starts = append(c.closed, open+2), append(c.starts, len(c.hashes)) // '{'+2 is '}', '['+2 is ']'
		c.space()
		if c.at < len(c.data) && c.data[c.at] == open+2 {
			return nil
		}
		if open == '{' {
			if wrong := c.key(); wrong != nil {
				return wrong
			}
		}
	}
}

// finish reads what follows a value: closing brackets, then a comma and a key.
// done says that the outermost value is over.
func (c *checker) finish() (done bool, wrong *fault) {
	for len(c.closed) > 0 {
		c.space()
		if c.at == len(c.data) {
			return false, c.cut()
		}
		level := len(c.closed) - 1
		switch c.data[c.at] {
		case ',':
			c.at++
			if c.closed[level] == '}' {
				c.space()
				return false, c.key()
			}
			return false, nil
		case c.closed[level]:
			if wrong := c.repeated(c.starts[level]); wrong != nil {
				return false, wrong
			}
			c.hashes = c.hashes[:c.starts[level]]
			c.closed, c.starts = c.closed[:level], c.starts[:level]
			c.at++
		default:
			return false, c.bad()
		}
	}
	return true, nil
}

func (c *checker) repeated(from int) *fault {
	keys := c.hashes[from:]
	slices.Sort(keys)
	for i := 1; i < len(keys); i++ {
		if keys[i] == keys[i-1] {
			return &fault{CodeDuplicateKey, c.at, "an object that ends here has one key twice; which value holds is unknown"}
		}
	}
	return nil
}

func (c *checker) key() *fault {
	start := c.at
	if c.at == len(c.data) {
		return c.cut()
	}
	if c.data[c.at] != '"' {
		return c.bad()
	}
	if wrong := c.text(); wrong != nil {
		return wrong
	}
	c.hashes = append(c.hashes, maphash.Bytes(c.seed, unquote(c.data[start:c.at])))
	c.space()
	if c.at == len(c.data) {
		return c.cut()
	}
	if c.data[c.at] != ':' {
		return c.bad()
	}
	c.at++
	return nil
}

func (c *checker) space() {
	for c.at < len(c.data) && isSpace(c.data[c.at]) {
		c.at++
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\r' || b == '\t' }

func (c *checker) cut() *fault {
	return &fault{CodeTruncated, len(c.data), "the file ends in the middle of a JSON value"}
}

func (c *checker) bad() *fault {
	return &fault{CodeNotJSON, c.at, "this is not JSON"}
}

var words = [][]byte{[]byte("true"), []byte("false"), []byte("null"), []byte("NaN"), []byte("Infinity"), []byte("-Infinity")}

func (c *checker) scalar() *fault {
	if c.data[c.at] == '"' {
		return c.text()
	}
	rest := c.data[c.at:]
	for _, w := range words {
		if bytes.HasPrefix(rest, w) {
			c.at += len(w)
			return nil
		}
		if bytes.HasPrefix(w, rest) && string(rest) != "-" {
			return c.cut()
		}
	}
	return c.number()
}

// number reads a number as RFC 8259 has it.
func (c *checker) number() *fault {
	start := c.at
	if c.peek() == '-' {
		c.at++
	}
	whole := c.at
	c.digits()
	ok := c.at > whole && (c.data[whole] != '0' || c.at == whole+1)
	if c.peek() == '.' {
		c.at++
		ok = c.digits() && ok
	}
	if b := c.peek(); b == 'e' || b == 'E' {
		c.at++
		if b := c.peek(); b == '+' || b == '-' {
			c.at++
		}
		ok = c.digits() && ok
	}
	switch {
	case ok:
		return nil
	case c.at == len(c.data) && c.at > start:
		return c.cut()
	}
	c.at = start
	return c.bad()
}

func (c *checker) peek() byte {
	if c.at < len(c.data) {
		return c.data[c.at]
	}
	return 0
}

func (c *checker) digits() bool {
	start := c.at
	for c.at < len(c.data) && c.data[c.at] >= '0' && c.data[c.at] <= '9' {
		c.at++
	}
	return c.at > start
}

// text reads a quoted text.
func (c *checker) text() *fault {
	for i := c.at + 1; i < len(c.data); i++ {
		switch b := c.data[i]; {
		case b == '"':
			c.at = i + 1
			return nil
		case b < 0x20:
			c.at = i
			return c.bad()
		case b == '\\':
			n, ok := escape(c.data[i:])
			if !ok && i+6 > len(c.data) {
				return c.cut()
			}
			if !ok {
				c.at = i
				return c.bad()
			}
			i += n - 1
		}
	}
	return c.cut()
}

// escape measures an escape sequence.
func escape(data []byte) (n int, ok bool) {
	if len(data) < 2 {
		return 0, false
	}
	if data[1] != 'u' {
		return 2, bytes.IndexByte([]byte(`"\/bfnrt`), data[1]) >= 0
	}
	if len(data) < 6 {
		return 0, false
	}
	for _, b := range data[2:6] {
		if _, ok := hexDigit(b); !ok {
			return 0, false
		}
	}
	return 6, true
}

func hexDigit(b byte) (rune, bool) {
	switch {
	case b >= '0' && b <= '9':
		return rune(b - '0'), true
	case b >= 'a' && b <= 'f':
		return rune(b-'a') + 10, true
	case b >= 'A' && b <= 'F':
		return rune(b-'A') + 10, true
	}
	return 0, false
}

// encoding finds texts that are not UTF-8, and takes a byte order mark away.
func encoding(data []byte) (text []byte, marked bool, wrong *fault) {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return nil, false, &fault{CodeEncoding, 0, "the file is UTF-16; save it as UTF-8"}
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		data, marked = data[3:], true
	}
	for at := 0; at < len(data); {
		if data[at] < utf8.RuneSelf {
			at++
			continue
		}
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			return nil, marked, &fault{CodeEncoding, at, "the file is not UTF-8 from here on"}
		}
		at += n
	}
	if len(data) > 1 && (data[0] == 0 || data[1] == 0) {
		return nil, marked, &fault{CodeEncoding, 0, "the file is UTF-16 or UTF-32 without a mark; save it as UTF-8"}
	}
	return data, marked, nil
}
