package stream

import (
	"bytes"
	"errors"
	"unsafe"
)

// doneMark is the payload that ends a stream, as a whole. Some engines put
// blanks behind it.
const doneMark = "[DONE]"

// rowBytes is what a row costs beside its payload. It counts against
// Request.MaxKept, or a flood of empty events would hold many times its size.
const rowBytes = int(unsafe.Sizeof(EventRow{}))

// answer turns the bytes of one connection into the answer's part of a Result.
// It touches no socket and no clock.
type answer struct {
	req Request
	res Result

	at      stamp // of the read whose bytes are being looked at
	head    headReader
	frame   framing
	parser  Parser
	payload arena
	onBody  func([]byte)     // method values, made once
	onEvent func(Event) bool // true to go on

	headDone bool
	encoded  bool // a content coding: the body is not decoded
	stream   bool // the body is an event stream
	done     bool // [DONE] arrived
	over     bool // the end is decided
}

func newAnswer(req Request) *answer {
	a := &answer{req: req}
	a.onBody = a.body
	a.onEvent = a.event
	return a
}

// finish decides the end. The first call wins; after [DONE] the end stays done,
// and what ended the wait becomes its detail.
func (a *answer) finish(kind EndKind, detail string) {
	if a.over {
		return
	}
	a.over = true
	if a.done {
		switch kind {
		case EndEOF:
			detail = ""
		case EndProtocol:
		default:
			detail = string(kind)
		}
		kind = EndDone
	}
	a.res.End, a.res.EndDetail = kind, detail
}

// broken ends the exchange for an error of the peer's making.
func (a *answer) broken(err error) {
	code := "line_too_long"
	if pe, ok := errors.AsType[*ProtocolError](err); ok {
		code = pe.Code
	}
	a.finish(EndProtocol, code)
}

// feed takes the bytes of one read, or of several TLS records of one, with the
// stamp of the last socket read.
func (a *answer) feed(b []byte, at stamp) {
	a.at = at
	if a.res.FirstByteNs == nil {
		a.res.FirstByteNs = a.readNs()
	}
	b = a.takeHead(b)
	if !a.headDone || a.over {
		return
	}
	if a.encoded {
		a.finish(EndProtocol, "content_encoding")
		return
	}
	n, err := a.frame.push(b, a.onBody)
	switch {
	case err != nil:
		a.broken(err)
	case a.frame.complete():
		a.res.CloseNs = a.readNs()
		a.keepTrailing(b[n:])
		a.finish(EndEOF, "")
	}
}

// readNs is the present read's stamp as a phase.
func (a *answer) readNs() *int64 {
	ns := a.at.readNs
	return &ns
}

// takeHead reads heads until the final one is whole and returns the bytes
// behind it.
func (a *answer) takeHead(b []byte) []byte {
	for !a.headDone && len(b) > 0 {
		n, whole, err := a.head.push(b)
		b = b[n:]
		if err == nil && whole {
			err = a.parseHead()
		}
		if err != nil {
			a.broken(err)
			return nil
		}
	}
	return b
}

func (a *answer) parseHead() error {
	h, final, err := a.head.parse()
	if err != nil || !final {
		return err
	}
	a.headDone = true
	a.res.HeadNs = a.readNs()
	a.res.HTTPStatus = &h.status
	a.res.HTTPVersion = h.version
	a.res.ContentType = h.contentType
	a.res.Framing = h.frame.kind
	a.frame = h.frame
	a.encoded = h.encoded
	a.stream = !h.encoded && isEventStream(h.contentType)
	return nil
}

// body takes decoded body bytes.
func (a *answer) body(b []byte) {
	switch {
	case a.over:
	case a.done:
		a.keepTrailing(a.parser.afterStop(b))
	case a.stream:
		a.parse(b)
	default:
		a.keepBody(b)
	}
}

func (a *answer) parse(b []byte) {
	n, err := a.parser.push(b, a.onEvent)
	switch {
	case err != nil:
		a.broken(err)
	case a.done:
		a.keepTrailing(b[n:])
	case a.kept() > a.req.MaxKept:
		a.finish(EndProtocol, "kept_limit")
	}
}

// kept is the size of what the event stream holds, bytes.
func (a *answer) kept() int {
	return a.payload.size + a.parser.pending.size + rowBytes*len(a.res.Events)
}

func (a *answer) event(ev Event) bool {
	a.res.Events = append(a.res.Events, EventRow{
		Seq:          int64(len(a.res.Events)),
		ReadSeq:      a.at.seq,
		Name:         ev.Name,
		Payload:      a.payload.keep(ev.Data),
		ReadNs:       a.at.readNs,
		ReadUnixNs:   a.at.readUnixNs,
		KernelUnixNs: a.at.kernelUnixNs,
		HasKernel:    a.at.hasKernel,
		ReadBytes:    a.at.bytes,
	})
	a.done = string(bytes.TrimRight(ev.Data, " ")) == doneMark
	return !a.done
}

func (a *answer) keepBody(b []byte) {
	n := min(len(b), a.req.MaxBody-len(a.res.Body))
	a.res.Body = append(a.res.Body, b[:n]...)
	if n < len(b) {
		a.res.BodyTruncated = true
		a.finish(EndProtocol, "body_limit")
	}
}

func (a *answer) keepTrailing(b []byte) {
	n := min(len(b), a.req.MaxBody-len(a.res.Trailing))
	a.res.Trailing = append(a.res.Trailing, b[:n]...)
	if n < len(b) {
		a.res.TrailingTruncated = true
		a.finish(EndProtocol, "trailing_limit")
	}
}

// closed takes the server's orderly close, ns after t0.
func (a *answer) closed(ns int64) {
	if a.over {
		return
	}
	a.res.CloseNs = &ns
	switch {
	case a.res.FirstByteNs == nil:
		a.finish(EndShortBody, "no_response")
	case !a.headDone:
		a.finish(EndShortBody, "head")
	case a.frame.kind == FramingClose:
		a.finish(EndEOF, "")
	default:
		a.finish(EndShortBody, string(a.frame.kind))
	}
}

// phase names what the exchange waits for, for the detail of a timeout.
func (a *answer) phase() string {
	switch {
	case a.res.FirstByteNs == nil:
		return "first_byte"
	case !a.headDone:
		return "head"
	}
	return "body"
}

// complete fills what is known only at the end.
func (a *answer) complete() {
	a.res.Head = a.head.raw[a.head.from:]
	if a.head.from > 0 {
		a.res.Interim = a.head.raw[:a.head.from]
	}
	if a.stream {
		a.res.Tail = a.parser.Tail()
	}
}
