package stream

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outcome is what an answer came to, clocks left out.
type outcome struct {
	End      EndKind
	Detail   string
	Payloads []string
	Names    []string
	Tail     string
	Trailing string
	Body     string
	Head     string
	Interim  string
}

// replay feeds an answer in pieces, one read each, and then the server's close.
// It returns the pieces that completed the events beside the outcome.
func replay(pieces [][]byte) (outcome, []int64) {
	res := Replay(Request{}, func(yield func(Read) bool) {
		for _, piece := range pieces {
			if !yield(Read{Data: piece}) {
				return
			}
		}
	}, EndEOF, 0)
	out := outcome{
		End: res.End, Detail: res.EndDetail, Payloads: payloads(res), Tail: string(res.Tail),
		Trailing: string(res.Trailing), Body: string(res.Body), Head: string(res.Head), Interim: string(res.Interim),
	}
	var reads []int64
	for _, ev := range res.Events {
		out.Names = append(out.Names, ev.Name)
		reads = append(reads, ev.ReadSeq)
	}
	return out, reads
}

// answersOf wraps a body in every framing.
func answersOf(body []byte) map[string][]byte {
	return map[string][]byte{
		"chunks of 7":        append([]byte(headOf("Transfer-Encoding: chunked")), chunked(body, 7)...),
		"one chunk":          append([]byte(headOf("Transfer-Encoding: chunked")), chunked(body, 1<<20)...),
		"until close":        append([]byte(headOf()), body...),
		"length and interim": []byte("HTTP/1.1 103 Early Hints\r\n\r\n" + whole("200 OK", "text/event-stream", string(body))),
		"no event stream":    []byte(whole("502 Bad Gateway", "text/html", string(body))),
	}
}

func TestAnswerIsTheSameForEverySplit(t *testing.T) {
	for name, body := range corpus() {
		for framing, wire := range answersOf(body) {
			t.Run(name+" "+framing, func(t *testing.T) {
				want, _ := replay([][]byte{wire})
				if want.End != EndDone && want.End != EndEOF {
					t.Fatalf("whole: ended %s %q", want.End, want.Detail)
				}
				got, _ := replay(bytewise(wire))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("byte by byte (-whole +got):\n%s", diff)
				}
				for seed := range uint64(100) {
					got, _ := replay(split(rand.New(rand.NewPCG(seed, 4)), wire, 8))
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("split of seed %d (-whole +got):\n%s", seed, diff)
					}
				}
			})
		}
	}
}

func TestEventBelongsToTheReadOfItsBlankLine(t *testing.T) {
	pieces := [][]byte{
		[]byte(headOf() + "data: a\n"), []byte("\ndata: b\n\nda"), []byte("ta: c\r\n"), []byte("\r"), []byte("\ndata: d"), []byte("\n\n"),
	}
	out, reads := replay(pieces)
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, out.Payloads); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{1, 1, 3, 5}, reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

func TestAnswerCutAtEveryByteNeverInventsAnEvent(t *testing.T) {
	for name, body := range corpus() {
		wire := answersOf(body)["chunks of 7"]
		if len(wire) > 3000 { // the work grows with the square
			continue
		}
		whole, _ := replay([][]byte{wire})
		for n := range wire {
			got, _ := replay([][]byte{wire[:n]})
			if k := len(got.Payloads); !slices.Equal(whole.Payloads[:k], got.Payloads) {
				t.Fatalf("%s cut at %d: %q", name, n, got.Payloads)
			}
			if got.End != EndShortBody && got.End != EndDone {
				t.Fatalf("%s cut at %d ended %s %q", name, n, got.End, got.Detail)
			}
		}
	}
}

func TestPayloadsOutliveTheReadBuffer(t *testing.T) {
	a := newAnswer(Request{}.withDefaults())
	buf := []byte(headOf() + "data\n\nevent: n\ndata: abc\n\ndata: x\ndata: y\n\n")
	a.feed(buf, stamp{})
	clear(buf)
	if a.res.Events[0].Payload == nil {
		t.Error("an empty payload is nil")
	}
	if diff := cmp.Diff([]string{"", "abc", "x\ny"}, payloads(a.res)); diff != "" {
		t.Errorf("payloads (-want +got):\n%s", diff)
	}
}

func TestAnswerAllocatesLittlePerEvent(t *testing.T) {
	a := newAnswer(Request{}.withDefaults())
	a.feed([]byte(headOf("Transfer-Encoding: chunked")), stamp{})
	chunk := chunkOf("data: " + strings.Repeat("x", 300) + "\n\n")
	n := testing.AllocsPerRun(2000, func() { a.feed(chunk, stamp{}) })
	if n > 0.1 {
		t.Errorf("%v allocations per event, want at most 0.1", n)
	}
	if len(a.res.Events) != 2001 {
		t.Errorf("%d events", len(a.res.Events))
	}
}

func TestHeadField(t *testing.T) {
	head := []byte("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5\r\nRetry-After: 6\r\nX-Empty:\r\n\r\n")
	for _, tt := range []struct {
		head []byte
		name string
		want string
		ok   bool
	}{
		{head, "retry-after", "5", true},
		{head, "X-Empty", "", true},
		{head, "X-None", "", false},
		{head[:20], "retry-after", "", false},
		{nil, "retry-after", "", false},
	} {
		if got, ok := HeadField(tt.head, tt.name); got != tt.want || ok != tt.ok {
			t.Errorf("%s of %q: %q %v, want %q %v", tt.name, tt.head, got, ok, tt.want, tt.ok)
		}
	}
}
