package stream

import "time"

// Sources of an event's time.
const (
	SourceKernel = "kernel" // the kernel's receive time
	SourceRead   = "read"   // the clock when the read returned
)

// EventTime returns the time of an event, in ns after t0, from the readings of
// its row (measurement rules, section 3): the monotonic read stamp less the lag
// between the kernel's receive time and the wall clock at that read. The lag
// counts when 0 <= lag < 1 s; else a clock was stepped and the read stamp
// stands. lagNs is nil without a kernel stamp, and the raw difference with one,
// also when it did not count.
// That the times of one stream never fall is up to the caller, who sees them all.
func EventTime(readNs, readUnixNs int64, kernelUnixNs *int64) (atNs int64, source string, lagNs *int64) {
	if kernelUnixNs == nil {
		return readNs, SourceRead, nil
	}
	lag := readUnixNs - *kernelUnixNs
	if lag < 0 || lag >= int64(time.Second) {
		return readNs, SourceRead, &lag
	}
	return readNs - lag, SourceKernel, &lag
}
