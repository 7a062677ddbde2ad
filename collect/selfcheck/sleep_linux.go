package selfcheck

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// sleeper waits for points of an absolute schedule, on a thread of its own.
//
// It sleeps in the kernel, which wakes it up to 50 us late; the runtime's timers
// may be a millisecond late. What speaks against that elsewhere (a sleeping
// thread holds a processor of the Go scheduler, so readers beside it wait) does
// not count in this process, where nothing else runs.
type sleeper struct{}

// newSleeper keeps the goroutine on its thread.
func newSleeper() sleeper {
	runtime.LockOSThread()
	return sleeper{}
}

// until waits until after has passed since start. A sleep that a signal cut
// short goes on.
func (sleeper) until(start time.Time, after time.Duration) {
	for {
		left := after - time.Since(start)
		if left <= 0 {
			return
		}
		spec := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&spec, nil) // an error is a signal
	}
}
