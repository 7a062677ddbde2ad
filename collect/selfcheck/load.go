package selfcheck

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Modes of a load.
const (
	Paced = "paced" // each stream sends on its own absolute schedule
	Flood = "flood" // each stream sends as fast as it can
)

// MaxStreams is the most streams of a load: it keeps a load within the ports and descriptors of one process.
const MaxStreams = 10_000

// Load is one measured load.
type Load struct {
	Mode    string // Paced or Flood
	Streams int64  // open at once
	Rate    int64  // events per second and stream; 0 in a flood
}

// DefaultStreams are the numbers of streams that are measured when none are
// named.
func DefaultStreams() []int64 { return []int64{1, 4, 64, 256, 1000} }

// Loads are the loads for these numbers of streams: first each of them paced,
// then each as a flood. A paced stream has 100 events per second, as fast as
// engines decode; more than 256 streams have 50 each, or the total would be out
// of a benchmark's reach.
func Loads(streams []int64) []Load {
	var paced, floods []Load
	for _, n := range streams {
		rate := int64(100)
		if n > 256 {
			rate = 50
		}
		paced = append(paced, Load{Mode: Paced, Streams: n, Rate: rate})
		floods = append(floods, Load{Mode: Flood, Streams: n})
	}
	return slices.Concat(paced, floods)
}

// check refuses a load that cannot be run.
func (l Load) check() error {
	switch {
	case l.Streams < 1 || l.Streams > MaxStreams:
		return fmt.Errorf("%d streams: take 1 to %d", l.Streams, MaxStreams)
	case l.Mode == Paced && l.Rate < 1:
		return errors.New("a paced load needs a rate")
	case l.Mode != Paced && l.Mode != Flood:
		return fmt.Errorf("there is no load %q", l.Mode)
	}
	return nil
}

// order is what the server is told: to serve a load, or to count what it has
// sent of it.
type order struct {
	Mode    string `json:"mode,omitempty"`
	Streams int64  `json:"streams,omitempty"`
	Rate    int64  `json:"rate,omitempty"`
	Events  int64  `json:"events,omitempty"` // of one answer
	Count   bool   `json:"count,omitempty"`
}

// Bounds of a flood's answers. A stream of a flood asks for one answer after
// the other, so that what is held is bounded; together the streams hold about
// floodHeld events at most. The longest answer is the seed plan's max_tokens.
const (
	floodHeld = 1 << 19
	floodMin  = 1 << 9
	floodMax  = 1 << 14
)

// order says how many events an answer has: all of a paced load that lasts so
// long.
func (l Load) order(lasts time.Duration) order {
	o := order{Mode: l.Mode, Streams: l.Streams, Rate: l.Rate}
	if l.Mode == Flood {
		o.Events = min(max(floodHeld/l.Streams, floodMin), floodMax)
		return o
	}
	o.Events = max(int64(lasts.Seconds()*float64(l.Rate)), 1)
	return o
}
