package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// short is an idle limit for tests in which it must be reached.
const short = 60 * time.Millisecond

func TestIdleLimitEndsASilentServer(t *testing.T) {
	for _, tt := range []struct {
		name, answer, phase string
		events              int
	}{
		{"no answer at all", "", "first_byte", 0},
		{"half a head", "HTTP/1.1 200 OK\r\n", "head", 0},
		{"interim head only", "HTTP/1.1 100 Continue\r\n\r\n", "head", 0},
		{"head only", headOf(), "body", 0},
		{"one event", headOf() + "data: a\n\n", "body", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := do(t, Request{URL: answersAndWaits(t, tt.answer).URL, IdleLimit: short})
			wantEnd(t, res, EndIdleTimeout, tt.phase)
			if len(res.Events) != tt.events {
				t.Errorf("%d events, want %d", len(res.Events), tt.events)
			}
			since := int64(0)
			if res.LastByteNs != nil {
				since = *res.LastByteNs
			}
			if wait := *res.EndNs - since; wait < int64(short) {
				t.Errorf("ended %d ns after the last byte, limit %d", wait, short)
			}
		})
	}
}

func TestIdleLimitEndsAServerThatDoesNotRead(t *testing.T) {
	s := serve(t, func(*server, *net.TCPConn) { <-t.Context().Done() })
	res := do(t, Request{URL: s.URL, IdleLimit: short, Body: make([]byte, 32<<20)})
	wantEnd(t, res, EndIdleTimeout, "first_byte")
	if res.WroteNs != nil || res.BodyWriteError != "unfinished" {
		t.Errorf("wrote %v, write error %q", res.WroteNs, res.BodyWriteError)
	}
}

func TestIdleLimitLetsASteadyStreamRun(t *testing.T) {
	const limit = 400 * time.Millisecond
	s := serve(t, func(s *server, c *net.TCPConn) {
		s.readRequest(c)
		write(c, headOf())
		for range 50 { // comments count as life
			time.Sleep(limit / 40)
			write(c, ": ping\n")
		}
		write(c, body3)
	})
	res := do(t, Request{URL: s.URL, IdleLimit: limit})
	wantEnd(t, res, EndDone, "")
	if *res.EndNs < int64(limit) {
		t.Errorf("over after %d ns, before the limit was ever reached", *res.EndNs)
	}
}

func TestContextTellsOuterCapFromInterrupt(t *testing.T) {
	for _, tt := range []struct {
		name string
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		want EndKind
	}{
		{"deadline", func(c context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(c, short)
		}, EndOuterTimeout},
		{"deadline with the cap as cause", func(c context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(c, short, ErrOuterTimeout)
		}, EndOuterTimeout},
		{"cancelled for the cap", func(c context.Context) (context.Context, context.CancelFunc) {
			return cancelAfter(c, ErrOuterTimeout)
		}, EndOuterTimeout},
		{"cancelled by the operator", func(c context.Context) (context.Context, context.CancelFunc) {
			return cancelAfter(c, ErrInterrupted)
		}, EndInterrupted},
		{"cancelled without a cause", func(c context.Context) (context.Context, context.CancelFunc) {
			return cancelAfter(c, nil)
		}, EndInterrupted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for phase, answer := range map[string]string{"first_byte": "", "head": "HTTP/1.1 ", "body": headOf() + "data: a\n\n"} {
				ctx, cancel := tt.ctx(t.Context())
				res := doWith(t, ctx, Request{URL: answersAndWaits(t, answer).URL})
				cancel()
				wantEnd(t, res, tt.want, phase)
			}
		})
	}
}

func cancelAfter(parent context.Context, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(short, func() { cancel(cause) })
	return ctx, func() { timer.Stop(); cancel(nil) }
}

func TestContextThatIsOverSendsNothing(t *testing.T) {
	s := answers(t, sse(body3))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrInterrupted)
	wantEnd(t, doWith(t, ctx, Request{URL: s.URL}), EndInterrupted, "connect")
	if n := s.conns.Load(); n != 0 {
		t.Errorf("%d connections, want 0", n)
	}
}

func TestContextThatEndsInTheGraceLeavesTheStreamDone(t *testing.T) {
	ctx, cancel := cancelAfter(t.Context(), ErrInterrupted)
	defer cancel()
	res := doWith(t, ctx, Request{URL: answersAndWaits(t, headOf()+body3).URL, DoneGrace: 20 * time.Second})
	wantEnd(t, res, EndDone, "interrupted")
}

func TestConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	res := do(t, Request{URL: "http://" + l.Addr().String()})
	wantEnd(t, res, EndConnectFailed, "refused")
	if res.ConnectNs != nil || res.Reads != 0 {
		t.Errorf("connected at %v, %d reads", res.ConnectNs, res.Reads)
	}
}

func TestNameThatDoesNotResolve(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	res := doWith(t, ctx, Request{URL: "http://no-such-host.invalid/"})
	if res.End == EndOuterTimeout {
		t.Skip("the resolver of this host does not answer")
	}
	if res.End != EndConnectFailed || !strings.HasPrefix(res.EndDetail, "name_") {
		t.Errorf("ended %s %q, want connect_failed name_...", res.End, res.EndDetail)
	}
}

func TestNameIsResolvedAndTimed(t *testing.T) {
	s := answers(t, sse(body3))
	res := do(t, Request{URL: strings.Replace(s.URL, "127.0.0.1", "localhost", 1)})
	if res.End == EndConnectFailed && strings.HasPrefix(res.EndDetail, "name_") {
		t.Skip("localhost does not resolve on this host")
	}
	wantEnd(t, res, EndDone, "")
	if res.DNSNs == nil {
		t.Error("the lookup has no time")
	}
}

func TestResetIsToldFromClose(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		events       int
	}{
		{"before an answer", "", 0},
		{"in the head", "HTTP/1.1 200", 0},
		{"after three events", headOf() + "data: a\n\ndata: b\n\ndata: c\n\n", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, func(s *server, c *net.TCPConn) {
				s.readRequest(c)
				write(c, tt.answer)
				time.Sleep(20 * time.Millisecond) // a reset may overtake unread data
				if err := c.SetLinger(0); err != nil {
					t.Error(err)
				}
			})
			res := do(t, Request{URL: s.URL})
			wantEnd(t, res, EndConnectionReset, "reset")
			if len(res.Events) != tt.events {
				t.Errorf("%d events, want %d", len(res.Events), tt.events)
			}
		})
	}
}

// An answer to a request that is still being sent, followed by a close, must
// not be lost: refusals of oversized requests come this way.
func TestEarlyAnswerIsNeverLost(t *testing.T) {
	answer := whole("413 Content Too Large", "application/json", `{"error":{"code":413}}`)
	for name, handle := range map[string]func(*server, *net.TCPConn){
		"nothing read": func(_ *server, c *net.TCPConn) { write(c, answer) },
		"head read": func(_ *server, c *net.TCPConn) {
			_, _ = io.ReadFull(c, make([]byte, 100))
			write(c, answer)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, handle)
			body := make([]byte, 1<<20)
			for i := range 200 {
				res := do(t, Request{URL: s.URL, Body: body})
				if res.End != EndEOF || res.HTTPStatus == nil || *res.HTTPStatus != 413 || len(res.Body) != 22 {
					t.Fatalf("try %d ended %s %q, %d bytes of body, write error %q",
						i, res.End, res.EndDetail, len(res.Body), res.BodyWriteError)
				}
			}
			if n := s.conns.Load(); n != 200 {
				t.Errorf("%d connections for 200 tries", n)
			}
		})
	}
}

func TestAnswerCutAtEveryByte(t *testing.T) {
	body := "data: " + chunkJSON(`{"content":"汉"}`) + "\n\ndata: " + usageJSON + "\n\ndata: [DONE]\n\n"
	answer := headOf("Transfer-Encoding: chunked") + string(chunked([]byte(body), 100))
	full := do(t, Request{URL: answers(t, answer).URL})
	wantEnd(t, full, EndDone, "")
	want := payloads(full)

	var n int // plain on purpose: a read orders it for the race detector
	s := serve(t, func(s *server, c *net.TCPConn) {
		s.readRequest(c)
		write(c, answer[:n])
	})
	mark := strings.LastIndex(answer, "[DONE]") + len("[DONE]\n\n")
	for n = range len(answer) {
		res := do(t, Request{URL: s.URL})
		got := payloads(res)
		if !cmp.Equal(want[:len(got)], got) {
			t.Fatalf("cut at %d: events %q are no prefix of %q", n, got, want)
		}
		switch {
		case n == 0:
			wantEnd(t, res, EndShortBody, "no_response")
		case n < strings.Index(answer, "\r\n\r\n")+4:
			wantEnd(t, res, EndShortBody, "head")
			wantStatus(t, res, 0)
		case n < mark:
			wantEnd(t, res, EndShortBody, "chunked")
		default:
			wantEnd(t, res, EndDone, "short_body")
		}
	}
}

func TestIPv6(t *testing.T) {
	s := serveAt(t, "[::1]:0", func(s *server, c *net.TCPConn) {
		s.readRequest(c)
		write(c, sse(body3))
	})
	wantEnd(t, do(t, Request{URL: s.URL}), EndDone, "")
	header, _ := s.requests()
	if host := header[0].Get("Host"); host != s.Addr {
		t.Errorf("host %q, want %q", host, s.Addr)
	}
}

// secureServer serves TLS with both HTTP versions on offer, and returns a
// client configuration that trusts it.
func secureServer(t *testing.T, h http.HandlerFunc) (url string, cfg *tls.Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // failed handshakes are wanted here
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL, &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
}

func TestTLS(t *testing.T) {
	url, cfg := secureServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, ev := range strings.SplitAfter(body3, "\n\n") {
			_, _ = io.WriteString(w, ev)
			w.(http.Flusher).Flush()
			time.Sleep(2 * time.Millisecond)
		}
	})
	res := do(t, Request{URL: url, TLS: cfg})
	wantEnd(t, res, EndDone, "")
	if diff := cmp.Diff(want3, payloads(res)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if res.HTTPVersion != "HTTP/1.1" || res.TLSNs == nil {
		t.Errorf("version %s, tls %v", res.HTTPVersion, res.TLSNs)
	}
	if ok, _ := KernelStampsAvailable(); ok && (res.StampedReads != res.Reads || !res.Events[0].HasKernel) {
		t.Errorf("%d of %d reads stamped", res.StampedReads, res.Reads)
	}
	if res.Events[0].ReadBytes <= int64(len("data: a\n\n")) {
		t.Errorf("socket read of %d bytes: not below TLS", res.Events[0].ReadBytes)
	}
}

func TestTLSFailuresAreTold(t *testing.T) {
	url, cfg := secureServer(t, func(http.ResponseWriter, *http.Request) {})
	plainText := serve(t, func(_ *server, c *net.TCPConn) {
		_, _ = io.ReadFull(c, make([]byte, 100))
		write(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		wait(c)
	})
	closes := serve(t, func(_ *server, c *net.TCPConn) { _, _ = io.ReadFull(c, make([]byte, 100)) })
	silent := serve(t, func(_ *server, c *net.TCPConn) { wait(c) })
	other := cfg.Clone()
	other.ServerName = "other.invalid"
	old := cfg.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
	secure := func(s *server) string { return strings.Replace(s.URL, "http:", "https:", 1) }
	for _, tt := range []struct {
		name, url string
		cfg       *tls.Config
		end       EndKind
		detail    string
	}{
		{"unknown authority", url, nil, EndTLSFailed, "unknown_authority"},
		{"host name", url, other, EndTLSFailed, "host_name"},
		{"refused version", url, old, EndTLSFailed, "alert"},
		{"not TLS", secure(plainText), cfg, EndTLSFailed, "not_tls"},
		{"silent", secure(silent), cfg, EndIdleTimeout, "tls"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Request{URL: tt.url, TLS: tt.cfg}
			if tt.end == EndIdleTimeout {
				r.IdleLimit = short
			}
			res := do(t, r)
			wantEnd(t, res, tt.end, tt.detail)
			if res.TLSNs != nil || res.BytesSent != 0 {
				t.Errorf("tls %v, %d bytes sent", res.TLSNs, res.BytesSent)
			}
		})
	}
	t.Run("closed", func(t *testing.T) {
		if res := do(t, Request{URL: secure(closes), TLS: cfg}); res.End != EndTLSFailed {
			t.Errorf("ended %s %q, want tls_failed", res.End, res.EndDetail)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := cancelAfter(t.Context(), ErrInterrupted)
		defer cancel()
		wantEnd(t, doWith(t, ctx, Request{URL: secure(silent), TLS: cfg}), EndInterrupted, "tls")
	})
}

func TestTLSRecordCutShortIsShort(t *testing.T) {
	url, cfg := secureServer(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		write(conn, headOf()+"data: a\n\n")
		raw := conn.(*tls.Conn).NetConn().(*net.TCPConn)
		write(raw, "\x17\x03\x03\x00\x50abc") // a record of 80 bytes, 3 of them
		if err := raw.CloseWrite(); err != nil {
			t.Error(err)
		}
		wait(raw)
	})
	res := do(t, Request{URL: url, TLS: cfg})
	wantEnd(t, res, EndShortBody, "tls_record")
	if len(res.Events) != 1 {
		t.Errorf("%d events, want 1", len(res.Events))
	}
}

func TestTLSRecordThatDoesNotDecryptIsProtocol(t *testing.T) {
	url, cfg := secureServer(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		write(conn, headOf()+"data: a\n\n")
		raw := conn.(*tls.Conn).NetConn()
		write(raw, "\x17\x03\x03\x00\x20"+strings.Repeat("x", 32))
		wait(raw)
	})
	wantEnd(t, do(t, Request{URL: url, TLS: cfg}), EndProtocol, "tls_record")
}

func TestErrorCodesHoldNoText(t *testing.T) {
	secret := errors.New("secret.host:8000")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&net.OpError{Op: "read", Err: secret}, "other"},
		{&net.DNSError{Name: "secret.host", IsNotFound: true}, "name_not_found"},
		{&net.DNSError{Name: "secret.host"}, "name_lookup"},
		{io.ErrUnexpectedEOF, "eof"},
		{net.ErrClosed, "closed"},
	} {
		if got := errorCode(tt.err); got != tt.want {
			t.Errorf("code of %v is %q, want %q", tt.err, got, tt.want)
		}
	}
}
