package stream

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// needStamps skips a test on hosts without kernel receive times.
func needStamps(t *testing.T) {
	t.Helper()
	if ok, reason := KernelStampsAvailable(); !ok {
		t.Skipf("no kernel receive stamps: %s", reason)
	}
}

func TestEventTimePrefersThePlausibleKernelStamp(t *testing.T) {
	const read, wall = int64(5_000_000_000), int64(1_700_000_000_000_000_000)
	at := func(lag int64) *int64 { k := wall - lag; return &k }
	lag := func(ns int64) *int64 { return &ns }
	for _, tt := range []struct {
		name   string
		kernel *int64
		at     int64
		source string
		lag    *int64
	}{
		{"no stamp", nil, read, SourceRead, nil},
		{"no lag", at(0), read, SourceKernel, lag(0)},
		{"some lag", at(12_345), read - 12_345, SourceKernel, lag(12_345)},
		{"just below a second", at(999_999_999), read - 999_999_999, SourceKernel, lag(999_999_999)},
		{"a second: the clock was stepped", at(1_000_000_000), read, SourceRead, lag(1_000_000_000)},
		{"negative: the clock was stepped back", at(-1), read, SourceRead, lag(-1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			gotAt, source, gotLag := EventTime(read, wall, tt.kernel)
			if gotAt != tt.at || source != tt.source {
				t.Errorf("at %d from %s, want %d from %s", gotAt, source, tt.at, tt.source)
			}
			if (gotLag == nil) != (tt.lag == nil) || (gotLag != nil && *gotLag != *tt.lag) {
				t.Errorf("lag %v, want %v", gotLag, tt.lag)
			}
		})
	}
}

func TestEveryReadIsStampedByTheKernel(t *testing.T) {
	needStamps(t)
	pieces := []string{headOf("Transfer-Encoding: chunked")}
	for i := range 20 {
		pieces = append(pieces, string(chunkOf(fmt.Sprintf("data: %d\n\n", i))))
	}
	pieces = append(pieces, string(chunkOf("data: [DONE]\n\n")), "0\r\n\r\n")
	res := do(t, Request{URL: answers(t, pieces...).URL})
	wantEnd(t, res, EndDone, "")
	if res.StampedReads != res.Reads || res.Reads < 2 {
		t.Errorf("%d of %d reads stamped", res.StampedReads, res.Reads)
	}
	for _, ev := range res.Events {
		k := ev.Kernel()
		if k == nil {
			t.Fatalf("event %d has no kernel stamp", ev.Seq)
		}
		if *k < res.T0UnixNs || *k > ev.ReadUnixNs {
			t.Errorf("event %d: kernel stamp %d outside [%d, %d]", ev.Seq, *k, res.T0UnixNs, ev.ReadUnixNs)
		}
	}
}

func TestEndOfStreamLeavesTheLastStamp(t *testing.T) {
	res := do(t, Request{URL: answers(t, headOf()+"data: a\n\n").URL})
	wantEnd(t, res, EndEOF, "")
	if res.Reads != 1 {
		t.Skipf("the answer took %d reads", res.Reads)
	}
	if *res.LastByteNs != res.Events[0].ReadNs {
		t.Errorf("last byte at %d ns, read at %d", *res.LastByteNs, res.Events[0].ReadNs)
	}
}

func TestEventsOfOneReadShareItsStamp(t *testing.T) {
	res := do(t, Request{URL: answers(t, sse(body3)).URL})
	wantEnd(t, res, EndDone, "")
	if res.Reads != 1 {
		t.Skipf("the answer took %d reads", res.Reads)
	}
	for _, ev := range res.Events {
		if ev.ReadSeq != 0 || ev.ReadNs != res.Events[0].ReadNs || ev.ReadBytes != res.BytesReceived {
			t.Errorf("event %d: read %d at %d ns of %d bytes", ev.Seq, ev.ReadSeq, ev.ReadNs, ev.ReadBytes)
		}
	}
}

// chunkOf is one chunk.
func chunkOf(data string) []byte {
	return []byte(hex(len(data)) + "\r\n" + data + "\r\n")
}

const (
	truthStreams = 4
	truthEvents  = 40
	truthPace    = 20 * time.Millisecond
	truthTries   = 5
)

// The bounds hold for a host that runs this test alone. Other load can keep the
// server from writing right after it read the clock, so the best of a few tries
// counts: a wrong event time fails them all.
func TestEventTimesAreTrue(t *testing.T) {
	needStamps(t)
	var p50, p99 time.Duration
	for range truthTries {
		errs := truthRun(t)
		p50 = time.Duration(errs[(50*len(errs)+99)/100-1])
		p99 = time.Duration(errs[(99*len(errs)+99)/100-1])
		t.Logf("error of %d events: p50 %v p99 %v max %v", len(errs), p50, p99, time.Duration(errs[len(errs)-1]))
		if p50 <= 200*time.Microsecond && p99 <= 2*time.Millisecond {
			return
		}
	}
	t.Errorf("error p50 %v, p99 %v; want at most 200us and 2ms", p50, p99)
}

// truthRun reads paced streams whose events carry the server's wall clock, read
// straight before the write, and returns the sorted absolute errors, ns.
func truthRun(t *testing.T) []int64 {
	t.Helper()
	s := serve(t, func(s *server, c *net.TCPConn) {
		s.readRequest(c)
		write(c, headOf())
		next := time.Now()
		for range truthEvents {
			next = next.Add(truthPace)
			time.Sleep(time.Until(next))
			if _, err := fmt.Fprintf(c, "data: %d\n\n", time.Now().UnixNano()); err != nil {
				return
			}
		}
		write(c, "data: [DONE]\n\n")
	})
	results := make([]Result, truthStreams)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = Do(t.Context(), Request{URL: s.URL, IdleLimit: 20 * time.Second}) })
	}
	wg.Wait()
	var errs []int64
	for _, res := range results {
		wantEnd(t, res, EndDone, "")
		if len(res.Events) != truthEvents+1 {
			t.Fatalf("%d events, want %d", len(res.Events), truthEvents+1)
		}
		for _, ev := range res.Events[:truthEvents] {
			sent, err := strconv.ParseInt(string(ev.Payload), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			at, _, _ := EventTime(ev.ReadNs, ev.ReadUnixNs, ev.Kernel())
			errs = append(errs, max(at-(sent-res.T0UnixNs), sent-res.T0UnixNs-at))
		}
	}
	slices.Sort(errs)
	return errs
}

func TestDoReadsManyStreamsAtOnce(t *testing.T) {
	body := strings.Repeat("data: "+chunkJSON(`{"content":"x"}`)+"\n\n", 200) + "data: [DONE]\n\n"
	s := answers(t, sse(body))
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			res := Do(t.Context(), Request{URL: s.URL, IdleLimit: 20 * time.Second})
			if res.End != EndDone || len(res.Events) != 201 {
				t.Errorf("ended %s %q with %d events", res.End, res.EndDetail, len(res.Events))
			}
		})
	}
	wg.Wait()
	noneLeft(t)
}
