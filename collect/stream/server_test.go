package stream

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// server plays a peer over plain TCP, one handler call a connection.
type server struct {
	URL    string
	Addr   string
	conns  atomic.Int64 // connections accepted
	mu     sync.Mutex
	header []http.Header // of the requests readRequest saw
	bodies []string
}

// serve starts a server on loopback. The connection is closed when handle
// returns, and at the latest when the test ends.
func serve(t *testing.T, handle func(s *server, c *net.TCPConn)) *server {
	t.Helper()
	return serveAt(t, "127.0.0.1:0", handle)
}

func serveAt(t *testing.T, addr string, handle func(s *server, c *net.TCPConn)) *server {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skipf("listen on %s: %v", addr, err)
	}
	s := &server{URL: "http://" + l.Addr().String() + "/v1/chat/completions", Addr: l.Addr().String()}
	var wg sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			mu.Lock()
			open[c] = true
			mu.Unlock()
			wg.Go(func() {
				handle(s, c.(*net.TCPConn))
				c.Close()
				mu.Lock()
				delete(open, c)
				mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return s
}

// readRequest reads a whole request.
func (s *server) readRequest(c io.Reader) {
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	req.Header.Set("Host", req.Host)
	s.header = append(s.header, req.Header)
	s.bodies = append(s.bodies, string(body))
}

// requests returns the header fields and bodies of the requests read so far.
func (s *server) requests() ([]http.Header, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.header), slices.Clone(s.bodies)
}

// wait blocks until the peer closes.
func wait(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// answers serves text to each request, in the given pieces, and closes.
func answers(t *testing.T, pieces ...string) *server {
	t.Helper()
	return serve(t, func(s *server, c *net.TCPConn) {
		s.readRequest(c)
		write(c, pieces...)
	})
}

// answersAndWaits serves text and leaves it to the client to close.
func answersAndWaits(t *testing.T, pieces ...string) *server {
	t.Helper()
	return serve(t, func(s *server, c *net.TCPConn) {
		s.readRequest(c)
		write(c, pieces...)
		wait(c)
	})
}

// write writes pieces as segments of their own.
func write(c io.Writer, pieces ...string) {
	for i, p := range pieces {
		if i > 0 {
			time.Sleep(2 * time.Millisecond)
		}
		if _, err := io.WriteString(c, p); err != nil {
			return
		}
	}
}

// headOf is an answer's head for an event stream with further fields.
func headOf(fields ...string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n" +
		strings.Join(append(fields, ""), "\r\n") + "\r\n"
}

// sse is a whole chunked answer with an event stream.
func sse(body string) string {
	return headOf("Transfer-Encoding: chunked") + string(chunked([]byte(body), 1<<20))
}

// whole is an answer of known length that is no event stream.
func whole(status, contentType, body string, fields ...string) string {
	return "HTTP/1.1 " + status + "\r\nContent-Type: " + contentType + "\r\n" +
		strings.Join(append(fields, ""), "\r\n") + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)) + body
}

// do performs an exchange with bounds that let a hanging test end, and checks
// what holds for every result.
func do(t *testing.T, r Request) Result {
	t.Helper()
	return doWith(t, t.Context(), r)
}

func doWith(t *testing.T, ctx context.Context, r Request) Result {
	t.Helper()
	if r.Body == nil {
		r.Body = []byte(`{"stream":true}`)
	}
	if r.IdleLimit == 0 {
		r.IdleLimit = 20 * time.Second
	}
	res := Do(ctx, r)
	checkResult(t, &res)
	noneLeft(t)
	return res
}

// checkResult checks the invariants of a result.
func checkResult(t *testing.T, res *Result) {
	t.Helper()
	switch res.End {
	case EndDone, EndEOF, EndShortBody, EndConnectionReset, EndConnectFailed, EndTLSFailed,
		EndIdleTimeout, EndOuterTimeout, EndInterrupted, EndProtocol:
	default:
		t.Errorf("end %q is not in the closed set", res.End)
	}
	last := int64(0)
	for _, p := range []struct {
		name string
		ns   *int64
	}{
		{"dns", res.DNSNs}, {"connect", res.ConnectNs}, {"tls", res.TLSNs}, {"first byte", res.FirstByteNs},
		{"head", res.HeadNs}, {"close", res.CloseNs}, {"end", res.EndNs},
	} {
		if p.ns != nil && *p.ns < last {
			t.Errorf("phase %s at %d ns is before the one before it, %d ns", p.name, *p.ns, last)
		}
		if p.ns != nil {
			last = *p.ns
		}
	}
	if res.EndNs == nil || (res.LastByteNs != nil && *res.LastByteNs > *res.EndNs) {
		t.Error("the exchange has no end, or a byte after it")
	}
	if res.StampedReads > res.Reads || (res.Reads == 0) != (res.BytesReceived == 0) {
		t.Errorf("%d reads, %d stamped, %d bytes", res.Reads, res.StampedReads, res.BytesReceived)
	}
	checkRows(t, res)
}

func checkRows(t *testing.T, res *Result) {
	t.Helper()
	for i, ev := range res.Events {
		switch {
		case ev.Seq != int64(i):
			t.Errorf("event %d has seq %d", i, ev.Seq)
		case ev.ReadSeq >= res.Reads || (i > 0 && ev.ReadSeq < res.Events[i-1].ReadSeq):
			t.Errorf("event %d has read %d of %d", i, ev.ReadSeq, res.Reads)
		case ev.ReadNs < *res.HeadNs || ev.ReadNs > *res.LastByteNs:
			t.Errorf("event %d read at %d ns, head %d, last byte %d", i, ev.ReadNs, *res.HeadNs, *res.LastByteNs)
		}
	}
}

// noneLeft checks that no goroutine of an exchange is left.
func noneLeft(t *testing.T) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		stacks := string(buf[:runtime.Stack(buf, true)])
		if !strings.Contains(stacks, "stream.(*exchange)") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a goroutine is left:\n%s", stacks)
		}
	}
}

func payloads(res Result) []string {
	out := []string{}
	for _, ev := range res.Events {
		out = append(out, string(ev.Payload))
	}
	return out
}

// wantEnd checks how an exchange ended.
func wantEnd(t *testing.T, res Result, end EndKind, detail string) {
	t.Helper()
	if res.End != end || res.EndDetail != detail {
		t.Errorf("ended %s %q, want %s %q", res.End, res.EndDetail, end, detail)
	}
}

// wantStatus checks the HTTP status; 0 wants none.
func wantStatus(t *testing.T, res Result, status int64) {
	t.Helper()
	switch {
	case res.HTTPStatus == nil && status != 0:
		t.Errorf("no status, want %d", status)
	case res.HTTPStatus != nil && *res.HTTPStatus != status:
		t.Errorf("status %d, want %d", *res.HTTPStatus, status)
	}
}
