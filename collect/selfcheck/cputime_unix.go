//go:build unix

package selfcheck

import (
	"fmt"
	"syscall"
)

// cpuTime is the user and system time this process has used, ns.
func cpuTime() (int64, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano(), nil
}
