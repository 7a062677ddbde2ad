package sample

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"assay/collect/record"
)

// Cgroup reads the control group the engine runs in. Not safe for concurrent use.
type Cgroup struct {
	root, path string
	silent     bool // said once that there is nothing to read
}

// NewCgroup reads the group at path, such as
// /system.slice/docker-0123.scope, under root, the mount point of cgroup v2
// (/sys/fs/cgroup). An empty path means that none was configured.
func NewCgroup(root, path string) *Cgroup { return &Cgroup{root: root, path: path} }

// Read takes one reading. Where there can be none for the whole run (no path,
// cgroup v1, a group outside this namespace) the first call returns one row
// whose status says so, and later calls return none. A group that is missing now
// gives a row each time: it may come back, as another group.
//
// memory.current counts page cache, so OOM is judged by the events, not by it.
// memory.peak is since the group was made and is null on kernels without it.
func (c *Cgroup) Read(anchor record.Anchor) []record.CgroupSample {
	if c.silent {
		return nil
	}
	var s record.CgroupSample
	s.AtNs, s.AtUnixNs = anchor.Now()
	if reason := c.unavailable(); reason != "" {
		c.silent = true
		s.Status = "unavailable: " + reason
		return []record.CgroupSample{s}
	}
	folder := filepath.Join(c.root, filepath.FromSlash(c.path))
	info, err := os.Stat(folder)
	if err != nil || !info.IsDir() {
		s.Status = "unavailable: no such group"
		return []record.CgroupSample{s}
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Inode = signed(&stat.Ino)
	}
	readGroup(folder, &s)
	return []record.CgroupSample{s}
}

// unavailable says why this group can never be read; empty when it can.
func (c *Cgroup) unavailable() string {
	if c.path == "" {
		return "not configured"
	}
	// Inside a private namespace other groups read as /../name.
	if slices.Contains(strings.Split(c.path, "/"), "..") {
		return "not visible from here"
	}
	if _, err := os.Stat(c.root); err != nil {
		return "no cgroup file system"
	}
	// Only cgroup v2 has this file at its root.
	if _, err := os.Stat(filepath.Join(c.root, "cgroup.controllers")); err != nil {
		return "cgroup v1"
	}
	return ""
}

// readGroup fills in the readings. Only memory.current is asked of every group;
// the others are null where the kernel or the enabled controllers lack them.
func readGroup(folder string, s *record.CgroupSample) {
	s.MemoryCurrentBytes = readNumber(folder, "memory.current")
	s.MemoryPeakBytes = readNumber(folder, "memory.peak")
	s.MemoryMaxBytes = readNumber(folder, "memory.max") // "max" is no number: no limit
	stat, _ := readKeyed(filepath.Join(folder, "memory.stat"))
	s.AnonBytes, s.FileBytes, s.ShmemBytes = stat["anon"], stat["file"], stat["shmem"]
	events, _ := readKeyed(filepath.Join(folder, "memory.events"))
	s.OOMEvents, s.OOMKillEvents = events["oom"], events["oom_kill"]
	cpu, _ := readKeyed(filepath.Join(folder, "cpu.stat"))
	s.CPUUsageUs, s.ThrottledUs = cpu["usage_usec"], cpu["throttled_usec"]
	s.Status = statusOK
	if s.MemoryCurrentBytes == nil {
		s.Status = "partial: no memory controller"
	}
}

// readNumber reads a file with one number.
func readNumber(folder, name string) *int64 {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}
