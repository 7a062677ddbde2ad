package stream

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plain is an event as strings, which compare quickly.
type plain struct{ Name, Data string }

// parsed is what a parser made of a stream.
type parsed struct {
	Events []plain
	Tail   string
	Err    string
}

// parse pushes the pieces of a stream and copies what comes out.
func parse(limit int, pieces ...[]byte) parsed {
	var out parsed
	p := Parser{limit: limit}
	for _, piece := range pieces {
		err := p.Push(piece, func(ev Event) {
			out.Events = append(out.Events, plain{ev.Name, string(ev.Data)})
		})
		if err != nil {
			out.Err = err.Error()
		}
	}
	out.Tail = string(p.Tail())
	return out
}

// reference is the standard's algorithm word for word, over the whole stream.
// The last unterminated event is left out, and the tail is not computed.
func reference(stream string) []plain {
	stream = strings.TrimPrefix(stream, "\xEF\xBB\xBF")
	stream = strings.ReplaceAll(stream, "\r\n", "\n")
	lines := strings.Split(strings.ReplaceAll(stream, "\r", "\n"), "\n")
	var events []plain
	var name, data string
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			if data != "" {
				events = append(events, plain{name, strings.TrimSuffix(data, "\n")})
			}
			name, data = "", ""
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = value
		case "data":
			data += value + "\n"
		}
	}
	return events
}

// split cuts a stream at the given number of random places.
func split(rng *rand.Rand, stream []byte, cuts int) [][]byte {
	var pieces [][]byte
	for range cuts {
		n := rng.IntN(len(stream) + 1)
		pieces = append(pieces, stream[:n])
		stream = stream[n:]
	}
	return append(pieces, stream)
}

// bytewise cuts a stream into single bytes.
func bytewise(stream []byte) [][]byte {
	var pieces [][]byte
	for i := range stream {
		pieces = append(pieces, stream[i:i+1])
	}
	return pieces
}

func TestParserReadsEventsByTheStandard(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []plain
		tail     string
	}{
		{"one event", "data: a\n\n", []plain{{"", "a"}}, ""},
		{"no space after the colon", "data:a\n\n", []plain{{"", "a"}}, ""},
		{"one space stripped, no more", "data:  a \n\n", []plain{{"", " a "}}, ""},
		{"lines joined with LF", "data: a\ndata:b\n\n", []plain{{"", "a\nb"}}, ""},
		{"joined lines around other fields", "data: a\nid: 1\n: c\ndata: b\n\n", []plain{{"", "a\nb"}}, ""},
		{"two empty data lines are one LF", "data\ndata\n\n", []plain{{"", "\n"}}, ""},
		{"empty data is an event", "data:\n\n", []plain{{"", ""}}, ""},
		{"no data is none", "event: x\n\ndata: a\n\n", []plain{{"", "a"}}, ""},
		{"name belongs to its event only", "event: x\ndata: a\n\ndata: b\n\n",
			[]plain{{"x", "a"}, {"", "b"}}, ""},
		{"last name wins", "event: x\nevent: y\ndata: a\n\n", []plain{{"y", "a"}}, ""},
		{"empty last name", "event: x\nevent\ndata: a\n\n", []plain{{"", "a"}}, ""},
		{"name behind several data lines", "data: a\ndata: b\nevent: z\n\n", []plain{{"z", "a\nb"}}, ""},
		{"comments and empty lines", ":\n\n: ping\n\n: no blank line\ndata: a\n\n\n\n", []plain{{"", "a"}}, ""},
		{"id, retry and unknown fields", "id: 7\nretry: 10\nfoo: x\ndatax: y\ndat: z\n\n", nil, ""},
		{"field names are case sensitive", "Data: a\n\n", nil, ""},
		{"space before the colon is another field", "data : a\n\n", nil, ""},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []plain{{"", "a"}, {"", "b"}}, ""},
		{"CR", "data: a\r\rdata: b\r\r", []plain{{"", "a"}, {"", "b"}}, ""},
		{"mixed line ends", "data: a\r\ndata: b\rdata: c\n\r\n", []plain{{"", "a\nb\nc"}}, ""},
		{"byte order mark", "\xEF\xBB\xBFdata: a\n\n", []plain{{"", "a"}}, ""},
		{"byte order mark on a line of its own", "\xEF\xBB\xBF\ndata: a\n\n", []plain{{"", "a"}}, ""},
		{"one byte order mark only", "\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\n", nil, ""},
		{"no byte order mark later", "\n\xEF\xBB\xBFdata: a\n\n", nil, ""},
		{"unterminated event is the tail", "data: a\n\ndata: b\nda", []plain{{"", "a"}}, "data: b\nda"},
		{"unterminated CRLF event", "data: a\r\n", nil, "data: a\r\n"},
		{"half a byte order mark", "\xEF\xBB", nil, "\xEF\xBB"},
		{"bad UTF-8 passes", "data: \xff\xfe\x00\n\n", []plain{{"", "\xff\xfe\x00"}}, ""},
		{"the mark inside content is content", "data: x[DONE]\n\ndata:[DONE]\n\n",
			[]plain{{"", "x[DONE]"}, {"", "[DONE]"}}, ""},
		{"nothing", "", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := parsed{Events: tt.want, Tail: tt.tail}
			if diff := cmp.Diff(want, parse(0, []byte(tt.in))); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, parse(0, bytewise([]byte(tt.in))...)); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(reference(tt.in), want.Events); diff != "" {
				t.Errorf("against the standard's algorithm (-reference +want):\n%s", diff)
			}
		})
	}
}

func TestParserGivesTheSameEventsForEverySplit(t *testing.T) {
	for name, stream := range corpus() {
		t.Run(name, func(t *testing.T) {
			want := parse(0, stream)
			if diff := cmp.Diff(reference(string(stream)), want.Events); diff != "" {
				t.Errorf("whole (-reference +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, parse(0, bytewise(stream)...)); diff != "" {
				t.Errorf("byte by byte (-whole +got):\n%s", diff)
			}
			for seed := range uint64(1000) {
				rng := rand.New(rand.NewPCG(seed, 1))
				if diff := cmp.Diff(want, parse(0, split(rng, stream, 1+rng.IntN(20))...)); diff != "" {
					t.Fatalf("split of seed %d (-whole +got):\n%s", seed, diff)
				}
			}
		})
	}
}

func TestParserDispatchesAtTheFirstByteThatEndsTheEvent(t *testing.T) {
	for _, tt := range []struct{ name, before, last string }{
		{"LF", "data: a\n", "\n"},
		{"CRLF waits for no LF", "data: a\r\n", "\r"},
		{"CR", "data: a\r", "\r"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p Parser
			n := 0
			count := func(Event) { n++ }
			if err := p.Push([]byte(tt.before), count); err != nil || n != 0 {
				t.Fatalf("before the last byte: %d events, error %v", n, err)
			}
			if err := p.Push([]byte(tt.last), count); err != nil || n != 1 {
				t.Errorf("after the last byte: %d events, error %v, want 1 and none", n, err)
			}
		})
	}
}

func TestParserRefusesLinesPastTheLimit(t *testing.T) {
	const limit = 20
	fits := "data: " + strings.Repeat("x", limit-6)
	stream := []byte("data: ok\n\n" + fits + "\n\n" + ": c\n" + fits + "y\n\ndata: never\n\n")
	want := parsed{
		Events: []plain{{"", "ok"}, {"", strings.Repeat("x", limit-6)}},
		Tail:   ": c\n" + fits,
		Err:    ErrLineTooLong.Error(),
	}
	if diff := cmp.Diff(want, parse(limit, stream)); diff != "" {
		t.Errorf("whole (-want +got):\n%s", diff)
	}
	for seed := range uint64(200) {
		pieces := split(rand.New(rand.NewPCG(seed, 2)), stream, 5)
		if diff := cmp.Diff(want, parse(limit, pieces...)); diff != "" {
			t.Fatalf("split of seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

func TestParserStaysRefusedAfterALineTooLong(t *testing.T) {
	p := Parser{limit: 4}
	for range 2 {
		err := p.Push([]byte("data: a\n\n"), func(Event) { t.Error("an event came") })
		if !errors.Is(err, ErrLineTooLong) {
			t.Errorf("error %v, want ErrLineTooLong", err)
		}
	}
}

func TestParserReadsAWholeLineOf64MiB(t *testing.T) {
	if testing.Short() {
		t.Skip("64 MiB in short mode")
	}
	line := append([]byte("data: "), bytes.Repeat([]byte("x"), MaxLine-6)...)
	for _, tt := range []struct {
		name   string
		extra  string
		events int
		want   error
	}{{"at the limit", "\n\n", 1, nil}, {"one byte more", "x\n\n", 0, ErrLineTooLong}} {
		t.Run(tt.name, func(t *testing.T) {
			var p Parser
			events, size := 0, 0
			emit := func(ev Event) { events, size = events+1, len(ev.Data) }
			before := totalAlloc()
			var err error
			for rest := line; len(rest) > 0 && err == nil; {
				n := min(len(rest), 32<<10)
				err = p.Push(rest[:n], emit)
				rest = rest[n:]
			}
			if err == nil {
				err = p.Push([]byte(tt.extra), emit)
			}
			grown := totalAlloc() - before
			if !errors.Is(err, tt.want) || events != tt.events {
				t.Errorf("%d events, error %v; want %d, %v", events, err, tt.events, tt.want)
			}
			if tt.events > 0 && size != MaxLine-6 {
				t.Errorf("payload of %d bytes, want %d", size, MaxLine-6)
			}
			if bound := uint64(3*len(line) + 1<<20); grown > bound {
				t.Errorf("allocated %d bytes in all, bound %d", grown, bound)
			}
		})
	}
}

// totalAlloc is the sum of all allocations so far: an upper bound of how far
// the heap can have grown between two calls.
func totalAlloc() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// checkGoroutines fails when a goroutine started by this module is left. The
// fuzzer's own come and go, so that a number alone says nothing.
func checkGoroutines(t *testing.T, before int) {
	t.Helper()
	if runtime.NumGoroutine() <= before {
		return
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if bytes.Contains(stacks, []byte("created by assay/")) {
		t.Errorf("a goroutine is left:\n%s", stacks)
	}
}

func TestParserMemoryIsBoundedByItsInput(t *testing.T) {
	for name, unit := range map[string]string{
		"empty events":        "data\n\n",
		"events of one KB":    "data: " + strings.Repeat("x", 1000) + "\n\n",
		"one event of lines":  "data: abc\n",
		"one event of CRs":    "data\r",
		"one endless comment": ": abc\n",
		"names that change":   "event: a\ndata\n\nevent: b\ndata\n\n",
	} {
		for _, piece := range []int{1, 7, 4096, 1 << 20} {
			t.Run(fmt.Sprintf("%s by %d", name, piece), func(t *testing.T) {
				stream := []byte(strings.Repeat(unit, 1<<20/len(unit)) + "\n\n")
				var p Parser
				emit := func(Event) {}
				before := totalAlloc()
				for rest := stream; len(rest) > 0; {
					n := min(len(rest), piece)
					if err := p.Push(rest[:n], emit); err != nil {
						t.Fatal(err)
					}
					rest = rest[n:]
				}
				if grown, bound := totalAlloc()-before, uint64(3*len(stream)+1<<20); grown > bound {
					t.Errorf("allocated %d bytes in all, bound %d", grown, bound)
				}
			})
		}
	}
}

func TestParserDoesNotChangeItsInput(t *testing.T) {
	in := []byte("event: n\ndata: a\ndata: b\n\n: c\ndata: d\r\ndata: e\r\n\r\n")
	kept := bytes.Clone(in)
	parse(0, in[:5], in[5:20], in[20:])
	parse(0, in)
	if !bytes.Equal(in, kept) {
		t.Errorf("input became %q", in)
	}
}

func TestParserAllocatesNothingPerEvent(t *testing.T) {
	chunk := []byte("data: " + strings.Repeat("x", 300) + "\n\n")
	var p Parser
	emit := func(Event) {}
	push := func(b []byte) {
		if err := p.Push(b, emit); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(1000, func() { push(chunk) }); n != 0 {
		t.Errorf("event in one push: %v allocations, want 0", n)
	}
	if n := testing.AllocsPerRun(1000, func() { push(chunk[:100]); push(chunk[100:]) }); n != 0 {
		t.Errorf("event in two pushes: %v allocations, want 0", n)
	}
}

func BenchmarkParser(b *testing.B) {
	chunk := []byte("data: " + strings.Repeat("x", 300) + "\n\n")
	var p Parser
	emit := func(Event) {}
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Push(chunk, emit); err != nil {
			b.Fatal(err)
		}
	}
}
