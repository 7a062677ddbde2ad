package stream

import (
	"bytes"
	"errors"
)

// MaxLine is the longest line of an event stream, in bytes without its line
// end. A longer one ends the stream with ErrLineTooLong.
const MaxLine = 64 << 20

// ErrLineTooLong says that a line of an event stream exceeds MaxLine.
var ErrLineTooLong = errors.New("event stream line longer than 64 MiB")

// maxJoined is the largest join buffer a Parser keeps between events, bytes.
const maxJoined = 1 << 20

// byteOrderMark is UTF-8's, which a stream may start with.
var byteOrderMark = []byte("\xEF\xBB\xBF")

// Event is one dispatched server-sent event.
type Event struct {
	Name string // value of the last event field, "" when there was none
	Data []byte // data lines joined with LF; valid only during the call that gets it
}

// Parser reads an event stream by the rules of the WHATWG HTML standard,
// section "Server-sent events", over any split of its bytes. Bytes are never
// decoded as text. A line ends at LF, CRLF or CR; a CR ends its line at once,
// so that an event never waits for a byte that may not come. The id and retry
// fields are read and have no effect: nothing here reconnects.
// The zero value is ready to use.
type Parser struct {
	pending chain  // raw bytes since the last blank line, before the present push
	joined  []byte // an event that arrived in several pushes, made whole
	name    string // last event name, so that a repeated one costs nothing
	lineLen int    // bytes of the unfinished line
	afterCR bool   // the last byte was a CR: an LF that follows belongs to it
	started bool   // the first blank line is past: no byte order mark can follow
	limit   int    // longest line; 0 means MaxLine
	err     error
}

// Push reads the next bytes of the stream and calls emit for each event they
// complete. It returns ErrLineTooLong at the first byte past MaxLine, and again
// on every later call. p is not kept and not changed.
func (p *Parser) Push(b []byte, emit func(Event)) error {
	_, err := p.push(b, func(ev Event) bool { emit(ev); return true })
	return err
}

// Tail returns a copy of the bytes after the last blank line: an event that
// was never terminated, and so is not one. Nil when there are none.
func (p *Parser) Tail() []byte {
	if p.pending.size == 0 {
		return nil
	}
	return p.pending.appendTo(make([]byte, 0, p.pending.size))
}

// push is Push that stops behind the event for which emit returns false. It
// returns the number of bytes read.
func (p *Parser) push(b []byte, emit func(Event) bool) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	at, start := p.skipLF(b)
	ends := lineEnds{b: b, lf: -1, cr: -1}
	for at < len(b) {
		i := ends.next(at)
		if room := p.maxLine() - p.lineLen; i-at > room {
			p.pending.add(b[start : at+room])
			p.err = ErrLineTooLong
			return at + room, p.err
		}
		p.lineLen += i - at
		if i == len(b) {
			break
		}
		at = p.pastLineEnd(b, i)
		blank := p.lineLen == 0
		p.lineLen = 0
		if !blank {
			continue
		}
		ev, ok := p.dispatch(b[start:i])
		start = at
		if ok && !emit(ev) {
			return at, nil
		}
	}
	p.pending.add(b[start:])
	return len(b), nil
}

// afterStop drops the LF that belongs to the blank line at which push stopped,
// when it comes first in the bytes that follow.
func (p *Parser) afterStop(b []byte) []byte {
	_, start := p.skipLF(b)
	return b[start:]
}

// skipLF handles a CRLF split over two pushes: at is the first byte to look
// at, start the first to keep. The LF of a line inside an event stays part of
// its raw bytes; that of the blank line belongs to the event before.
func (p *Parser) skipLF(b []byte) (at, start int) {
	if !p.afterCR || len(b) == 0 {
		return 0, 0
	}
	p.afterCR = false
	if b[0] != '\n' {
		return 0, 0
	}
	if p.pending.size == 0 {
		return 1, 1
	}
	return 1, 0
}

// pastLineEnd returns the index behind the line end at b[i].
func (p *Parser) pastLineEnd(b []byte, i int) int {
	if b[i] == '\n' {
		return i + 1
	}
	if i+1 == len(b) {
		p.afterCR = true
		return i + 1
	}
	if b[i+1] == '\n' {
		return i + 2
	}
	return i + 1
}

func (p *Parser) maxLine() int {
	if p.limit > 0 {
		return p.limit
	}
	return MaxLine
}

// dispatch ends the event whose last bytes are block. It reports false when
// there is none: by the standard, an event without a data field is dropped.
func (p *Parser) dispatch(block []byte) (Event, bool) {
	if cap(p.joined) > maxJoined {
		p.joined = nil
	}
	owned := p.pending.size > 0
	if owned {
		p.pending.add(block)
		if cap(p.joined) < p.pending.size {
			p.joined = make([]byte, 0, p.pending.size)
		}
		block = p.pending.appendTo(p.joined[:0])
		p.pending.reset()
	}
	if !p.started {
		p.started = true
		block = bytes.TrimPrefix(block, byteOrderMark)
	}
	name, data, lines := fields(block)
	if lines == 0 {
		return Event{}, false
	}
	ev := Event{Data: data}
	if len(name) > 0 {
		if string(name) != p.name {
			p.name = string(name)
		}
		ev.Name = p.name
	}
	if lines > 1 {
		ev.Data = p.join(block, owned)
	}
	return ev, true
}

// fields reads the lines of one event: the last name, the first data value and
// the number of data lines. Empty lines do not matter: they are the LF of a
// CRLF, or a first line that held a byte order mark only.
func fields(block []byte) (name, data []byte, lines int) {
	ends := lineEnds{b: block, lf: -1, cr: -1}
	for at := 0; at < len(block); {
		i := ends.next(at)
		line := block[at:i]
		at = i + 1
		if v, ok := field(line, "data"); ok {
			if lines == 0 {
				data = v
			}
			lines++
		} else if v, ok := field(line, "event"); ok {
			name = v
		}
	}
	return name, data, lines
}

// join returns the data lines of block with LF between them. When the parser
// owns the block it is compacted in place: a value is always shorter than its
// line. The caller's bytes are copied instead.
func (p *Parser) join(block []byte, owned bool) []byte {
	out := block[:0]
	if !owned {
		if cap(p.joined) < len(block) {
			p.joined = make([]byte, 0, len(block))
		}
		out = p.joined[:0]
	}
	ends := lineEnds{b: block, lf: -1, cr: -1}
	first := true
	for at := 0; at < len(block); {
		i := ends.next(at)
		line := block[at:i]
		at = i + 1
		v, ok := field(line, "data")
		if !ok {
			continue
		}
		if !first {
			out = append(out, '\n')
		}
		first = false
		out = append(out, v...)
	}
	return out
}

// field returns the value of line when its field is name: the text behind the
// first colon without one leading space, or nothing when there is no colon.
func field(line []byte, name string) ([]byte, bool) {
	if len(line) < len(name) || string(line[:len(name)]) != name {
		return nil, false
	}
	v := line[len(name):]
	if len(v) == 0 {
		return v, true
	}
	if v[0] != ':' {
		return nil, false
	}
	v = v[1:]
	if len(v) > 0 && v[0] == ' ' {
		v = v[1:]
	}
	return v, true
}

// lineEnds finds line ends from left to right, looking at each byte at most
// twice, also in a stream that has only one kind of them. Start with lf and cr
// at -1.
type lineEnds struct {
	b      []byte
	lf, cr int // next LF and CR, len(b) when there is none
}

// next returns the index of the first CR or LF at or behind at, len(b) when
// there is none.
func (e *lineEnds) next(at int) int {
	if e.lf < at {
		e.lf = indexFrom(e.b, at, '\n')
	}
	if e.cr < at {
		e.cr = indexFrom(e.b, at, '\r')
	}
	return min(e.lf, e.cr)
}

func indexFrom(b []byte, at int, c byte) int {
	if i := bytes.IndexByte(b[at:], c); i >= 0 {
		return at + i
	}
	return len(b)
}
