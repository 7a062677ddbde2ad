package stream

import (
	"bytes"
	"io"
	"net/http/httputil"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzDechunker holds that any split gives the body of the whole, that a body
// the standard library also accepts is the same there, and that decoding holds
// nothing of its input.
func FuzzDechunker(f *testing.F) {
	for _, body := range corpus() {
		f.Add(chunked(body[:min(len(body), 300)], 100), []byte{1, 0, 7})
	}
	f.Add([]byte("ffffffffffffffff\r\n"), []byte{3})
	f.Add([]byte("3\r\nabcd\r\n0\r\n\r\n"), []byte{2})
	f.Add([]byte("0\r\nA: b\r\n\r\nrest"), []byte{2})
	f.Fuzz(func(t *testing.T, wire, cuts []byte) {
		running := runtime.NumGoroutine()
		want := dechunk(wire)
		if got := dechunk(cut(wire, cuts)...); got != want {
			t.Errorf("cut by %v (-whole +got):\n%s", cuts, cmp.Diff(want, got))
		}
		theirs, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(wire)))
		if want.Done && err == nil && string(theirs) != want.Body {
			t.Errorf("body %q, standard library %q", want.Body, theirs)
		}
		var d Dechunker
		before := totalAlloc()
		_, _ = d.Push(wire, func([]byte) {}) // the error is compared above
		if grown, bound := totalAlloc()-before, uint64(3*len(wire)+1<<20); grown > bound {
			t.Errorf("allocated %d bytes for %d, bound %d", grown, len(wire), bound)
		}
		checkGoroutines(t, running)
	})
}
