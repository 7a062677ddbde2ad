package campaign

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/stream"
)

// Reasons why a request was not sent, stored with it.
const (
	reasonCutoff      = "request_cutoff"
	reasonOuter       = "outer_timeout"
	reasonInterrupted = "interrupted"
	reasonEngineFault = "engine_fault"
	reasonStorage     = "storage_failed"
)

// loop is the closed loop of one cell: concurrency workers, each starting its
// next request when its last one is over.
type loop struct {
	cell     plan.Cell
	url      string
	token    string
	anchor   record.Anchor
	cutoff   int64        // unix ns
	now      func() int64 // wall clock, unix ns
	out      *writer
	progress Progress
	// answered is set once the arm has ever given a response head; from then on
	// a refused connection means that the engine is gone.
	answered *atomic.Bool
	// gone is set once an answer, or the driver, has named a dead engine or GPU:
	// nothing more is sent to it. The worker that got the answer sets it before its
	// next request: the writer, which judges the whole answer, waits for the disk.
	gone *atomic.Bool

	dispatched, connectFailed, cutOff atomic.Int64
	served                            atomic.Int64 // streams that came to their [DONE]
	cutoffHit                         atomic.Bool
	buildErr                          error // owned by the builder
}

// run sends every planned request of the cell, or stores why it did not. It
// returns when all workers are idle.
func (l *loop) run(ctx context.Context) error {
	// Bodies are built one worker's worth ahead, so that the gap between two
	// requests of a worker holds no work.
	ready := make(chan prepared, l.cell.Concurrency)
	var group sync.WaitGroup
	group.Go(func() { l.build(ready) })
	for worker := range l.cell.Concurrency {
		group.Go(func() { l.work(ctx, worker, ready) })
	}
	group.Wait()
	return l.buildErr
}

func (l *loop) build(ready chan<- prepared) {
	defer close(ready)
	for index := range l.cell.Requests {
		p, err := prepare(l.cell, index)
		if err != nil {
			l.buildErr = err
			return
		}
		ready <- p
	}
}

func (l *loop) work(ctx context.Context, worker int64, ready <-chan prepared) {
	var last time.Time
	for p := range ready {
		if reason := l.mayNotSend(ctx); reason != "" {
			l.store(withheld(p, reason), nil)
			continue
		}
		l.dispatched.Add(1)
		res := stream.Do(ctx, stream.Request{
			URL: l.url, Body: p.body, Token: l.token,
			IdleLimit: time.Duration(l.cell.Request.TimeoutSeconds) * time.Second,
		})
		var gap *int64
		if !last.IsZero() {
			ns := int64(res.T0.Sub(last))
			gap = &ns
		}
		last = res.T0
		if res.EndNs != nil {
			last = res.T0.Add(time.Duration(*res.EndNs))
		}
		l.note(&res)
		row, events := rows(p, worker, gap, l.anchor, &res)
		if faultOf(row, events) != "" {
			l.gone.Store(true)
		}
		l.store(row, events)
	}
}

// mayNotSend is asked immediately before each request, on the wall clock, so
// that nothing starts at or after the cutoff.
func (l *loop) mayNotSend(ctx context.Context) string {
	switch {
	case ctx.Err() != nil:
		return reasonOf(context.Cause(ctx))
	case boundPassed(ctx):
		return reasonOuter
	case l.connectFailed.Load() > 0, l.gone.Load():
		return reasonEngineFault
	case l.now() >= l.cutoff:
		l.cutoffHit.Store(true)
		return reasonCutoff
	}
	return ""
}

// boundPassed goes by the clock: on a busy machine the context's timer can fire
// late, and every request begun meanwhile would end at once, sent or not.
func boundPassed(ctx context.Context) bool {
	bound, ok := ctx.Deadline()
	return ok && !time.Now().Before(bound)
}

func reasonOf(cause error) string {
	switch {
	case errors.Is(cause, errStorage):
		return reasonStorage
	case errors.Is(cause, stream.ErrOuterTimeout), errors.Is(cause, context.DeadlineExceeded):
		return reasonOuter
	}
	return reasonInterrupted
}

// note keeps what the stop rules need of an exchange.
func (l *loop) note(res *stream.Result) {
	if res.HTTPStatus != nil {
		l.answered.Store(true)
	}
	switch res.End {
	case stream.EndDone:
		l.served.Add(1)
	case stream.EndConnectFailed:
		if l.answered.Load() {
			l.connectFailed.Add(1)
		}
	case stream.EndOuterTimeout, stream.EndInterrupted:
		l.cutOff.Add(1)
	}
}

func (l *loop) store(row record.Request, events []record.Event) {
	l.out.request(row, events)
	l.progress.RequestEnded(l.cell, row)
}

// completionsURL is where an arm's requests go.
func completionsURL(base string) string {
	return strings.TrimRight(base, "/") + "/chat/completions"
}
