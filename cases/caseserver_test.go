package cases

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/collect/stream"
)

// TestStreamsAreTheSameOverAConnection plays the corpus by a server. The server
// compresses whatever the client lets it compress. A reset may destroy bytes
// on their way, so it has no place here.
func TestStreamsAreTheSameOverAConnection(t *testing.T) {
	for _, p := range corpus(t) {
		if p.wire.end == "reset" || p.wire.end == "hold" && p.result.End != stream.EndDone {
			continue
		}
		t.Run(p.id(), func(t *testing.T) {
			t.Parallel()
			res := stream.Do(t.Context(), stream.Request{URL: serveWire(t, p.wire), Body: []byte(`{"stream":true}`), IdleLimit: time.Minute, DoneGrace: graceOf(p.wire)})
			if diff := cmp.Diff(answeredBy(&p.result), answeredBy(&res)); diff != "" {
				t.Errorf("(-replayed +received):\n%s", diff)
			}
		})
	}
}

// graceOf is short where the server never closes.
func graceOf(w *wire) time.Duration {
	if w.end == "hold" {
		return 20 * time.Millisecond
	}
	return time.Minute
}

// serveWire answers one request with the bytes of an answer and returns its
// URL. It holds the connection where the answer says so, until the client
// closes.
func serveWire(t *testing.T, w *wire) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = listener.Close(); <-done })
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		reader := bufio.NewReader(conn)
		request, err := http.ReadRequest(reader)
		if err != nil {
			t.Error(err)
			return
		}
		if got := request.Header.Values("Accept-Encoding"); !slices.Equal(got, []string{"identity"}) {
			t.Errorf("the client offers to decode %q", got)
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			t.Error(err)
		}
		_, _ = conn.Write(w.bytes()) // the client may have seen enough
		if w.end == "hold" {
			_, _ = reader.ReadByte() // until the client closes
		}
	}()
	return "http://" + listener.Addr().String() + "/v1/chat/completions"
}
