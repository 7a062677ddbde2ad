package selfcheck

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/collect/record"
	"assay/collect/stream"
)

// TestMain lets the test binary be the server.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != ServerCommand {
		os.Exit(m.Run())
	}
	bound, err := time.ParseDuration(os.Args[2])
	if err == nil {
		err = Serve(os.Stdin, os.Stdout, bound)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func TestRunLosesNothingAndItsRawFileRecomputes(t *testing.T) {
	loads := []Load{
		{Mode: Paced, Streams: 1, Rate: 100},
		{Mode: Paced, Streams: 16, Rate: 50},
		{Mode: Flood, Streams: 1},
		{Mode: Flood, Streams: 4},
	}
	var raw bytes.Buffer
	var told []Load
	rows, err := Run(t.Context(), Options{
		Loads: loads, LeftOut: 50 * time.Millisecond, Counted: 200 * time.Millisecond,
		Raw: &raw, Progress: func(l Load) { told = append(told, l) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(loads, told); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	for _, r := range rows {
		if r.Lost != 0 {
			t.Errorf("%s, %d streams: %d events lost", r.Mode, r.Streams, r.Lost)
		}
	}
	events := readRaw(t, raw.String())
	if diff := cmp.Diff(recompute(events), rows); diff != "" {
		t.Errorf("recomputed from the raw file, and printed (-want +got):\n%s", diff)
	}
	for _, e := range events {
		if e.arrived > e.read {
			t.Fatalf("an event's time %d is after its read %d", e.arrived, e.read)
		}
	}
	checkPaced(t, events)
}

// checkPaced wants every event of the paced schedules exactly once, each sent
// when it was due or later.
func checkPaced(t *testing.T, events []rawEvent) {
	type key struct{ streams, stream int64 }
	next, last := map[key]int64{}, map[key]int64{}
	for _, e := range events {
		if e.mode != Paced {
			continue
		}
		k := key{e.streams, e.stream}
		if e.seq != next[k] {
			t.Fatalf("stream %d of %d: event %d, want %d", e.stream, e.streams, e.seq, next[k])
		}
		if e.sent < last[k] {
			t.Errorf("stream %d of %d: event %d was sent before the one before", e.stream, e.streams, e.seq)
		}
		next[k], last[k] = e.seq+1, e.sent
	}
	if len(next) != 17 {
		t.Errorf("%d paced streams, want 17", len(next))
	}
	for k, n := range next {
		load := Load{Mode: Paced, Streams: k.streams, Rate: map[int64]int64{1: 100, 16: 50}[k.streams]}
		if want := load.order(250*time.Millisecond + tail).Events; n != want {
			t.Errorf("stream %d of %d: %d events, want %d", k.stream, k.streams, n, want)
		}
	}
}

// rawEvent is one row of the raw file.
type rawEvent struct {
	mode, rate, source        string
	streams, stream, seq      int64
	sent, arrived, read       int64
	received, merged, counted bool
	windowNs, cpuNs           int64
}

func readRaw(t *testing.T, text string) []rawEvent {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if header := strings.Join(lines[0], ",") + "\n"; header != RawHeader {
		t.Fatalf("header %q", header)
	}
	number := func(s string) int64 {
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil && s != "" {
			t.Fatal(err)
		}
		return v
	}
	var events []rawEvent
	for _, f := range lines[1:] {
		events = append(events, rawEvent{
			mode: f[0], streams: number(f[1]), rate: f[2], stream: number(f[3]), seq: number(f[4]),
			sent: number(f[5]), arrived: number(f[6]), read: number(f[7]), source: f[8],
			received: f[6] != "", merged: f[9] == "1", counted: f[10] == "1",
			windowNs: number(f[11]), cpuNs: number(f[12]),
		})
	}
	return events
}

// recompute does by the documented definitions what a stranger would do.
func recompute(events []rawEvent) []record.SelfCheck {
	var rows []record.SelfCheck
	for len(events) > 0 {
		n := slices.IndexFunc(events, func(e rawEvent) bool { return e.mode != events[0].mode || e.streams != events[0].streams })
		if n < 0 {
			n = len(events)
		}
		rows = append(rows, recomputeLoad(events[:n])...)
		events = events[n:]
	}
	return rows
}

func recomputeLoad(events []rawEvent) []record.SelfCheck {
	var byKernel, byRead []int64
	var lost, merged int64
	kernel := false
	for _, e := range events {
		if !e.received {
			lost++
		}
		if e.counted {
			byKernel, byRead = append(byKernel, e.arrived-e.sent), append(byRead, e.read-e.sent)
			kernel = kernel || e.source == "kernel"
			if e.merged {
				merged++
			}
		}
	}
	n := float64(len(byRead))
	first := events[0]
	row := record.SelfCheck{Mode: first.mode, Streams: first.streams, Lost: lost}
	row.CPUUsPerEvent = math.Round(float64(first.cpuNs)/n) / 1000
	row.EventsPerS = math.Round(n/float64(first.cpuNs)*1e10) / 10
	if rate, err := strconv.ParseInt(first.rate, 10, 64); err == nil {
		row.RatePerStream = &rate
		row.EventsPerS = math.Round(n/float64(first.windowNs)*1e10) / 10
	}
	row.MergedShare = math.Round(float64(merged)/n*1e6) / 1e6
	var rows []record.SelfCheck
	for source, errs := range map[string][]int64{"kernel": byKernel, "read": byRead} {
		if source == "kernel" && !kernel {
			continue
		}
		slices.Sort(errs)
		row.StampSource = source
		row.ErrorP50Us = float64(errs[(50*len(errs)+99)/100-1]) / 1000
		row.ErrorP99Us = float64(errs[(99*len(errs)+99)/100-1]) / 1000
		row.ErrorMaxUs = float64(slices.Max(errs)) / 1000
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b record.SelfCheck) int { return strings.Compare(a.StampSource, b.StampSource) })
	return rows
}

func TestRunRefusesLoadsItCannotRun(t *testing.T) {
	for name, load := range map[string]Load{
		"no stream":        {Mode: Paced, Rate: 1},
		"too many streams": {Mode: Flood, Streams: MaxStreams + 1},
		"no rate":          {Mode: Paced, Streams: 1},
		"no such mode":     {Mode: "bursts", Streams: 1, Rate: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if rows, err := Run(t.Context(), Options{Loads: []Load{load}}); err == nil || rows != nil {
				t.Errorf("rows %v, error %v", rows, err)
			}
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("interrupted here")
	rows, err := Run(ctx, Options{
		Loads:    []Load{{Mode: Paced, Streams: 2, Rate: 50}},
		Counted:  time.Hour,
		Progress: func(Load) { cancel(reason) },
	})
	if !errors.Is(err, reason) || rows != nil {
		t.Errorf("rows %v, error %v", rows, err)
	}
}

func TestObserveReportsAServerThatDies(t *testing.T) {
	for _, mode := range []string{Paced, Flood} {
		t.Run(mode, func(t *testing.T) {
			p := startServer(t, time.Hour)
			_ = time.AfterFunc(50*time.Millisecond, func() { _ = p.cmd.Process.Kill() })
			load := Load{Mode: mode, Streams: 2, Rate: 50}
			if _, err := observe(t.Context(), p, load, 0, time.Hour); err == nil {
				t.Error("no error")
			}
			if err := p.stop(); err == nil {
				t.Error("stop does not say that it was killed")
			}
		})
	}
}

func startServer(t *testing.T, bound time.Duration) *process {
	t.Helper()
	p, err := start(t.Context(), bound)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestServerEndsWithTheProcessThatStartedIt(t *testing.T) {
	p := startServer(t, time.Hour)
	if err := p.stop(); err != nil { // closes its input, as the end of this process would
		t.Error(err)
	}
}

func TestServerEndsAtItsBound(t *testing.T) {
	p := startServer(t, time.Millisecond)
	for range p.lines { // until its output ends, its input still open
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

func TestServerStartsNoOther(t *testing.T) {
	t.Setenv(insideVar, "1")
	if _, err := start(t.Context(), time.Hour); !errors.Is(err, errInside) {
		t.Errorf("error %v", err)
	}
}

func TestServerRefusesStreamsItDoesNotHave(t *testing.T) {
	p := startServer(t, time.Hour)
	defer func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := p.ask(t.Context(), Load{Mode: Flood, Streams: 2}.order(0)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", streamPath, streamPath + "2", streamPath + "-1", "/other/1"} {
		res := stream.Do(t.Context(), stream.Request{URL: "http://" + p.addr + path})
		if res.HTTPStatus != nil || len(res.Events) > 0 {
			t.Errorf("%s is served", path)
		}
	}
}
