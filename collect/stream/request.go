package stream

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Defaults of a Request.
const (
	DefaultIdleLimit = 15 * time.Minute
	DefaultDoneGrace = time.Second
	DefaultMaxBody   = 1 << 20   // bytes
	DefaultMaxKept   = 256 << 20 // bytes
)

// ErrOuterTimeout is the cause to cancel a context with when the outer cap of
// a cell is reached, where a context deadline does not say so by itself.
var ErrOuterTimeout = errors.New("outer timeout")

// ErrInterrupted is the cause to cancel a context with when the operator stops
// the run.
var ErrInterrupted = errors.New("interrupted")

// Request is one POST. Zero fields take the defaults.
type Request struct {
	URL    string // the full endpoint, http or https, without user information
	Body   []byte // JSON; not changed, not kept
	Token  string // bearer token, sent to the host of URL only; "" sends none
	Accept string // default text/event-stream

	IdleLimit time.Duration // longest time without a received byte, from t0 on; default DefaultIdleLimit
	DoneGrace time.Duration // longest wait for the end of the body after [DONE]; default DefaultDoneGrace
	MaxBody   int           // bytes kept of a body that is no event stream, and of trailing data; default DefaultMaxBody
	MaxKept   int           // bytes kept of an event stream, row overhead included; default DefaultMaxKept

	TLS *tls.Config // base of the TLS configuration; nil trusts the system's roots
}

// target is a request made ready to send.
type target struct {
	addr string      // host:port to dial
	tls  *tls.Config // nil for http
	wire []byte      // the request as it goes over the connection
}

// withDefaults fills the zero fields.
func (r Request) withDefaults() Request {
	if r.Accept == "" {
		r.Accept = "text/event-stream"
	}
	if r.IdleLimit <= 0 {
		r.IdleLimit = DefaultIdleLimit
	}
	if r.DoneGrace <= 0 {
		r.DoneGrace = DefaultDoneGrace
	}
	if r.MaxBody <= 0 {
		r.MaxBody = DefaultMaxBody
	}
	if r.MaxKept <= 0 {
		r.MaxKept = DefaultMaxKept
	}
	return r
}

// compose serialises the request before the clock starts. On failure it
// returns the code of what is wrong.
func (r Request) compose() (t target, code string) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Hostname() == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return target{}, "bad_url"
	}
	if !printable(r.Token) {
		return target{}, "bad_token"
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	t.addr = net.JoinHostPort(u.Hostname(), port)
	if u.Scheme == "https" {
		t.tls = r.tlsConfig(u.Hostname())
	}
	if t.wire, err = r.serialise(); err != nil {
		return target{}, "bad_url"
	}
	return t, ""
}

// serialise writes the request. No "Connection: close" is sent: a server told
// so may end the body with the connection, and then a cut cannot be seen.
func (r Request) serialise() ([]byte, error) {
	req, err := http.NewRequest(http.MethodPost, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", r.Accept)
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "assay")
	if r.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	var wire bytes.Buffer
	wire.Grow(len(r.Body) + 1024)
	if err := req.Write(&wire); err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	return wire.Bytes(), nil
}

// tlsConfig offers HTTP/1.1 only: under HTTP/2 streams share a connection.
func (r Request) tlsConfig(host string) *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if r.TLS != nil {
		cfg = r.TLS.Clone()
	}
	cfg.NextProtos = []string{"http/1.1"}
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	return cfg
}

// printable reports whether a token can stand in a header line.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
