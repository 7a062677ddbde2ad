package simengine

import (
	"time"

	"golang.org/x/sys/unix"
)

// instant is one moment on both clocks, in nanoseconds.
type instant struct{ unixNs, monoNs int64 }

// The Go runtime's monotonic clock is CLOCK_MONOTONIC with a hidden origin; one
// pair of readings at start gives the origin, after which one time.Now reads
// both clocks without a system call.
var anchorTime, anchorMono = anchor()

// anchor reads CLOCK_MONOTONIC between two readings of the Go clock and keeps
// the tightest of several tries, so that being preempted costs no accuracy.
func anchor() (time.Time, int64) {
	var at time.Time
	var mono int64
	tightest := time.Duration(1<<63 - 1)
	for range 16 {
		before := time.Now()
		reading := readMonotonic()
		if took := time.Since(before); took < tightest {
			tightest, at, mono = took, before.Add(took/2), reading
		}
	}
	return at, mono
}

// readMonotonic reads CLOCK_MONOTONIC, 0 where the system has none.
func readMonotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return ts.Nano()
}

// readClocks reads both clocks.
func readClocks() instant {
	t := time.Now()
	return instant{unixNs: t.UnixNano(), monoNs: anchorMono + int64(t.Sub(anchorTime))}
}

// monoNow reads the monotonic clock.
func monoNow() int64 { return readClocks().monoNs }
