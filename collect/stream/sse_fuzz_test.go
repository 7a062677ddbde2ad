package stream

import (
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cut splits a stream at lengths taken from the bytes of cuts, in turn.
func cut(stream, cuts []byte) [][]byte {
	var pieces [][]byte
	for i := 0; len(stream) > 0 && len(cuts) > 0; i++ {
		n := min(int(cuts[i%len(cuts)]), len(stream))
		if n == 0 && i >= len(cuts) { // cuts may be all zeros
			n = 1
		}
		pieces = append(pieces, stream[:n])
		stream = stream[n:]
	}
	return append(pieces, stream)
}

// FuzzParser holds that any split gives the events of the whole, that those are
// the events of the standard's algorithm, and the bound of memory.
func FuzzParser(f *testing.F) {
	for _, stream := range corpus() {
		f.Add(stream[:min(len(stream), 600)], []byte{1, 0, 7}) // the fuzzer minimises long inputs for minutes
	}
	f.Fuzz(func(t *testing.T, stream, cuts []byte) {
		const limit = 256
		running := runtime.NumGoroutine()
		want := parse(limit, stream)
		got := parse(limit, cut(stream, cuts)...)
		if !reflect.DeepEqual(want, got) { // quicker than cmp, and the fuzzer counts executions
			t.Errorf("cut by %v (-whole +got):\n%s", cuts, cmp.Diff(want, got))
		}
		if ref := reference(string(stream)); want.Err == "" && !slices.Equal(ref, want.Events) {
			t.Errorf("against the standard's algorithm (-reference +got):\n%s", cmp.Diff(ref, want.Events))
		}
		pieces := cut(stream, cuts)
		p := Parser{limit: limit}
		before := totalAlloc()
		for _, piece := range pieces {
			_ = p.Push(piece, func(Event) {}) // the error is compared above
		}
		if grown, bound := totalAlloc()-before, uint64(3*len(stream)+1<<20); grown > bound {
			t.Errorf("allocated %d bytes for %d, bound %d", grown, len(stream), bound)
		}
		checkGoroutines(t, running)
	})
}
