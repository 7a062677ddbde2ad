package stream

import (
	"bufio"
	"bytes"
	"mime"
	"net/http"
	"strings"
)

// MaxHead is the bound of all heads of one answer together, bytes.
const MaxHead = 64 << 10

// headReader collects the head of an answer, and the interim (1xx) heads
// before it, byte by byte.
type headReader struct {
	raw  []byte // all heads so far
	from int    // start of the present head in raw
}

// head is what the exchange needs of an answer's head.
type head struct {
	status      int64
	version     string
	contentType string
	encoded     bool // a Content-Encoding other than identity
	frame       framing
}

// headStart begins every head. Another beginning is another protocol, or none:
// waiting for such a head to end would make it look like a lost connection.
const headStart = "HTTP/"

// push takes bytes up to the end of a head. It returns how many it took, and
// whether they ended a head.
func (h *headReader) push(b []byte) (n int, whole bool, err error) {
	for i, c := range b {
		if len(h.raw) == MaxHead {
			return i, false, &ProtocolError{Code: "head_too_large"}
		}
		if at := len(h.raw) - h.from; at < len(headStart) && c != headStart[at] {
			h.raw = append(h.raw, b[i:min(len(b), i+MaxHead-len(h.raw))]...) // evidence
			return len(b), false, &ProtocolError{Code: "malformed_head"}
		}
		h.raw = append(h.raw, c)
		if c == '\n' && endsHead(h.raw[h.from:]) {
			return i + 1, true, nil
		}
	}
	return len(b), false, nil
}

func endsHead(raw []byte) bool {
	return bytes.HasSuffix(raw, []byte("\n\r\n")) || bytes.HasSuffix(raw, []byte("\n\n"))
}

// parse decodes the head just completed. It reports false for an interim head,
// which is skipped.
func (h *headReader) parse() (head, bool, error) {
	post := &http.Request{Method: http.MethodPost}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(h.raw[h.from:])), post)
	if err != nil {
		return head{}, false, &ProtocolError{Code: "malformed_head"}
	}
	switch {
	case resp.ProtoMajor != 1:
		return head{}, false, &ProtocolError{Code: "http_version"}
	case resp.StatusCode == http.StatusSwitchingProtocols:
		return head{}, false, &ProtocolError{Code: "protocol_switched"}
	case resp.StatusCode < 200:
		h.from = len(h.raw)
		return head{}, false, nil
	}
	return head{
		status:      int64(resp.StatusCode),
		version:     resp.Proto,
		contentType: resp.Header.Get("Content-Type"),
		encoded:     encoded(resp.Header),
		frame:       framingOf(resp),
	}, true, nil
}

// encoded reports whether any content coding but identity was applied.
func encoded(h http.Header) bool {
	for _, v := range h.Values("Content-Encoding") {
		for _, coding := range strings.Split(v, ",") {
			if c := strings.TrimSpace(coding); c != "" && !strings.EqualFold(c, "identity") {
				return true
			}
		}
	}
	return false
}

// isEventStream reports whether a Content-Type names an event stream.
func isEventStream(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil { // bad parameters do not change the type
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	return media == "text/event-stream"
}

// HeadField returns the first value of a field of a raw head, such as
// Retry-After. It reports false when the head lacks the field or is not whole.
func HeadField(head []byte, name string) (string, bool) {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), nil)
	if err != nil {
		return "", false
	}
	values := resp.Header.Values(name)
	if len(values) == 0 {
		return "", false
	}
	return values[0], true
}
