package simengine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// job is one chat request from acceptance to its end.
type job struct {
	arrival Arrival
	// nth numbers the chat requests of the engine from 1.
	nth    int64
	ask    ask
	req    *chatRequest
	answer answer
	// promptTokens and maxTokens are what the KV pool must have room for.
	promptTokens, maxTokens int64

	// ready is closed when the job is scheduled.
	ready chan struct{}
	// queuedNs, scheduledNs and prefillEndNs are written by the scheduler before
	// it closes ready, and never again.
	queuedNs, scheduledNs, prefillEndNs int64
	// generated is the tokens made so far.
	generated atomic.Int64
	// firstNs and lastNs are the first and the latest output, 0 before it; only
	// the goroutine that plays the job uses them.
	firstNs, lastNs int64
	// counted says that the end of the job is in the counters.
	counted bool
}

// usage is what the engine reports at the end.
func (j *job) usage() usage {
	return usage{j.promptTokens, int64(j.answer.completionTokens), int64(j.answer.reasoningTokens)}
}

// kvNeed is the tokens the pool must have free before the job may run. Real
// vLLM does not reserve the output; reserving it means no preemption here.
func (j *job) kvNeed() int64 { return j.promptTokens + j.maxTokens }

// scheduler admits jobs first come first served: one prefill at a time, at most
// MaxRunning jobs, never more than the KV pool.
type scheduler struct {
	cfg Config

	mu         sync.Mutex
	waiting    []*job
	running    map[*job]bool
	prefilling *job
	kvReserved int64
}

// newScheduler returns an idle scheduler.
func newScheduler(cfg Config) *scheduler {
	return &scheduler{cfg: cfg, running: map[*job]bool{}}
}

// enter queues a job.
func (s *scheduler) enter(j *job, nowNs int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.queuedNs = nowNs
	s.waiting = append(s.waiting, j)
	s.admit(nowNs)
}

// admit starts waiting jobs while the first of them fits. atNs is the time of
// the change that made room; it may lie a little in the past, so that a late
// wake-up does not shift everything after it.
func (s *scheduler) admit(atNs int64) {
	for len(s.waiting) > 0 && s.prefilling == nil && len(s.running) < s.cfg.Profile.MaxRunning {
		j := s.waiting[0]
		if s.kvReserved+j.kvNeed() > s.cfg.Profile.KVPoolTokens {
			return
		}
		s.waiting = slices.Delete(s.waiting, 0, 1)
		s.running[j] = true
		s.prefilling = j
		s.kvReserved += j.kvNeed()
		j.scheduledNs = max(atNs, j.queuedNs)
		j.prefillEndNs = j.scheduledNs + s.prefillNs(j)
		close(j.ready)
	}
}

// prefillNs is how long the job's prefill takes, in nanoseconds to wait.
func (s *scheduler) prefillNs(j *job) int64 {
	p := s.cfg.Profile
	return s.cfg.scaled(float64(p.BaseLatency) + float64(j.promptTokens)/(p.PrefillTokPerS*s.cfg.PrefillScale)*1e9)
}

// await waits until the job is scheduled.
func (s *scheduler) await(ctx context.Context, j *job) error {
	select {
	case <-j.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// prefilled lets the next job in.
func (s *scheduler) prefilled(j *job, atNs int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prefilling == j {
		s.prefilling = nil
		s.admit(atNs)
	}
}

// leave takes a job out, wherever it is; a second call does nothing.
func (s *scheduler) leave(j *job, atNs int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, j); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	if s.running[j] {
		delete(s.running, j)
		s.kvReserved -= j.kvNeed()
	}
	if s.prefilling == j {
		s.prefilling = nil
	}
	s.admit(atNs)
}

// batch is the number of running jobs.
func (s *scheduler) batch() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running)
}

// gauges is what /metrics says of the present moment.
type gauges struct {
	running, waiting int
	kvUsage          float64
}

// gauges reads the queue and the tokens in the pool. A prompt fills the pool
// linearly while it is prefilled.
func (s *scheduler) gauges(nowNs int64) gauges {
	s.mu.Lock()
	defer s.mu.Unlock()
	var used int64
	for j := range s.running {
		held := j.promptTokens
		if whole := j.prefillEndNs - j.scheduledNs; nowNs < j.prefillEndNs && whole > 0 {
			held = int64(float64(held) * float64(nowNs-j.scheduledNs) / float64(whole))
		}
		held += j.generated.Load()
		blocks := (max(0, held) + s.cfg.Profile.BlockSize - 1) / s.cfg.Profile.BlockSize
		used += blocks * s.cfg.Profile.BlockSize
	}
	return gauges{len(s.running), len(s.waiting), min(1, float64(used)/float64(s.cfg.Profile.KVPoolTokens))}
}
