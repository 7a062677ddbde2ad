package campaign

import (
	"context"
	"sync"
	"time"

	"assay/collect/engine"
	"assay/collect/record"
	"assay/collect/sample"
)

// Phases of a reading.
const (
	phaseBefore = "before"
	phaseDuring = "during"
	phaseAfter  = "after"
)

// identityPaths are asked before and after each cell.
var identityPaths = []string{"/v1/models", "/version", "/health"}

// monitor reads the engine, the GPU and the host around and during one cell.
// One scrape is in flight at a time: settle and watch never overlap.
type monitor struct {
	client   *engine.Client
	readers  *readers
	anchor   record.Anchor
	out      *writer
	progress Progress
	pageSeq  int64
	seq      int64 // of GPU, cgroup and host samples
}

// readers are the sources on the host, opened once for the whole campaign.
type readers struct {
	gpu    sample.GPU
	host   *sample.Host
	cgroup *sample.Cgroup
}

// drain says how the wait for an idle engine went.
type drain struct {
	took     time.Duration
	idle     bool // seen idle, or waited long enough where it cannot be seen
	verified bool // two fresh pages showed nothing running or waiting
}

// settle scrapes until two fresh pages in a row show an idle engine, at most
// for drainBound, and stores every page. An engine that does not say gets a
// fixed wait and is marked not verified.
func (m *monitor) settle(ctx context.Context, phase string, every time.Duration) drain {
	start := time.Now()
	idlePages := 0
	for {
		page := m.scrape(ctx, phase)
		parsed, _ := engine.ParsePage(page.Body) // bad lines are reported by ingest, which reads every page
		idle, known := engine.Idle(parsed)
		switch {
		case page.Error == engine.ErrConnect:
			return drain{took: time.Since(start), idle: true} // nothing runs in an engine that is gone
		case page.Error != "" || !known:
			pause(ctx, blindDrainWait)
			m.scrape(ctx, phase)
			return drain{took: time.Since(start), idle: ctx.Err() == nil}
		case idle:
			idlePages++
		default:
			idlePages = 0
			m.progress.Waiting("the engine to become idle")
		}
		if idlePages == 2 {
			return drain{took: time.Since(start), idle: true, verified: true}
		}
		if ctx.Err() != nil || time.Since(start) > drainBound {
			return drain{took: time.Since(start)}
		}
		pause(ctx, min(every, DefaultPageEvery))
	}
}

// snapshot reads everything but the engine's page once.
func (m *monitor) snapshot(ctx context.Context, phase string) {
	for _, path := range identityPaths {
		add(m.out, record.Answers, m.client.Ask(ctx, m.anchor, phase, path))
	}
	m.sample(phase)
}

// watch samples until ctx ends: pages at one cadence, the rest at another.
func (m *monitor) watch(ctx context.Context, pages, samples time.Duration) {
	var group sync.WaitGroup
	group.Go(func() {
		skipped := sample.Every(ctx, pages, func(time.Time) {
			// A scrape begun is finished, also when the cell ends meanwhile: a
			// page cut off by us would look like an engine's error.
			m.scrape(context.WithoutCancel(ctx), phaseDuring)
		})
		m.skipped("pages", skipped)
	})
	group.Go(func() {
		skipped := sample.Every(ctx, samples, func(time.Time) { m.sample(phaseDuring) })
		m.skipped("samples", skipped)
	})
	group.Wait()
}

func (m *monitor) scrape(ctx context.Context, phase string) record.Page {
	page := m.client.Scrape(ctx, m.anchor, m.pageSeq, phase)
	m.pageSeq++
	add(m.out, record.Pages, page)
	return page
}

func (m *monitor) sample(phase string) {
	gpus, cgroups, host := m.readers.gpu.Read(m.anchor), m.readers.cgroup.Read(m.anchor), m.readers.host.Read(m.anchor)
	for i := range gpus {
		gpus[i].Seq, gpus[i].Phase = m.seq, phase
	}
	for i := range cgroups {
		cgroups[i].Seq, cgroups[i].Phase = m.seq, phase
	}
	host.Seq, host.Phase = m.seq, phase
	m.seq++
	add(m.out, record.GPU, gpus...)
	add(m.out, record.Cgroup, cgroups...)
	add(m.out, record.Host, host)
}

// skipped reports ticks at which the reading before was still under way.
func (m *monitor) skipped(source string, ticks int64) {
	if ticks == 0 {
		return
	}
	m.problem("sample_skipped", source, "a reading took longer than the interval; ticks left out: "+decimal(ticks))
}

func (m *monitor) problem(code, source, detail string) {
	ns, unix := m.anchor.Now()
	add(m.out, record.Problems, record.Problem{AtNs: ns, AtUnixNs: unix, Code: code, Source: source, Detail: detail})
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
