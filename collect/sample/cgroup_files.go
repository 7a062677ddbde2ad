package sample

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assay/collect/record"
)

// groupReading is the reading of one group, under way. Every column that stays
// null gets its reason.
type groupReading struct {
	sample *record.CgroupSample
	gaps   gaps
}

// noLimit1 is what version 1 prints for no limit: the largest page-aligned number,
// which differs with the size of a page. Nothing real is near.
const noLimit1 = 1 << 62

// version2 reads the files of a group of cgroup v2 (Linux, cgroup-v2.rst).
func (r *groupReading) version2(folder string) {
	s := r.sample
	for _, f := range []struct {
		file, column string
		to           **int64
	}{
		{"memory.current", "memory_current_bytes", &s.MemoryCurrentBytes},
		{"memory.peak", "memory_peak_bytes", &s.MemoryPeakBytes},
		{"memory.max", "memory_max_bytes", &s.MemoryMaxBytes},
		{"memory.high", "memory_high_bytes", &s.MemoryHighBytes},
		{"memory.swap.current", "swap_current_bytes", &s.SwapCurrentBytes},
		{"memory.swap.max", "swap_max_bytes", &s.SwapMaxBytes},
		{"pids.current", "pids", &s.PIDs},
	} {
		r.number(folder, f.file, f.column, f.to)
	}
	r.keyed(folder, "memory.stat", []keyedColumn{
		{"anon", "anon_bytes", &s.AnonBytes}, {"file", "file_bytes", &s.FileBytes}, {"shmem", "shmem_bytes", &s.ShmemBytes},
		{"inactive_file", "inactive_file_bytes", &s.InactiveFileBytes}, {"kernel", "kernel_bytes", &s.KernelBytes},
	})
	r.keyed(folder, "memory.events", []keyedColumn{
		{"max", "max_events", &s.MaxEvents}, {"oom", "oom_events", &s.OOMEvents},
		{"oom_kill", "oom_kill_events", &s.OOMKillEvents}, {"oom_group_kill", "oom_group_kill_events", &s.OOMGroupKillEvents},
	})
	r.keyed(folder, "cpu.stat", []keyedColumn{
		{"usage_usec", "cpu_usage_us", &s.CPUUsageUs}, {"throttled_usec", "throttled_us", &s.ThrottledUs},
		{"nr_throttled", "throttled_periods", &s.ThrottledPeriods},
	})
	r.quota2(folder)
	r.pressure(folder, "memory.pressure", "memory_pressure_us", &s.MemoryPressureUs, "memory_stalled_us", &s.MemoryStalledUs)
	r.pressure(folder, "cpu.pressure", "cpu_pressure_us", &s.CPUPressureUs, "", nil)
	r.pressure(folder, "io.pressure", "io_pressure_us", &s.IOPressureUs, "", nil)
}

// version1 reads the files of a group of cgroup v1 (Linux, cgroup-v1/*.rst). Each
// controller has a folder of its own.
func (r *groupReading) version1(folder func(controller string) string) {
	s, memory := r.sample, folder("memory")
	r.number(memory, "memory.usage_in_bytes", "memory_current_bytes", &s.MemoryCurrentBytes)
	r.number(memory, "memory.max_usage_in_bytes", "memory_peak_bytes", &s.MemoryPeakBytes)
	r.number(memory, "memory.limit_in_bytes", "memory_max_bytes", &s.MemoryMaxBytes)
	r.number(memory, "memory.kmem.usage_in_bytes", "kernel_bytes", &s.KernelBytes)
	r.number(memory, "memory.failcnt", "max_events", &s.MaxEvents)
	r.number(folder("pids"), "pids.current", "pids", &s.PIDs)
	// The total_ lines count the groups below too, as version 2 always does.
	r.keyed(memory, "memory.stat", []keyedColumn{
		{"total_rss", "anon_bytes", &s.AnonBytes}, {"total_cache", "file_bytes", &s.FileBytes},
		{"total_shmem", "shmem_bytes", &s.ShmemBytes}, {"total_inactive_file", "inactive_file_bytes", &s.InactiveFileBytes},
	})
	r.keyed(memory, "memory.oom_control", []keyedColumn{{"oom_kill", "oom_kill_events", &s.OOMKillEvents}})
	r.keyed(folder("cpu"), "cpu.stat", []keyedColumn{
		{"throttled_time", "throttled_us", &s.ThrottledUs}, {"nr_throttled", "throttled_periods", &s.ThrottledPeriods},
	})
	r.number(folder("cpuacct"), "cpuacct.usage", "cpu_usage_us", &s.CPUUsageUs)
	for _, ns := range []*int64{s.ThrottledUs, s.CPUUsageUs} {
		if ns != nil {
			*ns /= 1000
		}
	}
	r.number(folder("cpu"), "cpu.cfs_period_us", "cpu_period_us", &s.CPUPeriodUs)
	r.number(folder("cpu"), "cpu.cfs_quota_us", "cpu_quota_us", &s.CPUQuotaUs)
	if s.CPUQuotaUs != nil && *s.CPUQuotaUs < 0 {
		s.CPUQuotaUs = nil
		r.gaps.note("no limit", "cpu_quota_us")
	}
	r.gaps.note("cgroup v1 has no such figure", "memory_high_bytes", "swap_current_bytes", "swap_max_bytes", "oom_events", "oom_group_kill_events",
		"memory_pressure_us", "memory_stalled_us", "cpu_pressure_us", "io_pressure_us")
}

// number reads a file with one number, or "max" for no limit.
func (r *groupReading) number(folder, file, column string, to **int64) {
	text, ok := r.file(folder, file, column)
	if !ok {
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case text == "max" || err == nil && n > noLimit1:
		r.gaps.note("no limit", column)
	case err != nil:
		r.gaps.note(file+" holds no number", column)
	default:
		*to = &n
	}
}

func (r *groupReading) file(folder, file string, columns ...string) (text string, ok bool) {
	if folder == "" {
		r.gaps.note("the controller is not there", columns...)
		return "", false
	}
	content, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		r.gaps.note("the kernel or the group lacks "+file, columns...)
		return "", false
	}
	return strings.TrimSpace(string(content)), true
}

// keyedColumn is one line of a file of "name number" lines.
type keyedColumn struct {
	key, column string
	to          **int64
}

func (r *groupReading) keyed(folder, file string, columns []keyedColumn) {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.column
	}
	text, ok := r.file(folder, file, names...)
	if !ok {
		return
	}
	values := keyedLines(text)
	for _, c := range columns {
		if *c.to = values[c.key]; *c.to == nil {
			r.gaps.note(file+" lacks "+c.key, c.column)
		}
	}
}

// quota2 reads cpu.max: "quota period" or "max period".
func (r *groupReading) quota2(folder string) {
	text, ok := r.file(folder, "cpu.max", "cpu_quota_us", "cpu_period_us")
	if !ok {
		return
	}
	quota, period, _ := strings.Cut(text, " ")
	if n, err := strconv.ParseInt(period, 10, 64); err == nil {
		r.sample.CPUPeriodUs = &n
	} else {
		r.gaps.note("cpu.max holds no number", "cpu_period_us")
	}
	switch n, err := strconv.ParseInt(quota, 10, 64); {
	case quota == "max":
		r.gaps.note("no limit", "cpu_quota_us")
	case err != nil:
		r.gaps.note("cpu.max holds no number", "cpu_quota_us")
	default:
		r.sample.CPUQuotaUs = &n
	}
}

func (r *groupReading) pressure(folder, file, someColumn string, some **int64, fullColumn string, full **int64) {
	text, ok := r.file(folder, file, someColumn)
	if !ok {
		if fullColumn != "" {
			r.gaps.note(r.gaps[someColumn], fullColumn)
		}
		return
	}
	if *some = stallTotal(text, "some"); *some == nil {
		r.gaps.note(file+" lacks some", someColumn)
	}
	if fullColumn == "" {
		return
	}
	if *full = stallTotal(text, "full"); *full == nil {
		r.gaps.note(file+" lacks full", fullColumn)
	}
}

// stallTotal is the total of one line of a pressure file, in µs (Linux,
// accounting/psi.rst): "some avg10=0.00 avg60=0.00 avg300=0.00 total=12".
func stallTotal(text, kind string) *int64 {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != kind {
			continue
		}
		for _, f := range fields[1:] {
			if total, ok := strings.CutPrefix(f, "total="); ok {
				if n, err := strconv.ParseInt(total, 10, 64); err == nil {
					return &n
				}
			}
		}
	}
	return nil
}
