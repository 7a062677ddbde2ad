package sample

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/collect/record"
)

// timeless takes one reading, checks its time, and clears it.
func timeless(t *testing.T, rows []record.CgroupSample) record.CgroupSample {
	t.Helper()
	if len(rows) != 1 {
		t.Fatalf("%d rows, want 1", len(rows))
	}
	if rows[0].AtUnixNs == 0 {
		t.Error("reading has no time")
	}
	rows[0].AtNs, rows[0].AtUnixNs = 0, 0
	return rows[0]
}

func TestCgroupReadsItsFiles(t *testing.T) {
	got := timeless(t, NewCgroup("testdata/cgroup2", "/machine.slice/engine.scope").Read(record.NewAnchor()))
	if got.Inode == nil || *got.Inode <= 0 {
		t.Error("no inode: a group made anew would go unnoticed")
	}
	got.Inode = nil
	want := record.CgroupSample{
		Status: "ok", MemoryCurrentBytes: of[int64](51e9), MemoryPeakBytes: of[int64](90e9),
		AnonBytes: of[int64](18e8), FileBytes: of[int64](49e9), ShmemBytes: of[int64](5000),
		OOMEvents: of[int64](2), OOMKillEvents: of[int64](1), CPUUsageUs: of[int64](123456789), ThrottledUs: of[int64](777),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("group without a limit (-want +got):\n", diff)
	}
}

func TestCgroupLeavesNullWhatTheKernelLacks(t *testing.T) {
	got := timeless(t, NewCgroup("testdata/cgroup2", "old.slice").Read(record.NewAnchor()))
	got.Inode = nil
	want := record.CgroupSample{Status: "ok", MemoryCurrentBytes: of[int64](1000), MemoryMaxBytes: of[int64](2000)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("group of an old kernel (-want +got):\n", diff)
	}
}

func TestCgroupSaysOnceThatItIsUnavailable(t *testing.T) {
	for _, tt := range []struct{ name, root, path, status string }{
		{"no path", "testdata/cgroup2", "", "unavailable: not configured"},
		{"version 1", "testdata/cgroup1", "/memory", "unavailable: cgroup v1"},
		{"outside the namespace", "testdata/cgroup2", "/../other.scope", "unavailable: not visible from here"},
		{"no file system", "testdata/none", "/a", "unavailable: no cgroup file system"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := NewCgroup(tt.root, tt.path)
			got := timeless(t, c.Read(record.NewAnchor()))
			if diff := cmp.Diff(record.CgroupSample{Status: tt.status}, got); diff != "" {
				t.Error("first reading (-want +got):\n", diff)
			}
			if again := c.Read(record.NewAnchor()); len(again) != 0 {
				t.Errorf("second reading has %d rows, want none", len(again))
			}
		})
	}
}

func TestCgroupNoticesAGroupThatGoesAndComesBack(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("cgroup.controllers", "memory\n")
	c := NewCgroup(root, "/g")
	for range 2 {
		got := timeless(t, c.Read(record.NewAnchor()))
		if diff := cmp.Diff(record.CgroupSample{Status: "unavailable: no such group"}, got); diff != "" {
			t.Error("missing group (-want +got):\n", diff)
		}
	}
	write("g/memory.current", "7\n")
	got := timeless(t, c.Read(record.NewAnchor()))
	if got.Status != "ok" || got.MemoryCurrentBytes == nil || *got.MemoryCurrentBytes != 7 {
		t.Errorf("group that came: status %q, current %v", got.Status, got.MemoryCurrentBytes)
	}
	write("cpuonly/cpu.stat", "usage_usec 5\n")
	got = timeless(t, NewCgroup(root, "cpuonly").Read(record.NewAnchor()))
	if got.Status != "partial: no memory controller" || got.CPUUsageUs == nil || *got.CPUUsageUs != 5 {
		t.Errorf("group without memory controller: status %q, CPU %v", got.Status, got.CPUUsageUs)
	}
}
