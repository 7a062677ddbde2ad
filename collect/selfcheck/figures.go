package selfcheck

import (
	"errors"
	"math"
	"slices"

	"assay/collect/record"
	"assay/collect/stream"
)

var errNothingCounted = errors.New("no event came within the counted time")

// counted reports whether a sample belongs to the window.
func (w window) counted(s sample) bool { return s.readNs >= w.fromNs && s.readNs < w.toNs }

// figures computes what is printed of a load: one row for its event times, when
// any of them rests on a kernel stamp, and one for its read stamps. Errors, CPU
// and rates are those of the window, lost those of the whole load.
func (o observed) figures() ([]record.SelfCheck, error) {
	var events, reads []int64 // errors, ns
	var merged, kernel int64
	for _, samples := range o.streams {
		for _, s := range samples {
			if !o.window.counted(s) {
				continue
			}
			events = append(events, s.arrivedNs-s.sentNs)
			reads = append(reads, s.readNs-s.sentNs)
			merged += count(s.merged)
			kernel += count(s.kernel)
		}
	}
	n := int64(len(events))
	if n == 0 {
		return nil, errNothingCounted
	}
	row := record.SelfCheck{
		Mode: o.load.Mode, Streams: o.load.Streams,
		CPUUsPerEvent: micros(round(o.window.cpuNs, n)),
		EventsPerS:    o.eventsPerS(n),
		Lost:          o.lost(),
		MergedShare:   math.Round(float64(merged)/float64(n)*1e6) / 1e6,
	}
	if o.load.Mode == Paced {
		row.RatePerStream = &o.load.Rate
	}
	var rows []record.SelfCheck
	if kernel > 0 {
		rows = append(rows, withErrors(row, stream.SourceKernel, events))
	}
	return append(rows, withErrors(row, stream.SourceRead, reads)), nil
}

// withErrors completes a row with the errors, in ns, of one source.
func withErrors(row record.SelfCheck, source string, errs []int64) record.SelfCheck {
	slices.Sort(errs)
	row.StampSource = source
	row.ErrorP50Us = micros(nearestRank(errs, 50))
	row.ErrorP99Us = micros(nearestRank(errs, 99))
	row.ErrorMaxUs = micros(errs[len(errs)-1])
	return row
}

// nearestRank is the q-th percentile of sorted values, always one of them
// (measurement rules, section 10).
func nearestRank(sorted []int64, q int) int64 {
	return sorted[(q*len(sorted)+99)/100-1]
}

// eventsPerS is the rate of n counted events, to a tenth: by the window's length
// in a paced load; in a flood by the CPU time this process used in it, because
// the flood's own rate is what the server can send beside it.
func (o observed) eventsPerS(n int64) float64 {
	ns := o.window.toNs - o.window.fromNs
	if o.load.Mode == Flood {
		ns = o.window.cpuNs
	}
	return math.Round(float64(n)/float64(ns)*1e10) / 10
}

// lost counts the events that were sent and not received.
func (o observed) lost() int64 {
	var lost int64
	for i, sent := range o.sent {
		lost += sent - int64(len(o.streams[i]))
	}
	return lost
}

// micros is ns in microseconds.
func micros(ns int64) float64 { return float64(ns) / 1000 }

// round is a/b to the nearest integer, for b > 0 and a >= 0.
func round(a, b int64) int64 { return (a + b/2) / b }

func count(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
