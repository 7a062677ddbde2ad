package sample

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// GroupOf is the cgroup v2 path of a process, such as
// /system.slice/docker-0123.scope, read below proc, the mount point of procfs.
// It is "" when the process is not visible from here or has none of its own.
func GroupOf(proc string, pid int64) string {
	text, err := os.ReadFile(filepath.Join(proc, strconv.FormatInt(pid, 10), "cgroup"))
	if err != nil || pid <= 0 {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		// Behind another namespace the path reads / or climbs out of the root.
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok && path != "/" && !strings.HasPrefix(path, "/..") {
			return path
		}
	}
	return ""
}
