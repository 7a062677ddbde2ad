package simengine

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"strings"
	"time"
)

// wireFaults change the HTTP exchange around a stream, or what happens in its
// place.
var wireFaults = []FaultKind{
	{Name: "burst", Cases: "A31", edit: func(s *script, _ int64) { s.form.burst = true },
		Description: "all events are held back until the last output is due, then come at once"},
	{Name: "gzip", Cases: "A30", edit: gzipBody,
		Description: "the stream is compressed although nobody offered to read that"},
	{Name: "wrong_type", Cases: "A32", edit: func(s *script, _ int64) {
		s.form.head = strings.Replace(streamHead, "text/event-stream", "text/plain", 1)
	}, Description: "the events come as text/plain"},
	{Name: "http_1_0", Cases: "B07", edit: func(s *script, _ int64) {
		s.form.head = "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
		s.form.body, s.form.end = func(text string) []byte { return []byte(text) }, ""
	}, Description: "the answer is HTTP/1.0, its body ends with the connection"},
	{Name: "http2_preface", Cases: "B07", seize: say("\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80\x00\x04\x00\x01\x00\x00\x00\x05\x00\xff\xff\xff"),
		Description: "the server speaks HTTP/2 to a request of HTTP/1.1"},
	{Name: "interim_answer", edit: func(s *script, _ int64) {
		s.form.head = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + streamHead
	}, Description: "an interim answer of status 103 comes first"},
	{Name: "slow_head", Default: 4, edit: func(s *script, n int64) { s.form.headPause = time.Duration(n) * time.Millisecond },
		Description: "the head of the answer comes byte by byte, N ms apart"},
	{Name: "endless_head", seize: func(int64) talk { return endlessHead },
		Description: "the head of the answer never ends"},
	{Name: "no_answer", Cases: "B04", seize: func(int64) talk { return silence },
		Description: "not a byte comes, the connection stays open"},
	{Name: "close_unanswered", Cases: "B02", seize: say(""),
		Description: "the request is read, then the connection is closed without a byte"},
	{Name: "reset_unanswered", Cases: "B19", seize: func(int64) talk { return func(context.Context, net.Conn) error { return errReset } },
		Description: "the request is read, then the connection is reset without a byte"},
	{Name: "early_answer", early: "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{\"error\":\"early\"}",
		Description: "status 503 comes before the request's body is read, then the connection is closed"},
}

// say sends bytes and closes.
func say(text string) func(int64) talk {
	return func(int64) talk {
		return func(_ context.Context, conn net.Conn) error {
			_, err := io.WriteString(conn, text)
			return err
		}
	}
}

// silence waits until the client leaves.
func silence(ctx context.Context, _ net.Conn) error {
	<-ctx.Done()
	return ctx.Err()
}

// endlessHead sends header lines until the client leaves.
func endlessHead(_ context.Context, conn net.Conn) error {
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n"); err != nil {
		return err
	}
	line := "X-Filler: " + strings.Repeat("x", 4096) + "\r\n"
	for {
		if _, err := io.WriteString(conn, line); err != nil {
			return err
		}
	}
}

// gzipBody compresses the body, event by event.
func gzipBody(s *script, _ int64) {
	s.form.head = strings.Replace(streamHead, "\r\n", "\r\nContent-Encoding: gzip\r\n", 1)
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	s.form.body = func(text string) []byte {
		packed.Reset()
		_, _ = io.WriteString(zip, text) // a buffer takes everything
		_ = zip.Flush()
		return httpChunk(packed.String())
	}
}
