package stream

import (
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const body3 = "data: a\n\ndata: b\n\ndata: [DONE]\n\n"

var want3 = []string{"a", "b", "[DONE]"}

func TestDoReadsEveryFraming(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		framing      Framing
		version      string
	}{
		{"chunked", sse(body3), FramingChunked, "HTTP/1.1"},
		{"chunked by the byte", headOf("Transfer-Encoding: chunked") + string(chunked([]byte(body3), 1)), FramingChunked, "HTTP/1.1"},
		{"length", whole("200 OK", "text/event-stream", body3), FramingLength, "HTTP/1.1"},
		{"until close", headOf() + body3, FramingClose, "HTTP/1.1"},
		{"HTTP/1.0 until close", strings.Replace(headOf(), "1.1", "1.0", 1) + body3, FramingClose, "HTTP/1.0"},
		{"head with bare LF", strings.ReplaceAll(headOf(), "\r", "") + body3, FramingClose, "HTTP/1.1"},
		{"upper case type", strings.Replace(sse(body3), "text/event-stream", "Text/Event-Stream", 1), FramingChunked, "HTTP/1.1"},
		{"bad type parameter", strings.Replace(sse(body3), "charset=utf-8", "charset", 1), FramingChunked, "HTTP/1.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := do(t, Request{URL: answers(t, tt.answer).URL})
			wantEnd(t, res, EndDone, "")
			wantStatus(t, res, 200)
			if diff := cmp.Diff(want3, payloads(res)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if res.Framing != tt.framing || res.HTTPVersion != tt.version {
				t.Errorf("framing %s, version %s", res.Framing, res.HTTPVersion)
			}
			if res.WroteNs == nil || res.CloseNs == nil || res.ConnectNs == nil || res.DNSNs != nil || res.TLSNs != nil {
				t.Errorf("phases: wrote %v close %v connect %v dns %v tls %v", res.WroteNs, res.CloseNs, res.ConnectNs, res.DNSNs, res.TLSNs)
			}
			if res.Tail != nil || res.Trailing != nil || res.Body != nil {
				t.Errorf("tail %q, trailing %q, body %q; want none", res.Tail, res.Trailing, res.Body)
			}
		})
	}
}

func TestDoSendsOnePlainRequest(t *testing.T) {
	s := answers(t, sse(body3))
	body := []byte(`{"model":"m","stream":true}`)
	res := do(t, Request{URL: s.URL + "?x=1", Body: body, Token: "secret-1"})
	wantEnd(t, res, EndDone, "")
	want := []http.Header{{
		"Host":            {s.Addr},
		"User-Agent":      {"assay"},
		"Content-Type":    {"application/json"},
		"Content-Length":  {"27"},
		"Accept":          {"text/event-stream"},
		"Accept-Encoding": {"identity"},
		"Authorization":   {"Bearer secret-1"},
	}}
	header, bodies := s.requests()
	if diff := cmp.Diff(want, header); diff != "" {
		t.Errorf("header fields (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{string(body)}, bodies); diff != "" {
		t.Errorf("bodies (-want +got):\n%s", diff)
	}
	if res.BytesSent <= int64(len(body)) {
		t.Errorf("%d bytes sent", res.BytesSent)
	}
}

func TestDoUsesNoProxy(t *testing.T) {
	proxy := answers(t, sse(body3))
	t.Setenv("HTTP_PROXY", "http://"+proxy.Addr)
	t.Setenv("http_proxy", "http://"+proxy.Addr)
	t.Setenv("ALL_PROXY", "http://"+proxy.Addr)
	s := answers(t, sse(body3))
	wantEnd(t, do(t, Request{URL: s.URL}), EndDone, "")
	if proxy.conns.Load() != 0 || s.conns.Load() != 1 {
		t.Errorf("%d connections to the proxy, %d to the server", proxy.conns.Load(), s.conns.Load())
	}
}

func TestDoMakesOneAttempt(t *testing.T) {
	other := answers(t, sse(body3))
	for _, tt := range []struct {
		name, answer string
		end          EndKind
		detail       string
		status       int64
	}{
		{"close without answer", "", EndShortBody, "no_response", 0},
		{"close inside the head", "HTTP/1.1 200 OK\r\nContent-", EndShortBody, "head", 0},
		{"429 with Retry-After", whole("429 Too Many Requests", "application/json", `{"error":"x"}`, "Retry-After: 0"), EndEOF, "", 429},
		{"503 with Retry-After", whole("503 Service Unavailable", "text/plain", "busy", "Retry-After: 0"), EndEOF, "", 503},
		{"307 to another host", whole("307 Temporary Redirect", "text/plain", "", "Location: "+other.URL), EndEOF, "", 307},
		{"302 to another host", whole("302 Found", "text/html", "x", "Location: "+other.URL), EndEOF, "", 302},
		{"401", whole("401 Unauthorized", "text/plain", "", "WWW-Authenticate: Basic realm=x"), EndEOF, "", 401},
		{"408 asks for another try", whole("408 Request Timeout", "text/plain", "", "Connection: close"), EndEOF, "", 408},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := answers(t, tt.answer)
			res := do(t, Request{URL: s.URL, Token: "secret-1"})
			wantEnd(t, res, tt.end, tt.detail)
			wantStatus(t, res, tt.status)
			if n := s.conns.Load(); n != 1 {
				t.Errorf("%d connections, want 1", n)
			}
			if n := other.conns.Load(); n != 0 {
				t.Errorf("%d connections to the other host, want 0", n)
			}
			if strings.HasSuffix(tt.name, "Retry-After") {
				if v, ok := HeadField(res.Head, "retry-after"); !ok || v != "0" {
					t.Errorf("Retry-After %q %v in the kept head", v, ok)
				}
			}
		})
	}
}

func TestDoKeepsABodyThatIsNoEventStream(t *testing.T) {
	for _, tt := range []struct{ name, contentType, body string }{
		{"HTML", "text/html", "<html>data: a\n\n</html>"},
		{"plain JSON", "application/json", `{"choices":[{"message":{"content":"x"}}]}`},
		{"events of another type", "text/plain", body3},
		{"no type", "", body3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := do(t, Request{URL: answers(t, whole("200 OK", tt.contentType, tt.body)).URL})
			wantEnd(t, res, EndEOF, "")
			if string(res.Body) != tt.body || len(res.Events) != 0 || res.ContentType != tt.contentType {
				t.Errorf("body %q, %d events, type %q", res.Body, len(res.Events), res.ContentType)
			}
		})
	}
}

func TestDoReadsAnEventStreamWhateverTheStatus(t *testing.T) {
	answer := strings.Replace(sse("data: {\"error\":\"x\"}\n\n"), "200 OK", "400 Bad Request", 1)
	res := do(t, Request{URL: answers(t, answer).URL})
	wantEnd(t, res, EndEOF, "")
	wantStatus(t, res, 400)
	if diff := cmp.Diff([]string{`{"error":"x"}`}, payloads(res)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestDoBoundsWhatItKeeps(t *testing.T) {
	t.Run("body", func(t *testing.T) {
		res := do(t, Request{URL: answers(t, whole("200 OK", "text/html", "0123456789")).URL, MaxBody: 4})
		wantEnd(t, res, EndProtocol, "body_limit")
		if string(res.Body) != "0123" || !res.BodyTruncated {
			t.Errorf("body %q, truncated %v", res.Body, res.BodyTruncated)
		}
	})
	t.Run("body that fits", func(t *testing.T) {
		res := do(t, Request{URL: answers(t, whole("200 OK", "text/html", "0123")).URL, MaxBody: 4})
		wantEnd(t, res, EndEOF, "")
		if string(res.Body) != "0123" || res.BodyTruncated {
			t.Errorf("body %q, truncated %v", res.Body, res.BodyTruncated)
		}
	})
	t.Run("trailing", func(t *testing.T) {
		res := do(t, Request{URL: answers(t, sse("data: [DONE]\n\n0123456789")).URL, MaxBody: 4})
		wantEnd(t, res, EndDone, "trailing_limit")
		if string(res.Trailing) != "0123" || !res.TrailingTruncated {
			t.Errorf("trailing %q, truncated %v", res.Trailing, res.TrailingTruncated)
		}
	})
	t.Run("events", func(t *testing.T) {
		body := strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n\n", 1000)
		res := do(t, Request{URL: answersAndWaits(t, sse(body)).URL, MaxKept: 100_000})
		wantEnd(t, res, EndProtocol, "kept_limit")
		if n := len(res.Events); n < 50 || n > 200 {
			t.Errorf("%d events kept, want about 90", n)
		}
	})
	t.Run("empty events", func(t *testing.T) {
		res := do(t, Request{URL: answersAndWaits(t, sse(strings.Repeat("data\n\n", 50_000))).URL, MaxKept: 100_000})
		wantEnd(t, res, EndProtocol, "kept_limit")
	})
	t.Run("unterminated event", func(t *testing.T) {
		res := do(t, Request{URL: answersAndWaits(t, sse(strings.Repeat(": c\n", 50_000))).URL, MaxKept: 100_000})
		wantEnd(t, res, EndProtocol, "kept_limit")
		if len(res.Tail) < 100_000 {
			t.Errorf("%d bytes of tail kept", len(res.Tail))
		}
	})
}

func TestDoRefusesWhatBreaksHTTP(t *testing.T) {
	endless := "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Filler: "+strings.Repeat("x", 90)+"\r\n", 800)
	for _, tt := range []struct {
		name, answer, detail string
		status               int64
	}{
		{"gzip", whole("200 OK", "text/event-stream", "\x1f\x8b\x08", "Content-Encoding: gzip"), "content_encoding", 200},
		{"two codings", whole("200 OK", "text/event-stream", "x", "Content-Encoding: identity, br"), "content_encoding", 200},
		{"endless head", endless, "head_too_large", 0},
		{"endless line", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 70_000), "head_too_large", 0},
		{"endless interim heads", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 3000), "head_too_large", 0},
		{"not HTTP", "SSH-2.0-x\r\n\r\n", "malformed_head", 0},
		{"HTTP/2 frames", "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\xff\xff\xff", "malformed_head", 0},
		{"blank line first", "\r\nHTTP/1.1 200 OK\r\n\r\n", "malformed_head", 0},
		{"HTTP/2 answer", "HTTP/2.0 200 OK\r\n\r\n", "http_version", 0},
		{"switched protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "protocol_switched", 0},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", "malformed_head", 0},
		{"unknown transfer coding", headOf("Transfer-Encoding: gzip, chunked"), "malformed_head", 0},
		{"bad chunk", headOf("Transfer-Encoding: chunked") + "zz\r\n", "chunk_size", 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := do(t, Request{URL: answersAndWaits(t, tt.answer).URL})
			wantEnd(t, res, EndProtocol, tt.detail)
			wantStatus(t, res, tt.status)
			if len(res.Head)+len(res.Interim) == 0 {
				t.Error("nothing of the head is kept")
			}
			if len(res.Events) != 0 {
				t.Errorf("%d events", len(res.Events))
			}
		})
	}
}

func TestDoKeepsEventsBeforeBrokenFraming(t *testing.T) {
	answer := headOf("Transfer-Encoding: chunked") + "9\r\ndata: a\n\n\r\nxyz\r\n"
	res := do(t, Request{URL: answersAndWaits(t, answer).URL})
	wantEnd(t, res, EndProtocol, "chunk_size")
	if diff := cmp.Diff([]string{"a"}, payloads(res)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestDoSkipsInterimHeads(t *testing.T) {
	interim := "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
	final := headOf("Transfer-Encoding: chunked")
	for name, pieces := range map[string][]string{
		"in one segment":    {interim + sse(body3)},
		"in three segments": {interim[:30], interim[30:], sse(body3)},
	} {
		t.Run(name, func(t *testing.T) {
			res := do(t, Request{URL: answers(t, pieces...).URL})
			wantEnd(t, res, EndDone, "")
			wantStatus(t, res, 200)
			if string(res.Interim) != interim || string(res.Head) != final {
				t.Errorf("interim %q, head %q", res.Interim, res.Head)
			}
		})
	}
}

func TestDoReadsAnswersInAnySegments(t *testing.T) {
	head := headOf("Transfer-Encoding: chunked")
	for name, pieces := range map[string][]string{
		"size line apart from data":  {head, "2", "0\r\n", body3 + "\r\n", "0\r\n\r\n"},
		"one chunk, several events":  {head + "20\r\ndata: a\n\nda", "ta: b\n\nda", "ta: [DONE]\n\n", "\r\n0\r\n\r\n"},
		"event cut in its name":      {head + "20\r\nd", "ata: a\n\ndata: b\n\ndata: [DONE]\n", "\n\r\n0\r\n\r\n"},
		"slow head":                  append(strings.Split(head, ""), "20\r\n"+body3+"\r\n0\r\n\r\n"),
		"end of the body on its own": {head + "20\r\n" + body3 + "\r\n", "0\r\n", "\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			res := do(t, Request{URL: answers(t, pieces...).URL})
			wantEnd(t, res, EndDone, "")
			if diff := cmp.Diff(want3, payloads(res)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDoEndsAtTheMarkWhenTheSocketStaysOpen(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pieces []string
	}{
		{"chunked", []string{headOf("Transfer-Encoding: chunked") + "20\r\n" + body3 + "\r\n"}},
		{"until close", []string{headOf() + body3}},
		{"inside a chunk", []string{headOf("Transfer-Encoding: chunked") + "99\r\n" + body3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := do(t, Request{URL: answersAndWaits(t, tt.pieces...).URL, DoneGrace: 30 * time.Millisecond})
			wantEnd(t, res, EndDone, "grace_expired")
			if diff := cmp.Diff(want3, payloads(res)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if res.CloseNs != nil {
				t.Error("the body has an end")
			}
		})
	}
}

func TestDoEndsAtTheMarkWhenBytesGoOn(t *testing.T) {
	s := serve(t, func(s *server, c *net.TCPConn) {
		s.readRequest(c)
		write(c, headOf()+body3)
		for {
			time.Sleep(time.Millisecond)
			if _, err := c.Write([]byte(": more\n\n")); err != nil {
				return
			}
		}
	})
	res := do(t, Request{URL: s.URL, DoneGrace: 100 * time.Millisecond})
	wantEnd(t, res, EndDone, "grace_expired")
	if len(res.Events) != 3 || !strings.HasPrefix(string(res.Trailing), ": more\n\n") {
		t.Errorf("%d events, trailing %q", len(res.Events), res.Trailing)
	}
}

func TestDoKeepsTrailingDataRaw(t *testing.T) {
	usage := "data: " + usageJSON + "\n\n"
	for _, tt := range []struct{ name, answer, trailing, detail string }{
		{"event after the mark", sse(body3 + usage), usage, ""},
		{"unterminated line after the mark", sse(body3 + "data: x"), "data: x", ""},
		{"LF of the blank line is no trailing data", sse("data: [DONE]\r\n\r\n"), "", ""},
		{"bytes behind the answer", sse(body3) + "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", ""},
		{"broken framing after the mark", headOf("Transfer-Encoding: chunked") + "20\r\n" + body3 + "\r\nzz", "", "chunk_size"},
		{"cut after the mark", headOf("Transfer-Encoding: chunked") + "30\r\n" + body3 + ": c", ": c", "short_body"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := do(t, Request{URL: answers(t, tt.answer).URL})
			wantEnd(t, res, EndDone, tt.detail)
			if string(res.Trailing) != tt.trailing {
				t.Errorf("trailing %q, want %q", res.Trailing, tt.trailing)
			}
			if n := len(res.Events); string(res.Events[n-1].Payload) != doneMark {
				t.Errorf("last event %q", res.Events[n-1].Payload)
			}
		})
	}
}

func TestDoKeepsAnUnterminatedEventRaw(t *testing.T) {
	for _, framing := range []string{headOf(), headOf("Content-Length: 23")} {
		res := do(t, Request{URL: answers(t, framing+"data: a\n\ndata: {\"usage\"").URL})
		wantEnd(t, res, EndEOF, "")
		if diff := cmp.Diff([]string{"a"}, payloads(res)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if string(res.Tail) != "data: {\"usage\"" {
			t.Errorf("tail %q", res.Tail)
		}
	}
}

func TestDoReportsBadRequestsAsData(t *testing.T) {
	for name, r := range map[string]Request{
		"bad_url":   {URL: "://"},
		"no host":   {URL: "http:///v1"},
		"scheme":    {URL: "ftp://127.0.0.1/"},
		"user":      {URL: "http://u:p@127.0.0.1:1/"},
		"bad_token": {URL: "http://127.0.0.1:1/", Token: "a\r\nX: y"},
	} {
		t.Run(name, func(t *testing.T) {
			want := "bad_url"
			if name == "bad_token" {
				want = name
			}
			wantEnd(t, do(t, r), EndConnectFailed, want)
		})
	}
}

func TestDoLeavesNoGoroutine(t *testing.T) {
	KernelStampsAvailable()
	before := runtime.NumGoroutine()
	t.Run("exchanges", func(t *testing.T) {
		s := answersAndWaits(t, headOf()+"data: a\n\n")
		for range 10 {
			wantEnd(t, do(t, Request{URL: s.URL, IdleLimit: 20 * time.Millisecond}), EndIdleTimeout, "body")
		}
	})
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}
