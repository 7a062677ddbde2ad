package sample

import (
	"bufio"
	"bytes"
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
// line gives null and is no failure (MemAvailable is never replaced by MemFree).
func (h *Host) Read(anchor record.Anchor) record.HostSample {
	var s record.HostSample
	s.AtNs, s.AtUnixNs = anchor.Now()
	var missing []string
	note := func(file string, ok bool) {
		if !ok {
			missing = append(missing, file)
		}
	}
	note("meminfo", h.readMemory(&s))
	note("loadavg", h.readLoad(&s))
	note("vmstat", h.readOOMKills(&s))
	note("boot_id", h.readBootID(&s))
	note("self", readSelf(&s))
	s.Status = statusOK
	if len(missing) > 0 {
		s.Status = "partial: " + strings.Join(missing, " ")
	}
	return s
}

func (h *Host) readMemory(s *record.HostSample) bool {
	fs, err := procfs.NewFS(h.root)
	if err != nil {
		return false
	}
	info, err := fs.Meminfo()
	if err != nil {
		return false
	}
	s.MemTotalBytes = signed(info.MemTotalBytes)
	s.MemAvailableBytes = signed(info.MemAvailableBytes)
	s.SwapFreeBytes = signed(info.SwapFreeBytes)
	return true
}

func (h *Host) readLoad(s *record.HostSample) bool {
	fs, err := procfs.NewFS(h.root)
	if err != nil {
		return false
	}
	load, err := fs.LoadAvg()
	if err != nil {
		return false
	}
	s.Load1 = &load.Load1
	return true
}

// readOOMKills reads vmstat itself: procfs reads the settings of sys/vm only.
func (h *Host) readOOMKills(s *record.HostSample) bool {
	values, ok := readKeyed(filepath.Join(h.root, "vmstat"))
	s.OOMKills = values["oom_kill"]
	return ok
}

func (h *Host) readBootID(s *record.HostSample) bool {
	id, err := os.ReadFile(filepath.Join(h.root, "sys", "kernel", "random", "boot_id"))
	if err != nil {
		return false
	}
	s.BootID = strings.TrimSpace(string(id))
	return true
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

// readKeyed reads a file of "name number" lines, such as vmstat, memory.stat or
// memory.events. A line of another shape is no reading.
func readKeyed(path string) (map[string]*int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	values := map[string]*int64{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		name, number, found := strings.Cut(lines.Text(), " ")
		if !found {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64); err == nil {
			values[name] = &n
		}
	}
	return values, true
}
