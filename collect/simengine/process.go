package simengine

import (
	"context"
	"errors"
	"strings"
	"time"
)

// process is one life of the simulated engine: what a restart throws away.
type process struct {
	cfg         Config
	startUnixNs int64
	sched       *scheduler
	metrics     *metrics
	// ctx ends with the process; every job's context comes from it.
	ctx  context.Context
	kill context.CancelFunc
}

// newProcess starts a life inside ctx.
func newProcess(ctx context.Context, cfg Config) *process {
	p := &process{cfg: cfg, startUnixNs: readClocks().unixNs, sched: newScheduler(cfg), metrics: newMetrics(cfg)}
	p.ctx, p.kill = context.WithCancel(ctx)
	return p
}

// errCut and errReset are the ends of a stream that a fault cuts.
var (
	errCut   = errors.New("stream cut by a fault")
	errReset = errors.New("stream reset by a fault")
)

// play runs a job: it waits to be scheduled, prefills, decodes and hands every
// frame to write when it is due. However it ends, the job has left the scheduler
// and is in the counters; when it ends well, it is in them before its last
// output is written.
func (p *process) play(ctx context.Context, s *script, write func(frame) error) error {
	j := s.job
	defer func() {
		p.goOn(ctx, s.linger)
		p.sched.leave(j, monoNow())
		p.metrics.gaveUp(j, "abort")
	}()
	wait, err := newPause()
	if err != nil {
		return err
	}
	defer wait.close()
	defer context.AfterFunc(ctx, wait.interrupt)()

	p.sched.enter(j, monoNow())
	for _, f := range s.early {
		if err := p.deliver(ctx, f, write); err != nil {
			return err
		}
	}
	if err := p.prefill(ctx, j, wait); err != nil {
		return err
	}
	deadline := j.prefillEndNs
	for _, f := range s.frames {
		pause := int64(f.wait)
		if f.kind == frameOutput && j.firstNs != 0 {
			pause += p.stepNs(j, f.step)
		}
		if deadline += pause; pause > 0 {
			if err := wait.until(deadline); err != nil {
				return err
			}
		}
		p.account(s, f, deadline)
		if err := p.deliver(ctx, f, write); err != nil {
			return err
		}
	}
	return nil
}

// goOn keeps the job in the engine for a while after its client has left.
func (p *process) goOn(ctx context.Context, linger time.Duration) {
	if linger == 0 || ctx.Err() == nil {
		return
	}
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
	}
}

// prefill waits until the job is scheduled and its prompt is in the cache.
func (p *process) prefill(ctx context.Context, j *job, wait *pause) error {
	if err := p.sched.await(ctx, j); err != nil {
		return err
	}
	if err := wait.until(j.prefillEndNs); err != nil {
		return err
	}
	p.sched.prefilled(j, j.prefillEndNs)
	return nil
}

// account puts a frame into the scheduler and the counters.
func (p *process) account(s *script, f frame, deadlineNs int64) {
	j := s.job
	switch f.kind {
	case frameFailure:
		p.sched.leave(j, deadlineNs)
		p.metrics.gaveUp(j, "error")
	case frameOutput:
		p.metrics.output(j, f.step, monoNow())
		if f.last {
			p.sched.leave(j, deadlineNs)
			p.metrics.finished(j, s.reason)
		}
	}
}

// deliver writes a frame, or does what it stands for.
func (p *process) deliver(ctx context.Context, f frame, write func(frame) error) error {
	switch f.kind {
	case frameWait:
		return nil
	case frameOutput:
		if f.silent {
			return nil
		}
	case frameCut:
		return errCut
	case frameReset:
		return errReset
	case frameStall:
		<-ctx.Done()
		return ctx.Err()
	case frameFlood:
		f.bytes = httpChunk(strings.Repeat("x", 1<<20))
		for {
			if err := write(f); err != nil {
				return err
			}
		}
	}
	return write(f)
}

// stepNs is the time between the output before and this one, in nanoseconds to
// wait. A step grows with the batch and with the context.
func (p *process) stepNs(j *job, s *step) int64 {
	if p.cfg.ChunkInterval > 0 {
		return p.cfg.scaled(float64(p.cfg.ChunkInterval))
	}
	profile := p.cfg.Profile
	others := float64(p.sched.batch() - 1)
	context := float64(j.promptTokens+j.generated.Load()) / 300_000
	mean := 1e9 / (profile.StepsPerS * p.cfg.DecodeScale) * (1 + profile.BatchSlowdown*others) * (1 + profile.ContextSlowdown*context)
	return p.cfg.scaled(mean * s.pace)
}
