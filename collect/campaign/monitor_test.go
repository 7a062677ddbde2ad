package campaign

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"assay/collect/engine"
	"assay/collect/record"
)

// lateCounter is an engine that is idle and counts served requests only from its
// n-th page on.
func lateCounter(t *testing.T, n int64) string {
	t.Helper()
	var pages atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		finished := 100
		if pages.Add(1) >= n {
			finished = 103
		}
		fmt.Fprintf(w, "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\nvllm:request_success_total{finished_reason=\"stop\"} %d\n", finished)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// monitored makes a monitor whose rows go to a spool in folder.
func monitored(t *testing.T, url, folder string) *monitor {
	t.Helper()
	client, err := engine.NewClient(engine.ClientOptions{BaseURL: url})
	if err != nil {
		t.Fatal(err)
	}
	spool, err := record.CreateSpool(filepath.Join(folder, record.SpoolName))
	if err != nil {
		t.Fatal(err)
	}
	return &monitor{
		client: client, anchor: record.NewAnchor(), out: startWriter(spool, func(error) {}, nil), progress: silent{},
		drainBound: time.Minute, countBound: time.Minute, answers: map[string][]record.Answer{}, inode: map[string]int64{},
	}
}

// stored closes the monitor's spool and reads a table of it.
func stored[T any](t *testing.T, m *monitor, folder string, table *record.Table[T]) []T {
	t.Helper()
	if err := m.out.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Convert(folder, nil); err != nil {
		t.Fatal(err)
	}
	rows, err := record.ReadTable(folder, table)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestTheLastPageWaitsUntilTheEngineHasCounted(t *testing.T) {
	folder := t.TempDir()
	m := monitored(t, lateCounter(t, 7), folder)
	m.settle(context.Background(), phaseBefore, time.Millisecond) // two pages
	m.noteCounted()
	m.settle(context.Background(), phaseAfter, time.Millisecond) // two more: idle, and not counted yet
	m.awaitCounted(context.Background(), 3, time.Millisecond)
	pages := stored(t, m, folder, record.Pages)
	if len(pages) != 7 || *finishedOn(pages[6]) != 103 || pages[6].Phase != phaseAfter {
		t.Errorf("%d pages, want 7 with the count on the last", len(pages))
	}
	if problems, err := record.ReadTable(folder, record.Problems); err != nil || len(problems) > 0 {
		t.Errorf("problems %v, %v", problems, err)
	}
}

func TestAnEngineThatNeverCountsIsNotedAndNotAwaitedForEver(t *testing.T) {
	folder := t.TempDir()
	m := monitored(t, lateCounter(t, 1<<40), folder)
	m.countBound = time.Millisecond
	m.settle(context.Background(), phaseBefore, time.Millisecond)
	m.noteCounted()
	m.awaitCounted(context.Background(), 3, time.Millisecond)
	problems := stored(t, m, folder, record.Problems)
	if len(problems) != 1 || problems[0].Code != "not_yet_counted" || problems[0].Detail != "the engine counted 0 of 3 requests the client saw end; it was given 1ms" {
		t.Errorf("problems: %v", problems)
	}
}

// One scrape is in flight at a time, however slow the engine and however short
// the interval; ticks that fell into a scrape are counted (case D16).
func TestD16OneScrapeIsInFlightAndSkippedTicksAreCounted(t *testing.T) {
	var inFlight, most, served atomic.Int64
	ctx, cancel := context.WithCancel(context.Background())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		most.Store(max(most.Load(), inFlight.Add(1)))
		time.Sleep(20 * time.Millisecond) // longer than the interval
		fmt.Fprintln(w, "vllm:num_requests_running 1")
		inFlight.Add(-1)
		if served.Add(1) == 5 {
			cancel()
		}
	}))
	defer server.Close()
	folder := t.TempDir()
	m := monitored(t, server.URL+"/v1", folder)
	m.watchPages(ctx, time.Millisecond)
	problems := stored(t, m, folder, record.Problems)
	pages, err := record.ReadTable(folder, record.Pages)
	if err != nil || most.Load() != 1 || len(pages) < 5 {
		t.Errorf("%d scrapes at once, %d pages, %v", most.Load(), len(pages), err)
	}
	for _, p := range pages {
		if p.EndNs-p.StartNs < int64(20*time.Millisecond) || p.Error != "" {
			t.Errorf("page %d took %d ns, error %q", p.Seq, p.EndNs-p.StartNs, p.Error)
		}
	}
	if len(problems) != 1 || problems[0].Code != "sample_skipped" {
		t.Errorf("problems: %v", problems)
	}
}
