package campaign

import (
	"time"

	"golang.org/x/sys/unix"
)

// systemReading reads the monotonic clock without and with suspends.
func systemReading() Reading {
	return Reading{MonoNs: readClock(unix.CLOCK_MONOTONIC), BootNs: readClock(unix.CLOCK_BOOTTIME)}
}

func readClock(id int32) int64 {
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil { // both clocks exist since Linux 2.6.39
		return int64(time.Since(processStart))
	}
	return t.Nano()
}

var processStart = time.Now()
