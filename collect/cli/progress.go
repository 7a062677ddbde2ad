package cli

import (
	"fmt"
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
	outlook string // what is left, "" before the first cell ended
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
	if p.outlook != "" {
		return p.label + ", " + p.outlook
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

// Estimated implements campaign.Progress.
func (p *progress) Estimated(e campaign.Estimate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outlook = outlook(e)
	if p.log != nil && e.Left > 0 {
		p.log.Info("estimate", "left", e.Left, "takes", e.Took.Round(time.Second), "not_reached_before_the_cutoff", len(e.Unreached))
	}
}

// outlook says in a few words what is left.
func outlook(e campaign.Estimate) string {
	switch {
	case e.Left == 0 || e.Known == 0:
		return ""
	case len(e.Unreached) > 0:
		return fmt.Sprintf("%d cells left, %d of them not before the cutoff", e.Left, len(e.Unreached))
	}
	return fmt.Sprintf("%d cells left, about %s", e.Left, e.Took.Round(time.Second))
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
