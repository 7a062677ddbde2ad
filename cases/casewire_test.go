package cases

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// defaultHead is the head of an answer that does not bring its own. Each read
// of its body is one chunk.
const defaultHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"

// wireBuilder reads a script line by line.
type wireBuilder struct {
	eol    string
	framed bool       // the reads bring their own HTTP framing
	body   []wireRead // the first may be a head
	end    string
	endAt  time.Duration
}

var repeated = regexp.MustCompile(`^([0-9]+)x([0-9a-zµ.]+)$`)

// line takes one line of a script: a time, how often, a verb, text.
func (b *wireBuilder) line(line string) error {
	if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	first, rest, _ := strings.Cut(line, " ")
	switch first {
	case "framed":
		b.framed = true
		return nil
	case "eol":
		return b.lineEnd(rest)
	case "same":
		if len(b.body) == 0 {
			return fmt.Errorf("there is no read before")
		}
		data, err := b.text(rest)
		last := &b.body[len(b.body)-1]
		last.data = append(last.data, data...)
		return err
	}
	at, err := time.ParseDuration(first)
	if err != nil {
		return fmt.Errorf("want a time: %w", err)
	}
	if verb := rest; verb == "close" || verb == "cut" || verb == "reset" || verb == "hold" {
		b.end, b.endAt = verb, at
		return nil
	}
	return b.read(at, rest)
}

// read adds one read, or a row of equal ones.
func (b *wireBuilder) read(at time.Duration, rest string) error {
	count, step := 1, time.Duration(0)
	if word, after, _ := strings.Cut(rest, " "); repeated.MatchString(word) {
		parts := repeated.FindStringSubmatch(word)
		var err error
		if step, err = time.ParseDuration(parts[2]); err != nil {
			return err
		}
		if count, err = strconv.Atoi(parts[1]); err != nil {
			return err
		}
		rest = after
	}
	if text, ok := strings.CutPrefix(rest, "bytes "); ok {
		data := []byte(text + b.eol + b.eol)
		for i := range data { // the last one at the time of the line
			b.add(at-time.Duration(len(data)-1-i)*time.Microsecond, data[i:i+1])
		}
		return nil
	}
	data, err := b.text(rest)
	if err != nil {
		return err
	}
	for i := range count {
		b.add(at+time.Duration(i)*step, bytes.Clone(data))
	}
	return nil
}

func (b *wireBuilder) add(at time.Duration, data []byte) {
	b.body = append(b.body, wireRead{at: at, data: data})
}

// text is what a line brings: a line with its blank line, or as its verb says.
func (b *wireBuilder) text(rest string) ([]byte, error) {
	verb, text, _ := strings.Cut(rest, " ")
	switch verb {
	case "line":
		return []byte(text + b.eol), nil
	case "part":
		return []byte(text), nil
	case "raw":
		exact, err := strconv.Unquote(text)
		return []byte(exact), err
	}
	return []byte(rest + b.eol + b.eol), nil
}

func (b *wireBuilder) lineEnd(name string) error {
	ends := map[string]string{"lf": "\n", "crlf": "\r\n", "cr": "\r"}
	eol, ok := ends[name]
	if !ok {
		return fmt.Errorf("unknown line end")
	}
	b.eol = eol
	return nil
}

// finish puts head and framing around the body.
func (b *wireBuilder) finish() *wire {
	w := &wire{end: b.end, endAt: b.endAt}
	reads := b.body
	head := wireRead{at: time.Millisecond, data: []byte(defaultHead)}
	if len(reads) > 0 && bytes.HasPrefix(reads[0].data, []byte("HTTP/")) {
		head, reads = reads[0], reads[1:]
	}
	w.reads = append(w.reads, head)
	chunked := !b.framed && bytes.Contains(head.data, []byte("Transfer-Encoding: chunked"))
	for _, r := range reads {
		if chunked {
			r.data = fmt.Appendf(nil, "%x\r\n%s\r\n", len(r.data), r.data)
		}
		w.reads = append(w.reads, r)
	}
	if w.end == "" {
		w.end, w.endAt = "close", w.reads[len(w.reads)-1].at
	}
	if chunked && w.end == "close" {
		w.reads = append(w.reads, wireRead{at: w.endAt, data: []byte("0\r\n\r\n")})
	}
	return w
}
