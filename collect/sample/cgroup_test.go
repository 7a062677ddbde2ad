package sample

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
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

// reasons reads the column missing.
func reasons(t *testing.T, missing *string) map[string]string {
	t.Helper()
	out := map[string]string{}
	if missing == nil {
		return out
	}
	if err := json.Unmarshal([]byte(*missing), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// everyNullHasAReason holds that a column of numbers is null if and only if the
// column missing says why.
func everyNullHasAReason[T any](t *testing.T, table *record.Table[T], row T, missing *string) {
	t.Helper()
	why, fields := reasons(t, missing), reflect.ValueOf(row)
	columns := map[string]bool{}
	for i, c := range table.Columns {
		columns[c.Name] = true
		if c.Kind != record.KindReading || fields.Field(i).Kind() != reflect.Pointer || c.Type == "VARCHAR" {
			continue
		}
		if null, reason := fields.Field(i).IsNil(), why[c.Name]; null != (reason != "") {
			t.Errorf("%s.%s: null is %v, its reason %q", table.Name, c.Name, null, reason)
		}
	}
	for c := range why {
		if !columns[c] {
			t.Errorf("%s has no column %s, which has a reason", table.Name, c)
		}
	}
}

// unified is a mount of cgroup v2 at a folder of fixtures.
func unified(point string) Mounts { return Mounts{v2: mount{"/", point}} }

func TestCgroupReadsItsFiles(t *testing.T) {
	c := NewCgroup(unified("testdata/cgroup2"), Group{V2: "/machine.slice/engine.scope"})
	got := timeless(t, c.Read(record.NewAnchor()))
	if got.Inode == nil || *got.Inode <= 0 {
		t.Error("no inode: a group made anew would go unnoticed")
	}
	everyNullHasAReason(t, record.Cgroup, got, got.Missing)
	why := reasons(t, got.Missing)
	got.Inode, got.Missing = nil, nil
	want := record.CgroupSample{
		Status: "ok", MemoryCurrentBytes: of[int64](51e9), MemoryPeakBytes: of[int64](90e9),
		AnonBytes: of[int64](18e8), FileBytes: of[int64](49e9), ShmemBytes: of[int64](5000),
		OOMEvents: of[int64](2), OOMKillEvents: of[int64](1), CPUUsageUs: of[int64](123456789), ThrottledUs: of[int64](777),
		Version: of[int64](2), SwapCurrentBytes: of[int64](0), InactiveFileBytes: of[int64](46e9), KernelBytes: of[int64](100),
		MaxEvents: of[int64](4), OOMGroupKillEvents: of[int64](0), ThrottledPeriods: of[int64](1), CPUQuotaUs: of[int64](400000),
		CPUPeriodUs: of[int64](100000), PIDs: of[int64](77), MemoryPressureUs: of[int64](1500), MemoryStalledUs: of[int64](300), CPUPressureUs: of[int64](9),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("group without a limit (-want +got):\n", diff)
	}
	wantWhy := map[string]string{
		"memory_max_bytes": "no limit", "memory_high_bytes": "no limit", "swap_max_bytes": "no limit",
		"io_pressure_us": "the kernel or the group lacks io.pressure",
	}
	if diff := cmp.Diff(wantWhy, why); diff != "" {
		t.Error("reasons (-want +got):\n", diff)
	}
}

func TestCgroupLeavesNullWhatTheKernelLacks(t *testing.T) {
	got := timeless(t, NewCgroup(unified("testdata/cgroup2"), Group{V2: "/old.slice"}).Read(record.NewAnchor()))
	everyNullHasAReason(t, record.Cgroup, got, got.Missing)
	why := reasons(t, got.Missing)
	got.Inode, got.Missing = nil, nil
	want := record.CgroupSample{Status: "ok", Version: of[int64](2), MemoryCurrentBytes: of[int64](1000), MemoryMaxBytes: of[int64](2000)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("group of an old kernel (-want +got):\n", diff)
	}
	if why["memory_peak_bytes"] != "the kernel or the group lacks memory.peak" {
		t.Errorf("reasons: %v", why)
	}
}

// TestCgroupOfVersion1 reads a group whose controllers have a folder each, times
// in ns, and the largest number for no limit.
func TestCgroupOfVersion1(t *testing.T) {
	at := func(controller string) mount { return mount{"/", "testdata/cgroup1/" + controller} }
	mounts := Mounts{v1: map[string]mount{"memory": at("memory"), "cpu": at("cpu,cpuacct"), "cpuacct": at("cpu,cpuacct")}}
	group := Group{V1: map[string]string{"memory": "/docker/ab", "cpu": "/docker/ab", "cpuacct": "/docker/ab"}}
	got := timeless(t, NewCgroup(mounts, group).Read(record.NewAnchor()))
	everyNullHasAReason(t, record.Cgroup, got, got.Missing)
	why := reasons(t, got.Missing)
	got.Inode, got.Missing = nil, nil
	want := record.CgroupSample{
		Status: "ok", Version: of[int64](1), MemoryCurrentBytes: of[int64](4096), MemoryPeakBytes: of[int64](8192), AnonBytes: of[int64](1024), FileBytes: of[int64](2048),
		InactiveFileBytes: of[int64](512), OOMKillEvents: of[int64](3), MaxEvents: of[int64](7), CPUUsageUs: of[int64](5_000_000), ThrottledUs: of[int64](2),
		ThrottledPeriods: of[int64](4), CPUPeriodUs: of[int64](100000),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("group of version 1 (-want +got):\n", diff)
	}
	for column, reason := range map[string]string{
		"memory_max_bytes": "no limit", "cpu_quota_us": "no limit", "pids": "the controller is not there",
		"shmem_bytes": "memory.stat lacks total_shmem", "memory_pressure_us": "cgroup v1 has no such figure",
	} {
		if why[column] != reason {
			t.Errorf("%s is null for %q, want %q", column, why[column], reason)
		}
	}
}

func TestCgroupSaysOnceThatItIsUnavailable(t *testing.T) {
	for _, tt := range []struct {
		name   string
		mounts Mounts
		group  Group
		status string
	}{
		{"no group", unified("testdata/cgroup2"), Group{}, "unavailable: not configured"},
		{"outside the namespace", unified("testdata/cgroup2"), NoGroup(ReasonNotVisible), "unavailable: not visible from here"},
		{"another part is mounted", Mounts{v2: mount{"/docker/ab", "testdata/cgroup2"}}, Group{V2: "/docker/abc"}, "unavailable: not visible from here"},
		{"no file system", Mounts{}, Group{V2: "/a"}, "unavailable: its control group hierarchy is not mounted here"},
		{"no version 1", unified("testdata/cgroup2"), Group{V1: map[string]string{"memory": "/a"}}, "unavailable: its control group hierarchy is not mounted here"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := NewCgroup(tt.mounts, tt.group)
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

// put writes a file below a folder.
func put(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCgroupNoticesAGroupThatGoesAndComesBack(t *testing.T) {
	root := t.TempDir()
	c := NewCgroup(unified(root), Group{V2: "/g"})
	for range 2 {
		got := timeless(t, c.Read(record.NewAnchor()))
		if diff := cmp.Diff(record.CgroupSample{Status: "unavailable: no such group"}, got); diff != "" {
			t.Error("missing group (-want +got):\n", diff)
		}
	}
	put(t, root, "g/memory.current", "7\n")
	got := timeless(t, c.Read(record.NewAnchor()))
	if got.Status != "ok" || got.MemoryCurrentBytes == nil || *got.MemoryCurrentBytes != 7 {
		t.Errorf("group that came: status %q, current %v", got.Status, got.MemoryCurrentBytes)
	}
	put(t, root, "cpuonly/cpu.stat", "usage_usec 5\n")
	got = timeless(t, NewCgroup(unified(root), Group{V2: "/cpuonly"}).Read(record.NewAnchor()))
	if got.Status != "partial: no memory controller" || got.CPUUsageUs == nil || *got.CPUUsageUs != 5 {
		t.Errorf("group without memory controller: status %q, CPU %v", got.Status, got.CPUUsageUs)
	}
}

func TestCgroupTakesNoOddTextForANumber(t *testing.T) {
	root := t.TempDir()
	put(t, root, "g/memory.current", "many\n")
	put(t, root, "g/cpu.max", "some words\n")
	put(t, root, "g/memory.pressure", "some avg10=0.00 total=x\nodd\n")
	got := timeless(t, NewCgroup(unified(root), Group{V2: "/g"}).Read(record.NewAnchor()))
	why := reasons(t, got.Missing)
	if got.MemoryCurrentBytes != nil || got.CPUQuotaUs != nil || got.MemoryPressureUs != nil {
		t.Errorf("odd texts were read as numbers: %+v", got)
	}
	if why["memory_current_bytes"] != "memory.current holds no number" || why["cpu_quota_us"] != "cpu.max holds no number" || why["memory_pressure_us"] != "memory.pressure lacks some" {
		t.Errorf("reasons %v", why)
	}
}

func TestGroupOfAProcess(t *testing.T) {
	proc := t.TempDir()
	for pid, text := range map[string]string{
		"1/cgroup": "0::/system.slice/docker-ab.scope\n",
		"2/cgroup": "4:memory:/docker/ab\n2:cpu,cpuacct:/docker/ab\n1:name=systemd:/docker/ab\n0::/\n",
		"3/cgroup": "0::/\n", "4/cgroup": "0::/../other.scope\n", "5/cgroup": "4:memory:/\n0::/\n", "6/cgroup": "odd\n",
		// A host with both: the memory controller is in version 2.
		"7/cgroup": "9:name=systemd:/system.slice/a.service\n0::/system.slice/a.service\n",
	} {
		put(t, proc, pid, text)
	}
	none := NoGroup(ReasonNotVisible)
	for pid, want := range map[int64]Group{
		1: {V2: "/system.slice/docker-ab.scope"},
		2: {V1: map[string]string{"memory": "/docker/ab", "cpu": "/docker/ab", "cpuacct": "/docker/ab", "name=systemd": "/docker/ab"}},
		3: none, 4: none, 5: none, 6: none, 7: {V2: "/system.slice/a.service"}, 8: none, 0: none, -1: none,
	} {
		if diff := cmp.Diff(want, GroupOf(proc, pid)); diff != "" {
			t.Errorf("process %d (-want +got):\n%s", pid, diff)
		}
	}
}

func TestMountsAreThoseOfTheNamespace(t *testing.T) {
	proc := t.TempDir()
	put(t, proc, "self/mountinfo", `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
34 31 0:31 /docker/ab /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
odd line
`)
	m := MountsOf(proc, "/base")
	for path, got := range map[string]string{
		"/base/sys/fs/cgroup/memory/x":        m.v1["memory"].folder("/docker/ab/x"),
		"":                                    m.v1["memory"].folder("/docker/other"),
		"/base/sys/fs/cgroup/cpu,cpuacct/a/b": m.v1["cpuacct"].folder("/a/b"),
		"/base/sys/fs/cgroup/unified/s/t":     m.v2.folder("/s/t"),
	} {
		if got != path {
			t.Errorf("folder %q, want %q", got, path)
		}
	}
	if got := MountsOf(t.TempDir(), "").v2.folder("/a"); got != "" {
		t.Errorf("without mounts a group is at %q", got)
	}
}

// TestOwnGroupIsRead reads the running system, whatever version it has.
func TestOwnGroupIsRead(t *testing.T) {
	group := GroupOf("/proc", int64(os.Getpid()))
	rows := NewCgroup(MountsOf("/proc", ""), group).Read(record.NewAnchor())
	if len(rows) != 1 || rows[0].Status == "" {
		t.Fatalf("reading %+v", rows)
	}
	if rows[0].Status == "ok" && (rows[0].MemoryCurrentBytes == nil || *rows[0].MemoryCurrentBytes <= 0) {
		t.Errorf("the group of this process uses no memory: %+v", rows[0])
	}
	t.Log(rows[0].Status)
}
