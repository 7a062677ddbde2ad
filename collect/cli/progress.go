package cli

import (
	"log/slog"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"assay/collect/campaign"
	"assay/collect/plan"
	"assay/collect/record"
)

// progress shows a campaign: a live bar on a terminal, a line per cell in a
// log elsewhere.
type progress struct {
	log  *slog.Logger // nil on a terminal
	view *mpb.Progress
	bar  *mpb.Bar

	mu      sync.Mutex
	label   string
	waiting string
	ended   int64
	failed  int64
	started time.Time
}

// NewProgress shows a campaign that runs with these options, until the returned
// function is called.
func NewProgress(env Env, o campaign.Options) (campaign.Progress, func()) {
	p := &progress{}
	if !env.Terminal {
		p.log = env.Log()
		return p, p.close
	}
	view, err := campaign.Preview(o)
	if err != nil {
		return p, p.close // Run is about to report the same error
	}
	p.view = mpb.New(mpb.WithOutput(env.Stderr), mpb.WithWidth(48))
	p.bar = p.view.AddBar(view.Requests,
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return p.text() }, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.CountersNoUnit("%d/%d"), decor.Name(" "), decor.Elapsed(decor.ET_STYLE_HHMMSS)),
	)
	return p, p.close
}

func (p *progress) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting != "" {
		return p.label + ": waiting for " + p.waiting
	}
	return p.label
}

// CellStarted implements campaign.Progress.
func (p *progress) CellStarted(c plan.Cell, position, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.label, p.waiting, p.ended, p.failed, p.started = c.ID, "", 0, 0, time.Now()
	if p.log != nil {
		p.log.Info("cell started", "cell", c.ID, "position", position, "of", total, "requests", c.Requests, "concurrency", c.Concurrency)
	}
}

// RequestEnded implements campaign.Progress.
func (p *progress) RequestEnded(_ plan.Cell, ended record.Request) {
	p.mu.Lock()
	p.waiting = ""
	p.ended++
	if ended.End != "done" {
		p.failed++
	}
	p.mu.Unlock()
	if p.bar != nil {
		p.bar.Increment()
	}
}

// CellEnded implements campaign.Progress.
func (p *progress) CellEnded(c plan.Cell, state campaign.RunState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log != nil {
		p.log.Info("cell ended", "cell", c.ID, "state", state, "ended", p.ended, "not_done", p.failed, "took", time.Since(p.started).Round(time.Millisecond))
	}
}

// Waiting implements campaign.Progress. A wait is logged once, however often
// it is reported.
func (p *progress) Waiting(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log != nil && p.waiting != text {
		p.log.Info("waiting", "for", text)
	}
	p.waiting = text
}

// close ends the bar, also when the campaign ended early.
func (p *progress) close() {
	if p.bar != nil {
		p.bar.Abort(false)
		p.view.Wait()
	}
}
