package selfcheck

import (
	"bytes"
	"errors"
	"fmt"
)

// An event is as long as a chunk of a usual engine, and its two numbers have a
// fixed width and place, so that a chunk is stamped and read without being
// composed or decoded.
const (
	seqDigits  = 10
	sentDigits = 19 // CLOCK_REALTIME in ns, until the year 2286
	beforeSeq  = `{"id":"chatcmpl-selfcheck","object":"chat.completion.chunk","created":0,"model":"selfcheck","seq":"`
	beforeSent = `","sent_unix_ns":"`
	afterSent  = `","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}],"usage":null}`

	seqAt      = len(beforeSeq)
	sentAt     = seqAt + seqDigits + len(beforeSent)
	payloadLen = sentAt + sentDigits + len(afterSent)
)

// Parts of an answer on the wire.
const (
	head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	// end is the last event with the end of the body.
	end = "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
)

var errForeignEvent = errors.New("an event is not one of the server's")

// chunk is one event as it goes over the connection: one HTTP chunk.
type chunk struct {
	wire      []byte
	payloadAt int
}

func newChunk() *chunk {
	const before, after = "data: ", "\n\n"
	size := fmt.Sprintf("%x\r\n", len(before)+payloadLen+len(after))
	c := &chunk{payloadAt: len(size) + len(before)}
	digits := make([]byte, seqDigits+sentDigits)
	for i := range digits {
		digits[i] = '0'
	}
	c.wire = fmt.Appendf(nil, "%s%s%s%s%s%s%s%s\r\n", size, before,
		beforeSeq, digits[:seqDigits], beforeSent, digits[seqDigits:], afterSent, after)
	return c
}

// number sets the event's sequence number.
func (c *chunk) number(seq int64) { putDigits(c.wire[c.payloadAt+seqAt:][:seqDigits], seq) }

// stamp sets the event's send time. It comes last before the write.
func (c *chunk) stamp(unixNs int64) { putDigits(c.wire[c.payloadAt+sentAt:][:sentDigits], unixNs) }

// readChunk returns what number and stamp have set.
func readChunk(payload []byte) (seq, sentUnixNs int64, err error) {
	if len(payload) != payloadLen || !bytes.HasPrefix(payload, []byte(beforeSeq)) {
		return 0, 0, errForeignEvent
	}
	seq, ok := digits(payload[seqAt:][:seqDigits])
	sentUnixNs, okSent := digits(payload[sentAt:][:sentDigits])
	if !ok || !okSent {
		return 0, 0, errForeignEvent
	}
	return seq, sentUnixNs, nil
}

// putDigits writes v >= 0 in decimal with leading zeros.
func putDigits(b []byte, v int64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + v%10)
		v /= 10
	}
}

// digits reads what putDigits wrote.
func digits(b []byte) (v int64, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	return v, true
}
