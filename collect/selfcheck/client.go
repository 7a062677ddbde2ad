package selfcheck

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"assay/collect/stream"
)

// startWait bounds the wait until all streams of a paced load are connected;
// endWait bounds what a load may take beyond its planned time.
const (
	startWait = 20 * time.Second
	endWait   = 30 * time.Second
)

// tail is how long a load goes on after the window, so that its end is no part
// of what is measured.
const tail = 100 * time.Millisecond

// sample is one event as it was sent and received. Times are wall clock, ns.
type sample struct {
	seq       int64
	sentNs    int64 // the server's clock before the write
	arrivedNs int64 // the event's time by the measurement rules
	readNs    int64 // the clock when the read returned
	kernel    bool  // arrivedNs rests on the kernel's receive time
	merged    bool  // another event came behind it in the same read
}

// window is the counted part of a load: the events whose read returned inside
// it, and the CPU time this process used.
type window struct {
	fromNs, toNs int64 // wall clock
	cpuNs        int64
}

// observed is one load as it was.
type observed struct {
	load    Load
	window  window
	streams [][]sample // by stream, in the order of arrival
	sent    []int64    // by stream: the server's count
}

// observe runs one load. leftOut is its first part, which is not counted.
func observe(ctx context.Context, p *process, load Load, leftOut, counted time.Duration) (observed, error) {
	seen := observed{load: load, streams: make([][]sample, load.Streams)}
	lasts := leftOut + counted + tail
	ctx, cancel := context.WithTimeout(ctx, startWait+lasts+endWait)
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	o := load.order(lasts)
	if _, err := p.ask(ctx, o); err != nil {
		return seen, err
	}
	runtime.GC() // the garbage of the load before is not this one's
	r := readers{base: "http://" + p.addr + streamPath, again: load.Mode == Flood}
	ended := r.begin(ctx, fail, seen.streams)
	if err := seen.watch(ctx, p, leftOut, counted); err != nil {
		fail(err)
	}
	r.stop.Store(true)
	<-ended
	if ctx.Err() != nil {
		return seen, context.Cause(ctx)
	}
	answer, err := p.ask(ctx, order{Count: true})
	if err == nil && int64(len(answer.Sent)) != load.Streams {
		err = errors.New("the server counted other streams")
	}
	seen.sent = answer.Sent
	return seen, err
}

// watch waits for the window and takes the readings at its two ends.
func (s *observed) watch(ctx context.Context, p *process, leftOut, counted time.Duration) error {
	if s.load.Mode == Paced {
		if _, err := p.reply(ctx); err != nil {
			return fmt.Errorf("start of the load: %w", err)
		}
		leftOut += startPause
	}
	if err := sleep(ctx, leftOut); err != nil {
		return err
	}
	from, err := cpuTime()
	if err != nil {
		return err
	}
	s.window.fromNs = time.Now().UnixNano()
	if err := sleep(ctx, counted); err != nil {
		return err
	}
	to, err := cpuTime()
	s.window.toNs = time.Now().UnixNano()
	s.window.cpuNs = to - from
	return err
}

// sleep waits, or returns early with the reason why ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// readers are the clients of a load, one for each stream.
type readers struct {
	base  string // address up to the stream's number
	again bool   // ask for another answer until stop
	stop  atomic.Bool
}

// begin starts reading all streams into samples. The first error goes to fail.
// The channel is closed when all have ended.
func (r *readers) begin(ctx context.Context, fail func(error), samples [][]sample) <-chan struct{} {
	var all sync.WaitGroup
	for i := range samples {
		all.Go(func() {
			var err error
			if samples[i], err = r.read(ctx, i); err != nil {
				fail(fmt.Errorf("stream %d: %w", i, err))
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		all.Wait()
		close(ended)
	}()
	return ended
}

// read reads one stream to its end.
func (r *readers) read(ctx context.Context, number int) ([]sample, error) {
	request := stream.Request{URL: r.base + strconv.Itoa(number), Body: []byte("{}"), IdleLimit: startWait + endWait}
	var samples []sample
	for {
		var err error
		if samples, err = appendSamples(samples, stream.Do(ctx, request)); err != nil {
			return samples, err
		}
		if !r.again || r.stop.Load() {
			return samples, nil
		}
	}
}

// appendSamples reads the events of one answer.
func appendSamples(samples []sample, res stream.Result) ([]sample, error) {
	if res.End != stream.EndDone || res.EndDetail != "" {
		return samples, fmt.Errorf("the answer ended with %s %s", res.End, res.EndDetail)
	}
	last := len(res.Events) - 1 // [DONE]
	for i := range res.Events[:last] {
		ev := &res.Events[i]
		seq, sent, err := readChunk(ev.Payload)
		if err != nil {
			return samples, err
		}
		if n := len(samples); n > 0 && seq <= samples[n-1].seq {
			return samples, fmt.Errorf("event %d came after event %d", seq, samples[n-1].seq)
		}
		at, source, _ := stream.EventTime(ev.ReadNs, ev.ReadUnixNs, ev.Kernel())
		samples = append(samples, sample{
			seq: seq, sentNs: sent, arrivedNs: res.T0UnixNs + at, readNs: res.T0UnixNs + ev.ReadNs,
			kernel: source == stream.SourceKernel, merged: res.Events[i+1].ReadSeq == ev.ReadSeq,
		})
	}
	return samples, nil
}
