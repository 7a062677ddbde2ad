package sample

import (
	"os"
	"syscall"

	"assay/collect/record"
)

// Cgroup reads the control group the engine runs in. Not safe for concurrent use.
type Cgroup struct {
	mounts Mounts
	group  Group
	silent bool // said once that there is nothing to read
}

// NewCgroup reads a group below the mounts of its hierarchies.
func NewCgroup(mounts Mounts, group Group) *Cgroup { return &Cgroup{mounts: mounts, group: group} }

// Read takes one reading. Where there can be none for the whole run (no group is
// known, it is outside this namespace, its hierarchy is not mounted) the first
// call returns one row whose status says so, and later calls return none. A group
// that is missing now gives a row each time: it may come back, as another group.
//
// memory_current_bytes counts page cache, so OOM is judged by the events, not by
// it. memory_peak_bytes is since the group was made.
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
	version := int64(2)
	if c.group.V1 != nil {
		version = 1
	}
	folder := c.folder("memory")
	info, err := os.Stat(folder)
	if err != nil || !info.IsDir() {
		s.Status = "unavailable: no such group"
		return []record.CgroupSample{s}
	}
	s.Version = &version
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Inode = signed(&stat.Ino)
	}
	r := groupReading{sample: &s, gaps: gaps{}}
	if version == 2 {
		r.version2(folder)
	} else {
		r.version1(c.folder)
	}
	s.Status = statusOK
	if s.MemoryCurrentBytes == nil {
		s.Status = "partial: no memory controller"
	}
	s.Missing = r.gaps.text()
	return []record.CgroupSample{s}
}

// unavailable says why this group can never be read; empty when it can.
func (c *Cgroup) unavailable() string {
	switch {
	case c.group.Reason != "":
		return c.group.Reason
	case c.group.V1 == nil && c.group.V2 == "":
		return ReasonNotConfigured
	case c.group.V1 == nil && c.mounts.v2.point == "", c.group.V1 != nil && c.mounts.v1["memory"].point == "":
		return "its control group hierarchy is not mounted here"
	case c.folder("memory") == "":
		return ReasonNotVisible
	}
	return ""
}

// folder is the group's folder, in version 1 that of a controller; "" where it
// has none.
func (c *Cgroup) folder(controller string) string {
	if c.group.V1 == nil {
		return c.mounts.v2.folder(c.group.V2)
	}
	path, ok := c.group.V1[controller]
	if !ok {
		return ""
	}
	return c.mounts.v1[controller].folder(path)
}
