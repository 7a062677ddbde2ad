package stream

import "time"

// EndKind says how an exchange ended. The set is closed.
type EndKind string

// Ends of an exchange. EndDetail adds a short code that holds nothing private.
// Where it is a phase it names what was waited for: connect, tls, first_byte,
// head or body.
const (
	// EndDone: the event [DONE] arrived. The detail is empty when the body then
	// ended by its framing, else what ended the wait: grace_expired, another
	// EndKind, or a protocol code.
	EndDone EndKind = "done"
	// EndEOF: the answer is whole by its own framing, without [DONE].
	EndEOF EndKind = "eof"
	// EndShortBody: the server closed the connection in order before the answer
	// was whole. The detail is no_response, head, tls_record, or the framing cut
	// short.
	EndShortBody EndKind = "short_body"
	// EndConnectionReset: the connection broke. The detail names the error.
	EndConnectionReset EndKind = "connection_reset"
	// EndConnectFailed: no connection. The detail names the error; bad_url and
	// bad_token mean that nothing was tried.
	EndConnectFailed EndKind = "connect_failed"
	// EndTLSFailed: no TLS session on the connection.
	EndTLSFailed EndKind = "tls_failed"
	// EndIdleTimeout: no byte for Request.IdleLimit. The detail is the phase.
	EndIdleTimeout EndKind = "idle_timeout"
	// EndOuterTimeout: the context ended by its deadline or ErrOuterTimeout. The
	// detail is the phase.
	EndOuterTimeout EndKind = "outer_timeout"
	// EndInterrupted: the context ended for any other cause. The detail is the
	// phase.
	EndInterrupted EndKind = "interrupted"
	// EndProtocol: the answer breaks HTTP or a bound of this package. The detail
	// is the code.
	EndProtocol EndKind = "protocol"
)

// EventRow is one event and the clock readings of the socket read that brought
// the last byte of its blank line.
type EventRow struct {
	Seq          int64  // 0-based within the exchange
	ReadSeq      int64  // 0-based number of the socket read, those of the TLS handshake included
	Name         string // "" when the event has none
	Payload      []byte // data lines joined with LF, bytes as sent
	ReadNs       int64  // monotonic, after t0, when the read returned
	ReadUnixNs   int64  // wall clock at the same instant
	KernelUnixNs int64  // kernel's receive time of the read's last packet; only when HasKernel
	HasKernel    bool   // false when the read carried no kernel stamp
	ReadBytes    int64  // bytes the read returned, TLS framing included
}

// Kernel returns the kernel stamp, nil when there is none.
func (e *EventRow) Kernel() *int64 {
	if !e.HasKernel {
		return nil
	}
	return &e.KernelUnixNs
}

// Result is one exchange, raw facts only. Phases are ns after T0 on the
// monotonic clock, nil when not reached; those set by a read carry its read
// stamp, not the kernel's.
type Result struct {
	T0       time.Time // immediately before the dial; carries the monotonic reading
	T0UnixNs int64     // wall clock of the same reading

	DNSNs       *int64 // name resolved; nil for an address
	ConnectNs   *int64 // TCP connected
	TLSNs       *int64 // TLS handshake over; nil for http
	WroteNs     *int64 // last request byte handed to the kernel
	FirstByteNs *int64 // first byte of the answer
	HeadNs      *int64 // last byte of the final head
	LastByteNs  *int64 // last byte received
	CloseNs     *int64 // end of the body: by its framing, or the server's close
	EndNs       *int64 // the exchange is over and its connection closed

	HTTPStatus  *int64  // of the final head
	HTTPVersion string  // such as HTTP/1.1
	ContentType string  // as sent
	Framing     Framing // of the body; "" without a head
	Head        []byte  // the final head as sent; what came of it when it is not whole
	Interim     []byte  // 1xx heads before it, as sent

	End       EndKind
	EndDetail string

	BytesSent      int64  // request bytes given to the connection, above TLS
	BodyWriteError string // why the request was not sent whole: reset, broken_pipe, or unfinished when our own close ended it; "" when it was
	BytesReceived  int64  // bytes of all socket reads, TLS framing included
	Reads          int64  // socket reads that brought bytes
	StampedReads   int64  // those with a kernel stamp

	Events            []EventRow
	Tail              []byte // event stream: bytes of an event never terminated
	Trailing          []byte // body bytes after [DONE], and bytes after the end of the answer
	TrailingTruncated bool   // more came than Request.MaxBody
	Body              []byte // body that is not an event stream
	BodyTruncated     bool   // more came than Request.MaxBody
}
