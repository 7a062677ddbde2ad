package selfcheck

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/collect/stream"
)

func TestLoadsArePacedFirst(t *testing.T) {
	want := []Load{
		{Mode: Paced, Streams: 256, Rate: 100}, {Mode: Paced, Streams: 1000, Rate: 50},
		{Mode: Flood, Streams: 256}, {Mode: Flood, Streams: 1000},
	}
	if diff := cmp.Diff(want, Loads([]int64{256, 1000})); diff != "" {
		t.Errorf("loads (-want +got):\n%s", diff)
	}
}

func TestOrderHoldsTheWholePacedLoadAndBoundsAFlood(t *testing.T) {
	for _, tt := range []struct {
		load  Load
		lasts time.Duration
		want  int64
	}{
		{Load{Mode: Paced, Streams: 4, Rate: 100}, 6100 * time.Millisecond, 610},
		{Load{Mode: Paced, Streams: 4, Rate: 1}, time.Millisecond, 1},
		{Load{Mode: Flood, Streams: 1}, time.Hour, floodMax},
		{Load{Mode: Flood, Streams: 256}, time.Hour, 2048},
		{Load{Mode: Flood, Streams: MaxStreams}, time.Hour, floodMin},
	} {
		if got := tt.load.order(tt.lasts).Events; got != tt.want {
			t.Errorf("%+v over %s: %d events, want %d", tt.load, tt.lasts, got, tt.want)
		}
	}
}

func TestStreamsHaveEvenPhasesOfOneSchedule(t *testing.T) {
	l := serving{order: Load{Mode: Paced, Streams: 4, Rate: 100}.order(time.Second)}
	for _, tt := range []struct {
		k, i int64
		want time.Duration
	}{
		{0, 0, 0}, {0, 1, 2500 * time.Microsecond}, {0, 3, 7500 * time.Microsecond},
		{1, 0, 10 * time.Millisecond}, {1, 3, 17500 * time.Microsecond}, {100, 0, time.Second},
	} {
		if got := l.due(tt.k, tt.i); got != tt.want {
			t.Errorf("event %d of stream %d is due at %s, want %s", tt.k, tt.i, got, tt.want)
		}
	}
	if l := (serving{order: order{Streams: MaxStreams, Rate: 50}}); l.due(50*86400, 0) != 24*time.Hour {
		t.Errorf("after a day of the largest load an event is due at %s", l.due(50*86400, 0))
	}
}

// answerOf is what stream.Do makes of an answer with these chunks.
func answerOf(payloads ...[]byte) stream.Result {
	res := stream.Result{End: stream.EndDone, T0UnixNs: 1000}
	for i, p := range append(payloads, []byte("[DONE]")) {
		res.Events = append(res.Events, stream.EventRow{
			Seq: int64(i), ReadSeq: int64(i / 2), Payload: p, ReadNs: int64(100 + i), ReadUnixNs: int64(1100 + i),
			KernelUnixNs: int64(1090 + i), HasKernel: i > 0,
		})
	}
	return res
}

func payload(seq, sent int64) []byte {
	c := newChunk()
	c.number(seq)
	c.stamp(sent)
	return c.wire[c.payloadAt:][:payloadLen]
}

func TestChunkIsOneEventOfJSONWithItsNumbers(t *testing.T) {
	c := newChunk()
	c.number(42)
	c.stamp(1_792_239_848_123_456_789)
	var body []byte
	var dechunk stream.Dechunker
	if _, err := dechunk.Push(c.wire, func(b []byte) { body = append(body, b...) }); err != nil {
		t.Fatal(err)
	}
	var parser stream.Parser
	var events []string
	if err := parser.Push(body, func(ev stream.Event) { events = append(events, string(ev.Data)) }); err != nil {
		t.Fatal(err)
	}
	if len(events) != 1 || parser.Tail() != nil || !json.Valid([]byte(events[0])) {
		t.Fatalf("events %q, tail %q", events, parser.Tail())
	}
	seq, sent, err := readChunk([]byte(events[0]))
	if seq != 42 || sent != 1_792_239_848_123_456_789 || err != nil {
		t.Errorf("seq %d, sent %d, error %v", seq, sent, err)
	}
}

func TestAppendSamplesKeepsBothTimesOfAnEvent(t *testing.T) {
	got, err := appendSamples(nil, answerOf(payload(0, 1095), payload(1, 1096), payload(2, 1097)))
	if err != nil {
		t.Fatal(err)
	}
	want := []sample{
		{seq: 0, sentNs: 1095, arrivedNs: 1100, readNs: 1100, merged: true},
		{seq: 1, sentNs: 1096, arrivedNs: 1091, readNs: 1101, kernel: true},
		{seq: 2, sentNs: 1097, arrivedNs: 1092, readNs: 1102, kernel: true, merged: true},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{})); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

func TestAppendSamplesRefusesABrokenAnswer(t *testing.T) {
	broken := func(change func(*stream.Result)) stream.Result {
		res := answerOf(payload(5, 1), payload(6, 2))
		change(&res)
		return res
	}
	for name, res := range map[string]stream.Result{
		"cut":           broken(func(r *stream.Result) { r.End = stream.EndShortBody }),
		"no end":        broken(func(r *stream.Result) { r.EndDetail = "grace_expired" }),
		"nothing":       {End: stream.EndConnectFailed, EndDetail: "emfile"},
		"again":         answerOf(payload(6, 1), payload(6, 2)),
		"backwards":     answerOf(payload(7, 1), payload(6, 2)),
		"other text":    answerOf([]byte("{}")),
		"other bytes":   broken(func(r *stream.Result) { r.Events[0].Payload[0] = '[' }),
		"other digits":  broken(func(r *stream.Result) { r.Events[0].Payload[seqAt] = 'x' }),
		"other time":    broken(func(r *stream.Result) { r.Events[0].Payload[sentAt] = ' ' }),
		"cut payload":   broken(func(r *stream.Result) { r.Events[0].Payload = r.Events[0].Payload[:payloadLen-1] }),
		"goes on wrong": answerOf(payload(3, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			if samples, err := appendSamples([]sample{{seq: 4}}, res); err == nil {
				t.Errorf("samples %+v", samples)
			}
		})
	}
}
