package sample

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"

	"assay/collect/record"
)

// Host reads the load host and the collector's own process.
type Host struct{ root string }

// NewHost reads the host from a proc root, /proc or a folder shaped like it. The
// collector's own figures come from the running process whatever the root.
func NewHost(root string) *Host { return &Host{root: root} }

// Read takes one reading. The memory figures are the host's as seen from this
// namespace; a container's limit is in its control group. Status is ok, or
// "partial: " with the files that could not be read; a kernel that leaves out a
// line gives null with a reason and is no failure (MemAvailable is never replaced
// by MemFree). Pressure is an option of the kernel and its lack is no failure
// either.
func (h *Host) Read(anchor record.Anchor) record.HostSample {
	var s record.HostSample
	s.AtNs, s.AtUnixNs = anchor.Now()
	missing := gaps{}
	var unread []string
	note := func(file string, ok bool) {
		if !ok {
			unread = append(unread, file)
		}
	}
	note("meminfo", h.readMemory(&s, missing))
	note("loadavg", h.readLoad(&s, missing))
	note("vmstat", h.readCounters(&s, missing))
	note("boot_id", h.readBootID(&s))
	note("uptime", h.readUptime(&s, missing))
	note("self", readSelf(&s))
	h.readPressure(&s, missing)
	s.Status = statusOK
	if len(unread) > 0 {
		s.Status = "partial: " + strings.Join(unread, " ")
	}
	s.Missing = missing.text()
	return s
}

func (h *Host) readMemory(s *record.HostSample, missing gaps) bool {
	columns := []struct {
		column, line string
		to           **int64
		from         func(procfs.Meminfo) *uint64
	}{
		{"mem_total_bytes", "MemTotal", &s.MemTotalBytes, func(m procfs.Meminfo) *uint64 { return m.MemTotalBytes }},
		{"mem_available_bytes", "MemAvailable", &s.MemAvailableBytes, func(m procfs.Meminfo) *uint64 { return m.MemAvailableBytes }},
		{"swap_total_bytes", "SwapTotal", &s.SwapTotalBytes, func(m procfs.Meminfo) *uint64 { return m.SwapTotalBytes }},
		{"swap_free_bytes", "SwapFree", &s.SwapFreeBytes, func(m procfs.Meminfo) *uint64 { return m.SwapFreeBytes }},
	}
	fs, err := procfs.NewFS(h.root)
	var info procfs.Meminfo
	if err == nil {
		info, err = fs.Meminfo()
	}
	for _, c := range columns {
		if err != nil {
			missing.note("meminfo cannot be read", c.column)
		} else if *c.to = signed(c.from(info)); *c.to == nil {
			missing.note("meminfo lacks "+c.line, c.column)
		}
	}
	return err == nil
}

func (h *Host) readLoad(s *record.HostSample, missing gaps) bool {
	fs, err := procfs.NewFS(h.root)
	var load *procfs.LoadAvg
	if err == nil {
		load, err = fs.LoadAvg()
	}
	if err != nil {
		missing.note("loadavg cannot be read", "load_1m", "load_5m")
		return false
	}
	s.Load1, s.Load5 = &load.Load1, &load.Load5
	return true
}

// readCounters reads vmstat itself: procfs reads the settings of sys/vm only.
func (h *Host) readCounters(s *record.HostSample, missing gaps) bool {
	text, err := os.ReadFile(filepath.Join(h.root, "vmstat"))
	if err != nil {
		missing.note("vmstat cannot be read", "oom_kills", "major_faults")
		return false
	}
	values := keyedLines(string(text))
	if s.OOMKills = values["oom_kill"]; s.OOMKills == nil {
		missing.note("vmstat lacks oom_kill", "oom_kills")
	}
	if s.MajorFaults = values["pgmajfault"]; s.MajorFaults == nil {
		missing.note("vmstat lacks pgmajfault", "major_faults")
	}
	return true
}

func (h *Host) readBootID(s *record.HostSample) bool {
	id, err := os.ReadFile(filepath.Join(h.root, "sys", "kernel", "random", "boot_id"))
	if err != nil {
		return false
	}
	s.BootID = strings.TrimSpace(string(id))
	return true
}

func (h *Host) readUptime(s *record.HostSample, missing gaps) bool {
	text, err := os.ReadFile(filepath.Join(h.root, "uptime"))
	if err == nil {
		first, _, _ := strings.Cut(string(text), " ")
		if seconds, err := strconv.ParseFloat(first, 64); err == nil {
			s.UptimeSeconds = &seconds
			return true
		}
	}
	missing.note("uptime cannot be read", "uptime_s")
	return false
}

func (h *Host) readPressure(s *record.HostSample, missing gaps) {
	for _, f := range []struct {
		file, kind, column string
		to                 **int64
	}{
		{"memory", "some", "memory_pressure_us", &s.MemoryPressureUs}, {"memory", "full", "memory_stalled_us", &s.MemoryStalledUs},
		{"cpu", "some", "cpu_pressure_us", &s.CPUPressureUs}, {"io", "some", "io_pressure_us", &s.IOPressureUs},
	} {
		text, err := os.ReadFile(filepath.Join(h.root, "pressure", f.file))
		if err == nil {
			*f.to = stallTotal(string(text), f.kind)
		}
		if *f.to == nil {
			missing.note("the kernel gives no pressure", f.column)
		}
	}
}

// readSelf reads the collector's own cost.
func readSelf(s *record.HostSample) bool {
	goroutines := int64(runtime.NumGoroutine())
	s.ClientGoroutines = &goroutines
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	pause := int64(gc.PauseTotal)
	s.ClientGCPauseNs = &pause
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return false
	}
	cpu := usage.Utime.Nano() + usage.Stime.Nano()
	s.ClientCPUNs = &cpu
	self, err := procfs.Self()
	if err != nil {
		return false
	}
	stat, err := self.Stat()
	if err != nil {
		return false
	}
	rss := int64(stat.ResidentMemory())
	s.ClientRSSBytes = &rss
	return true
}

const statusOK = "ok"

// signed turns a reading into the type of its column; a value that does not fit
// is no reading.
func signed(v *uint64) *int64 {
	if v == nil || *v > 1<<63-1 {
		return nil
	}
	n := int64(*v)
	return &n
}

// keyedLines reads "name number" lines, such as those of vmstat, memory.stat or
// memory.events. A line of another shape is no reading.
func keyedLines(text string) map[string]*int64 {
	values := map[string]*int64{}
	for line := range strings.Lines(text) {
		name, number, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64); err == nil {
			values[name] = &n
		}
	}
	return values
}
