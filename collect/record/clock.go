package record

import "time"

// Anchor ties the run's monotonic clock to the wall clock. Every *_ns column
// that is not relative to a request's t0 counts from it, so durations never
// cross a step of the wall clock.
type Anchor struct{ start time.Time }

// NewAnchor takes both clock readings now.
func NewAnchor() Anchor { return Anchor{start: time.Now()} }

// ResumeAnchor continues the clock of a run whose anchor was at that wall clock
// time. Within this process readings are monotonic; what lies between it and
// the process before is the wall clock's word.
func ResumeAnchor(unixNs int64) Anchor {
	now := time.Now()
	return Anchor{start: now.Add(-time.Duration(now.UnixNano() - unixNs))}
}

// UnixNs is the wall clock at the anchor.
func (a Anchor) UnixNs() int64 { return a.start.UnixNano() }

// At converts an instant that carries a monotonic reading to the run's clock
// and the wall clock.
func (a Anchor) At(t time.Time) (ns, unixNs int64) {
	return int64(t.Sub(a.start)), t.UnixNano()
}

// Now reads both clocks once.
func (a Anchor) Now() (ns, unixNs int64) { return a.At(time.Now()) }
