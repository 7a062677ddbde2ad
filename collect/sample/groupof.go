package sample

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Group names the control group of a process: its path in the one hierarchy of
// version 2, or its path in the hierarchy of each controller of version 1.
type Group struct {
	V2 string
	V1 map[string]string // by controller, such as memory
	// Reason says why there is no group to read; "" when there is.
	Reason string
}

// NoGroup is a group that cannot be read, and why.
func NoGroup(reason string) Group { return Group{Reason: reason} }

// Reasons of a group that cannot be read.
const (
	ReasonNotConfigured = "not configured"
	ReasonNotVisible    = "not visible from here"
)

// GroupOf is the control group of a process, read below proc, the mount point of
// procfs. A process of another pid namespace or one behind a cgroup namespace is
// not visible from here. On hosts with both versions the memory controller says
// which one counts.
func GroupOf(proc string, pid int64) Group {
	text, err := os.ReadFile(filepath.Join(proc, strconv.FormatInt(pid, 10), "cgroup"))
	if err != nil || pid <= 0 {
		return NoGroup(ReasonNotVisible)
	}
	g := Group{V1: map[string]string{}}
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, found := strings.Cut(rest, ":")
		switch {
		case !found || !visible(path):
		case controllers == "":
			g.V2 = path
		default:
			for name := range strings.SplitSeq(controllers, ",") {
				g.V1[name] = path
			}
		}
	}
	switch {
	case g.V1["memory"] != "":
		g.V2 = ""
	case g.V2 != "":
		g.V1 = nil
	default:
		return NoGroup(ReasonNotVisible)
	}
	return g
}

// visible says whether a path names a group of its own that is below a mount of
// this namespace: behind another one it reads / or climbs out of the root.
func visible(path string) bool {
	return path != "" && path != "/" && !slices.Contains(strings.Split(path, "/"), "..")
}

// Mounts says where the hierarchies of control groups are mounted.
type Mounts struct {
	v2 mount
	v1 map[string]mount // by controller
}

// mount is one mount: the part of the hierarchy that is mounted, and where.
type mount struct{ root, point string }

// MountsOf reads the mounts of the collector's own namespace below proc. base
// stands before every mount point: "" for the running system, a folder for
// fixtures.
func MountsOf(proc, base string) Mounts {
	m := Mounts{v1: map[string]mount{}}
	text, err := os.ReadFile(filepath.Join(proc, "self", "mountinfo"))
	if err != nil {
		return m
	}
	for line := range strings.Lines(string(text)) {
		// proc(5): id parent device root point options [optional ...] - type source super options
		before, after, found := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 5 || len(kind) < 3 {
			continue
		}
		at := mount{root: fields[3], point: filepath.Join(base, filepath.FromSlash(fields[4]))}
		switch kind[0] {
		case "cgroup2":
			m.v2 = at
		case "cgroup":
			for option := range strings.SplitSeq(kind[2], ",") {
				m.v1[option] = at
			}
		}
	}
	return m
}

// folder is where a group of a hierarchy is; "" when it is not below the mount.
func (m mount) folder(path string) string {
	if m.point == "" {
		return ""
	}
	if m.root != "/" {
		below, ok := strings.CutPrefix(path, m.root)
		if !ok || below != "" && below[0] != '/' {
			return ""
		}
		path = below
	}
	return filepath.Join(m.point, filepath.FromSlash(path))
}
