package engine

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/collect/record"
)

const goodPage = "vllm:num_requests_running 0\n"

// clientFor asks a test server that answers with handle.
func clientFor(t *testing.T, handle http.HandlerFunc) (*Client, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return mustClient(t, ClientOptions{BaseURL: server.URL + "/v1", Token: "secret"}), server
}

func mustClient(t *testing.T, o ClientOptions) *Client {
	t.Helper()
	c, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestScrapeKeepsThePageAndItsTimes(t *testing.T) {
	var asked atomic.Pointer[http.Request]
	c, _ := clientFor(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, goodPage)
	})
	p := c.Scrape(t.Context(), record.NewAnchor(), 7, "during")
	sum := sha256.Sum256([]byte(goodPage))
	if p.Error != "" || string(p.Body) != goodPage || p.BodySHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("error %q, body %q, hash %s", p.Error, p.Body, p.BodySHA256)
	}
	if p.Seq != 7 || p.Phase != "during" || p.HTTPStatus == nil || *p.HTTPStatus != 200 || p.ContentType != "text/plain; version=0.0.4" {
		t.Errorf("row = %+v", p)
	}
	if p.StartNs < 0 || p.EndNs < p.StartNs || p.StartUnixNs == 0 {
		t.Errorf("times: start %d, end %d, wall %d", p.StartNs, p.EndNs, p.StartUnixNs)
	}
	r := asked.Load()
	if r.Method != http.MethodGet || r.URL.Path != "/metrics" || r.ProtoMajor != 1 {
		t.Errorf("asked %s %s over %s", r.Method, r.URL.Path, r.Proto)
	}
	for name, want := range map[string]string{
		"Accept": "text/plain;version=0.0.4", "Accept-Encoding": "identity", "Authorization": "Bearer secret", "User-Agent": "assay",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestAskCountsPathsFromTheRoot(t *testing.T) {
	c, _ := clientFor(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })
	for _, path := range []string{"/v1/models", "/version", "/health"} {
		a := c.Ask(t.Context(), record.NewAnchor(), "before", path)
		if a.Error != "" || string(a.Body) != path || a.Path != path || a.Phase != "before" || a.AtUnixNs == 0 {
			t.Errorf("%s: row %+v", path, a)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }))
	t.Cleanup(server.Close)
	behind := mustClient(t, ClientOptions{BaseURL: server.URL + "/llm/v1/"})
	if a := behind.Ask(t.Context(), record.NewAnchor(), "before", "/version"); string(a.Body) != "/llm/version" {
		t.Errorf("below a prefix: asked %q, want /llm/version", a.Body)
	}
}

func TestEachQuestionHasItsOwnConnection(t *testing.T) {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, goodPage) }))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := mustClient(t, ClientOptions{BaseURL: server.URL + "/v1"})
	for i := range int64(3) {
		c.Scrape(t.Context(), record.NewAnchor(), i, "during")
	}
	if got := connections.Load(); got != 4 { // the first scrape asks who the engine is
		t.Errorf("%d connections for 3 scrapes and one question", got)
	}
}

// A read of TensorRT-LLM's /metrics empties a buffer that is not ours.
func TestTensorRTLLMIsScrapedWhereAReadEmptiesNothing(t *testing.T) {
	for owner, want := range map[string]string{"tensorrt_llm": "/prometheus/metrics", "vllm": "/metrics"} {
		var asked []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Path)
			fmt.Fprintf(w, `{"data":[{"id":"m","owned_by":%q}]}`, owner)
		}))
		c := mustClient(t, ClientOptions{BaseURL: server.URL + "/v1"})
		for i := range int64(2) {
			c.Scrape(t.Context(), record.NewAnchor(), i, "during")
		}
		server.Close()
		if diff := cmp.Diff([]string{"/v1/models", want, want}, asked); diff != "" {
			t.Errorf("%s: %s", owner, diff)
		}
	}
}

func TestServerInfoIsKeptWithoutItsSecrets(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"api_key":"sk-1","max_running_requests":48}`)
	}))
	t.Cleanup(server.Close)
	c := mustClient(t, ClientOptions{BaseURL: server.URL + "/v1"})
	for _, path := range []string{PathServerInfo, PathServerInfoOld} {
		if a := c.Ask(t.Context(), record.NewAnchor(), "before", path); string(a.Body) != `{"max_running_requests":48}` {
			t.Errorf("%s: kept %s", path, a.Body)
		}
	}
}

func TestErrorsAreCodes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		handle http.HandlerFunc
		code   string
		body   string // kept
	}{
		{"status", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) }, "http_503", "busy\n"},
		{"not found", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) }, "http_404", "no\n"},
		{"redirect", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(http.StatusFound)
		}, "http_302", ""},
		{"shorter than announced", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "half a pa")
		}, ErrTorn, "half a pa"},
		{"chunks cut", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "first\n")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, ErrTorn, "first\n"},
		{"closed before the head", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ErrReset, ""},
		{"no HTTP", raw("hello\r\n\r\n"), ErrProtocol, ""},
		{"compressed all the same", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			gzip.NewWriter(w).Close()
		}, ErrEncoded, "-"},
		{"too large", func(w http.ResponseWriter, _ *http.Request) {
			for range 17 {
				fmt.Fprint(w, strings.Repeat("x", maxAnswerBytes/16))
			}
		}, ErrTooLarge, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, server := clientFor(t, tt.handle)
			a := c.Ask(t.Context(), record.NewAnchor(), "before", "/version")
			if a.Error != tt.code {
				t.Errorf("error %q, want %q", a.Error, tt.code)
			}
			if tt.body != "-" && string(a.Body) != tt.body {
				t.Errorf("kept %d bytes, want %q", len(a.Body), tt.body)
			}
			if strings.Contains(a.Error, server.Listener.Addr().String()) {
				t.Error("the error quotes the address")
			}
		})
	}
}

// raw answers with bytes that are no HTTP.
func raw(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		fmt.Fprint(conn, text)
		conn.Close()
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	c, _ := clientFor(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if p := c.Scrape(t.Context(), record.NewAnchor(), 0, "before"); p.Error != "http_307" || elsewhere.Load() != 0 {
		t.Errorf("error %q, %d questions to the other host", p.Error, elsewhere.Load())
	}
}

func TestConnectionAndTLSFailures(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	c := mustClient(t, ClientOptions{BaseURL: "http://" + address + "/v1"})
	p := c.Scrape(t.Context(), record.NewAnchor(), 0, "before")
	if p.Error != ErrConnect || p.HTTPStatus != nil || p.BodySHA256 != "" {
		t.Errorf("closed port: %+v", p)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about the failed handshake
	server.StartTLS()
	t.Cleanup(server.Close)
	c = mustClient(t, ClientOptions{BaseURL: server.URL + "/v1"})
	if p := c.Scrape(t.Context(), record.NewAnchor(), 0, "before"); p.Error != ErrTLS {
		t.Errorf("unknown certificate: error %q, want %q", p.Error, ErrTLS)
	}
}

func TestASilentServerEndsAtTheLimitAndAtTheCallersWish(t *testing.T) {
	for _, headFirst := range []bool{false, true} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if headFirst {
				fmt.Fprint(w, "part\n")
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		}))
		t.Cleanup(server.Close)
		c := mustClient(t, ClientOptions{BaseURL: server.URL + "/v1", Timeout: 50 * time.Millisecond})
		if p := c.Scrape(t.Context(), record.NewAnchor(), 0, "during"); p.Error != ErrTimeout {
			t.Errorf("head first %v: error %q, want %q", headFirst, p.Error, ErrTimeout)
		}
		ctx, cancel := context.WithCancel(t.Context())
		patient := mustClient(t, ClientOptions{BaseURL: server.URL + "/v1", Timeout: time.Hour})
		time.AfterFunc(20*time.Millisecond, cancel)
		if p := patient.Scrape(ctx, record.NewAnchor(), 0, "during"); p.Error != ErrInterrupted {
			t.Errorf("head first %v: error %q, want %q", headFirst, p.Error, ErrInterrupted)
		}
	}
}

func TestNewClientRefusesBaseURLsWithoutQuotingThem(t *testing.T) {
	for _, base := range []string{
		"", "host/v1", "ftp://host/v1", "http:///v1", "http://host", "http://host/v2", "http://user:secret@host/v1",
		"http://host/v1?key=secret", "http://host/v1#secret", "http://ho st/v1", "://secret",
	} {
		c, err := NewClient(ClientOptions{BaseURL: base})
		if err == nil {
			t.Errorf("%q was accepted: root %s", base, c.root)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error quotes the URL: %v", err)
		}
	}
}
