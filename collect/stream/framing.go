package stream

import "net/http"

// Framing says how the end of an answer's body is known.
type Framing string

// Framings of RFC 9112 section 6.3. A close-delimited body cannot show that it
// was cut.
const (
	FramingChunked Framing = "chunked"
	FramingLength  Framing = "length"
	FramingClose   Framing = "close"
	FramingNone    Framing = "none"
)

// framing finds the body of an answer in the bytes behind its head.
type framing struct {
	kind   Framing
	left   int64 // FramingLength: body bytes to come
	chunks Dechunker
}

func framingOf(resp *http.Response) framing {
	switch {
	case resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified:
		return framing{kind: FramingNone}
	case len(resp.TransferEncoding) > 0: // ReadResponse accepts chunked only
		return framing{kind: FramingChunked}
	case resp.ContentLength >= 0:
		return framing{kind: FramingLength, left: resp.ContentLength}
	}
	return framing{kind: FramingClose}
}

// push hands the body bytes of p to out, as parts of p. It returns the number
// of bytes read, less than len(p) when the body ended inside p, and a
// *ProtocolError for broken framing.
func (f *framing) push(p []byte, out func([]byte)) (int, error) {
	switch f.kind {
	case FramingChunked:
		return f.chunks.Push(p, out)
	case FramingLength:
		p = p[:min(f.left, int64(len(p)))]
		f.left -= int64(len(p))
	case FramingNone:
		p = nil
	}
	if len(p) > 0 {
		out(p)
	}
	return len(p), nil
}

// complete reports whether the body has ended by its own framing. A body that
// ends with the connection is never complete before that.
func (f *framing) complete() bool {
	switch f.kind {
	case FramingChunked:
		return f.chunks.Done()
	case FramingClose:
		return false
	}
	return f.left == 0
}
