package simengine

import (
	"slices"
	"sync"
)

// Arrival is one HTTP request as the engine saw it.
type Arrival struct {
	// Ordinal numbers the engine's requests of any path from 1, in the order in
	// which their heads were read.
	Ordinal int64
	// UnixNs (CLOCK_REALTIME) and MonoNs (CLOCK_MONOTONIC) are the time at which
	// the request's first byte was read.
	UnixNs, MonoNs int64
	Method, Path   string
	// Proto is the protocol of the request line, such as HTTP/1.1.
	Proto string
	// Marker is the request's own marker, "" when the prompt begins with none;
	// Seed and Index are its parts.
	Marker      string
	Seed, Index uint64
	// Conn is the client's address, which names the connection.
	Conn string
}

// Send is one event as it was handed to the kernel.
type Send struct {
	// RequestOrdinal is the Ordinal of the request's Arrival.
	RequestOrdinal int64
	Marker         string
	// Seq numbers the events of a stream from 0: role chunk, usage and [DONE]
	// included.
	Seq int
	// UnixNs (CLOCK_REALTIME) and MonoNs (CLOCK_MONOTONIC) were read straight
	// before the write call that sent the event.
	UnixNs, MonoNs int64
}

// sendLog is the sends of one stream. Its room is made before the stream starts
// so that adding one costs no copy between the stamp and the write.
type sendLog struct {
	mu    sync.Mutex
	sends []Send
}

// add appends one send.
func (l *sendLog) add(s Send) {
	l.mu.Lock()
	l.sends = append(l.sends, s)
	l.mu.Unlock()
}

// logs is what an engine remembers for its tests.
type logs struct {
	mu       sync.Mutex
	arrivals []Arrival
	streams  []*sendLog
}

// newStream returns a kept log with room for n sends.
func (l *logs) newStream(n int) *sendLog {
	s := &sendLog{sends: make([]Send, 0, n)}
	l.mu.Lock()
	l.streams = append(l.streams, s)
	l.mu.Unlock()
	return s
}

// addArrival keeps one arrival.
func (l *logs) addArrival(a Arrival) {
	l.mu.Lock()
	l.arrivals = append(l.arrivals, a)
	l.mu.Unlock()
}

// Arrivals returns a copy of every request read so far, by Ordinal.
func (e *Engine) Arrivals() []Arrival {
	e.logs.mu.Lock()
	defer e.logs.mu.Unlock()
	out := slices.Clone(e.logs.arrivals)
	slices.SortFunc(out, func(a, b Arrival) int { return int(a.Ordinal - b.Ordinal) })
	return out
}

// Sends returns a copy of every event sent so far, by RequestOrdinal and Seq.
func (e *Engine) Sends() []Send {
	e.logs.mu.Lock()
	streams := slices.Clone(e.logs.streams)
	e.logs.mu.Unlock()
	var out []Send
	for _, s := range streams {
		s.mu.Lock()
		out = append(out, s.sends...)
		s.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b Send) int {
		if a.RequestOrdinal != b.RequestOrdinal {
			return int(a.RequestOrdinal - b.RequestOrdinal)
		}
		return a.Seq - b.Seq
	})
	return out
}
