package campaign

import (
	"fmt"
	"time"
)

// Reading is one look at the host's clocks, in ns.
type Reading struct {
	MonoNs int64 // monotonic clock; stands still while the host is suspended
	BootNs int64 // monotonic clock that also counts suspends; equal to MonoNs where there is none
	UnixNs int64 // wall clock, since 1970 UTC
}

// Bounds of reading and comparing clocks.
const (
	clockTolerance = 50 * time.Millisecond  // measurement.md section 4
	clockEvery     = 100 * time.Millisecond // how often the clocks are compared during a cell
	readingSpread  = 2 * time.Millisecond   // readings farther apart are taken again
	readingTries   = 8
)

// clockOf reads the system's clocks, and the wall clock from now. The readings
// of one look lie close together: a pause between them would look like a step.
func clockOf(now func() time.Time) func() Reading {
	return func() Reading {
		var r Reading
		for range readingTries {
			begun := time.Now()
			r = systemReading()
			r.UnixNs = now().UnixNano()
			if time.Since(begun) < readingSpread {
				break
			}
		}
		return r
	}
}

// clockChange is what the clocks did between two readings.
type clockChange struct {
	stepNs    int64 // the wall clock was set by this much, 0 for not
	suspendNs int64 // the host slept this long, 0 for not
}

// changeOf compares two readings. Sleep is what the boot clock counted and the
// monotonic one did not; a step is what the wall clock moved beyond either. A
// clock that cannot tell sleep from a step (BootNs equal to MonoNs) shows a step.
func changeOf(a, b Reading) clockChange {
	var c clockChange
	if slept := (b.BootNs - a.BootNs) - (b.MonoNs - a.MonoNs); slept > int64(clockTolerance) {
		c.suspendNs = slept
	}
	if step := (b.UnixNs - a.UnixNs) - (b.BootNs - a.BootNs); max(step, -step) > int64(clockTolerance) {
		c.stepNs = step
	}
	return c
}

// problems are the codes and sentences of a change, none when there was none.
func (c clockChange) problems() [][2]string {
	var list [][2]string
	if c.suspendNs != 0 {
		list = append(list, [2]string{"suspend", fmt.Sprintf("the host was suspended for %s; cutoff and deadline stay on the wall clock", time.Duration(c.suspendNs).Round(time.Millisecond))})
	}
	if c.stepNs != 0 {
		list = append(list, [2]string{"clock_step", fmt.Sprintf("the wall clock was set by %s; durations stay on the monotonic clock", time.Duration(c.stepNs).Round(time.Millisecond))})
	}
	return list
}
