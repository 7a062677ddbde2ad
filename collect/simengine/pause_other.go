//go:build !linux

package simengine

import (
	"context"
	"sync"
	"time"
)

// pause waits for absolute deadlines with the runtime's own timer, which may be
// a millisecond late.
type pause struct {
	stop chan struct{}
	once sync.Once
}

// newPause returns a pause; the error is always nil here.
func newPause() (*pause, error) { return &pause{stop: make(chan struct{})}, nil }

// until waits until the deadline; it returns context.Canceled at once when the
// pause was interrupted, now or before.
func (p *pause) until(monoNs int64) error {
	timer := time.NewTimer(time.Duration(monoNs - monoNow()))
	defer timer.Stop()
	select {
	case <-p.stop:
		return context.Canceled
	case <-timer.C:
		return nil
	}
}

// interrupt ends the present wait and all later ones.
func (p *pause) interrupt() { p.once.Do(func() { close(p.stop) }) }

// close frees nothing here.
func (p *pause) close() {}
