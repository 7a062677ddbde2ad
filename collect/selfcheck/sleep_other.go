//go:build !linux

package selfcheck

import "time"

// sleeper waits for points of an absolute schedule with the runtime's timers,
// which may be a millisecond late.
type sleeper struct{}

func newSleeper() sleeper { return sleeper{} }

// until waits until after has passed since start.
func (sleeper) until(start time.Time, after time.Duration) { time.Sleep(after - time.Since(start)) }
