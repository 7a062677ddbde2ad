package sample

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/collect/record"
)

func of[T any](v T) *T { return &v }

// own clears what differs from run to run, after checking that it is there.
func own(t *testing.T, s record.HostSample) record.HostSample {
	t.Helper()
	if s.ClientCPUNs == nil || s.ClientRSSBytes == nil || s.ClientGoroutines == nil || s.ClientGCPauseNs == nil {
		t.Fatalf("the collector's own figures are missing: %+v", s)
	}
	if *s.ClientRSSBytes <= 0 || *s.ClientGoroutines <= 0 || *s.ClientCPUNs < 0 || *s.ClientGCPauseNs < 0 {
		t.Errorf("implausible figures of the collector: %d bytes, %d goroutines, %d ns CPU, %d ns paused",
			*s.ClientRSSBytes, *s.ClientGoroutines, *s.ClientCPUNs, *s.ClientGCPauseNs)
	}
	if s.AtUnixNs == 0 {
		t.Error("reading has no time")
	}
	s.ClientCPUNs, s.ClientRSSBytes, s.ClientGoroutines, s.ClientGCPauseNs = nil, nil, nil, nil
	s.AtNs, s.AtUnixNs = 0, 0
	return s
}

func TestHostReadsItsFiles(t *testing.T) {
	got := own(t, NewHost("testdata/proc").Read(record.NewAnchor()))
	want := record.HostSample{
		Status: "ok", MemTotalBytes: of[int64](131072000 << 10), MemAvailableBytes: of[int64](98304000 << 10),
		SwapFreeBytes: of[int64](8000000 << 10), Load1: of(1.25), OOMKills: of[int64](3),
		BootID: "11111111-2222-4333-8444-555555555555", UptimeSeconds: of(12345.67), Load5: of(0.75), SwapTotalBytes: of[int64](8388608 << 10), MajorFaults: of[int64](12),
		MemoryPressureUs: of[int64](11), MemoryStalledUs: of[int64](5), CPUPressureUs: of[int64](22), IOPressureUs: of[int64](33),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("host (-want +got):\n", diff)
	}
}

func TestHostNamesWhatItCannotRead(t *testing.T) {
	got := own(t, NewHost(t.TempDir()).Read(record.NewAnchor()))
	why := reasons(t, got.Missing)
	if why["mem_available_bytes"] != "meminfo cannot be read" || why["io_pressure_us"] != "the kernel gives no pressure" {
		t.Errorf("reasons: %v", why)
	}
	got.Missing = nil
	want := record.HostSample{Status: "partial: meminfo loadavg vmstat boot_id uptime"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("host (-want +got):\n", diff)
	}
}

func TestHostNeverFillsInMemAvailable(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "meminfo"), []byte("MemTotal: 100 kB\nMemFree: 50 kB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := NewHost(root).Read(record.NewAnchor())
	if got.MemAvailableBytes != nil {
		t.Errorf("MemAvailable = %d, want none: the kernel does not give it", *got.MemAvailableBytes)
	}
	if why := reasons(t, got.Missing)["mem_available_bytes"]; why != "meminfo lacks MemAvailable" {
		t.Errorf("the reason is %q", why)
	}
	if got.MemTotalBytes == nil || *got.MemTotalBytes != 100<<10 {
		t.Errorf("MemTotal = %v, want 102400", got.MemTotalBytes)
	}
}

func TestHostReadsTheRunningSystem(t *testing.T) {
	if _, err := os.Stat("/proc/meminfo"); err != nil {
		t.Skip("no /proc here")
	}
	got := NewHost("/proc").Read(record.NewAnchor())
	everyNullHasAReason(t, record.Host, got, got.Missing)
	if got.MemTotalBytes == nil || *got.MemTotalBytes <= 0 || got.Load1 == nil {
		t.Errorf("no memory or load read from /proc: %+v", got.Status)
	}
}

func TestKeyedLinesLeaveOutOddOnes(t *testing.T) {
	got := keyedLines("a 1\nb\nc x\nd 99999999999999999999\n\ne 5")
	if diff := cmp.Diff(map[string]*int64{"a": of[int64](1), "e": of[int64](5)}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}
