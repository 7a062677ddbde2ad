package stream

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// decoded is what a dechunker made of its input.
type decoded struct {
	Body string
	N    int // bytes read
	Done bool
	Code string
}

func dechunk(pieces ...[]byte) decoded {
	var d Dechunker
	var out decoded
	var body bytes.Buffer
	for _, piece := range pieces {
		n, err := d.Push(piece, func(b []byte) { body.Write(b) })
		out.N += n
		if pe, ok := errors.AsType[*ProtocolError](err); ok {
			out.Code = pe.Code
		}
	}
	out.Body, out.Done = body.String(), d.Done()
	return out
}

func TestDechunkerDecodes(t *testing.T) {
	long := strings.Repeat("e", maxChunkLine)
	for _, tt := range []struct {
		name, in string
		want     decoded
	}{
		{"one chunk", "3\r\nabc\r\n0\r\n\r\n", decoded{"abc", 13, true, ""}},
		{"hexadecimal of both cases", "a\r\n0123456789\r\nB\r\n0123456789x\r\n0\r\n\r\n", decoded{"01234567890123456789x", 36, true, ""}},
		{"leading zeros", "0003\r\nabc\r\n000\r\n\r\n", decoded{"abc", 18, true, ""}},
		{"extensions", "3;a=b;c=\"d;e\"\r\nabc\r\n0;x\r\n\r\n", decoded{"abc", 27, true, ""}},
		{"white space behind the size", "3 \t\r\nabc\r\n0\r\n\r\n", decoded{"abc", 15, true, ""}},
		{"trailer fields", "0\r\nA: b\r\nC: d\r\n\r\n", decoded{"", 17, true, ""}},
		{"bytes behind the end are not read", "0\r\n\r\nHTTP/1.1", decoded{"", 5, true, ""}},
		{"CRLF inside data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", decoded{"\r\n\r\n", 14, true, ""}},
		{"cut in data", "5\r\nabc", decoded{"abc", 6, false, ""}},
		{"cut in a size", "1", decoded{"", 1, false, ""}},
		{"cut before the end of the trailer", "3\r\nabc\r\n0\r\n", decoded{"abc", 11, false, ""}},
		{"no size", "\r\nabc", decoded{"", 0, false, "chunk_size"}},
		{"extension without a size", ";a\r\n", decoded{"", 0, false, "chunk_size"}},
		{"not hexadecimal", "3\r\nabc\r\nxyz\r\n", decoded{"abc", 8, false, "chunk_size"}},
		{"negative", "-1\r\n", decoded{"", 0, false, "chunk_size"}},
		{"prefix", "0x3\r\nabc\r\n", decoded{"", 1, false, "chunk_size"}},
		{"overflow", "ffffffffffffffff\r\n", decoded{"", 15, false, "chunk_size"}},
		{"bare LF behind a size", "3\nabc\n0\n\n", decoded{"", 1, false, "chunk_size"}},
		{"bare LF in an extension", "3;a\nabc\r\n", decoded{"", 3, false, "chunk_size"}},
		{"bare CR in a size line", "3\rabc", decoded{"", 2, false, "chunk_size"}},
		{"data longer than its size", "3\r\nabcd\r\n0\r\n\r\n", decoded{"abc", 6, false, "chunk_end"}},
		{"no LF behind data", "3\r\nabc\rx", decoded{"abc", 7, false, "chunk_end"}},
		{"bare LF in the trailer", "0\r\nA: b\n\r\n", decoded{"", 7, false, "trailer"}},
		{"LF for the last line", "0\r\n\n", decoded{"", 3, false, "trailer"}},
		{"endless extension", "3;" + long, decoded{"", maxChunkLine, false, "chunk_line_too_long"}},
		{"endless trailer", "0\r\n" + strings.Repeat("A: b\r\n", maxTrailer/6+1), decoded{"", 3 + maxTrailer, false, "trailer_too_long"}},
		{"nothing", "", decoded{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, dechunk([]byte(tt.in))); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, dechunk(bytewise([]byte(tt.in))...)); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDechunkerGivesTheSameBodyForEverySplit(t *testing.T) {
	for name, body := range corpus() {
		for _, size := range []int{1, 5, 100, 1 << 20} {
			wire := chunked(body, size)
			want := decoded{Body: string(body), N: len(wire), Done: true}
			for seed := range uint64(20) {
				pieces := split(rand.New(rand.NewPCG(seed, 3)), wire, 9)
				if diff := cmp.Diff(want, dechunk(pieces...)); diff != "" {
					t.Fatalf("%s in chunks of %d, split of seed %d (-want +got):\n%s", name, size, seed, diff)
				}
			}
		}
	}
}

func TestDechunkerAllocatesNothing(t *testing.T) {
	wire := []byte("12c\r\n" + strings.Repeat("x", 300) + "\r\n")
	var d Dechunker
	out := func([]byte) {}
	n := testing.AllocsPerRun(1000, func() {
		if _, err := d.Push(wire, out); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations per chunk, want 0", n)
	}
}
