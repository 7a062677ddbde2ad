package campaign

import (
	"context"
	"fmt"
	"slices"
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

// monitor reads the engine, the GPU and the host around and during one cell.
// One scrape is in flight at a time: settle and watch never overlap.
type monitor struct {
	client   *engine.Client
	readers  *readers
	anchor   record.Anchor
	out      *writer
	progress Progress
	// drainBound is the longest wait for an idle engine.
	drainBound time.Duration
	// countBound is the longest wait until an idle engine has counted its last
	// requests.
	countBound time.Duration
	pageSeq    int64
	seq        int64 // of GPU, cgroup and host samples

	// What the stop rules look at afterwards. Only one goroutine at a time writes
	// each of them, see watch.
	scrapes []span   // of whole pages
	counted *float64 // requests the engine had finished before the cell; nil when it does not say
	states  []engineState
	last    record.Page                // last page
	answers map[string][]record.Answer // by phase
	oom     []int64                    // oom_kill events of the control group, as read
	inode   map[string]int64           // inode of the control group, by phase
	gpuLost string                     // what the driver said of a GPU that is gone, "" for none
	gpuHung bool                       // said that the driver does not answer
	onLost  func()                     // called at once when a GPU is gone
}

// readers are the sources on the host. GPU and host are opened once for the whole
// campaign.
type readers struct {
	gpu    sample.GPU
	host   *sample.Host
	cgroup *sample.Cgroup
}

// drain says how the wait for an idle engine went.
type drain struct {
	took     time.Duration
	idle     bool   // seen idle, or waited long enough where it cannot be seen
	verified bool   // two fresh pages showed nothing running or waiting
	stuck    string // series that stayed above 0; "" when idle or when none can be named
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
		if ctx.Err() != nil || time.Since(start) > m.drainBound {
			return drain{took: time.Since(start), stuck: busySeries(parsed)}
		}
		pause(ctx, min(every, DefaultPageEvery))
	}
}

// noteCounted keeps how many requests the engine has finished up to the last page.
func (m *monitor) noteCounted() {
	m.counted = finishedOn(m.last)
}

// awaitCounted scrapes on until the engine has counted the served requests of the
// cell: it counts on a loop of its own, up to a step after the client saw the end.
// An engine that does not count within countBound is noted.
func (m *monitor) awaitCounted(ctx context.Context, served int64, every time.Duration) {
	if m.counted == nil || m.last.Error != "" {
		return
	}
	for start := time.Now(); ; {
		now := finishedOn(m.last)
		if now == nil || *now < *m.counted || *now-*m.counted >= float64(served) {
			return // nothing to wait for, or another process
		}
		if ctx.Err() != nil || time.Since(start) > m.countBound {
			m.problem("not_yet_counted", "pages", fmt.Sprintf("the engine counted %v of %d requests the client saw end; it was given %v", *now-*m.counted, served, m.countBound))
			return
		}
		pause(ctx, min(every, DefaultPageEvery))
		m.scrape(ctx, phaseAfter)
	}
}

// finishedOn is the number of requests an engine says it has finished; nil when
// the page does not say.
func finishedOn(p record.Page) *float64 {
	page, _ := engine.ParsePage(p.Body)
	if n, _, ok := engine.Resolve(page, "requests_finished"); ok && p.Error == "" {
		return &n
	}
	return nil
}

// snapshot reads everything but the engine's page once.
func (m *monitor) snapshot(ctx context.Context, phase string) {
	for _, answer := range engine.AskIdentity(func(path string) record.Answer { return m.client.Ask(ctx, m.anchor, phase, path) }) {
		m.answers[phase] = append(m.answers[phase], answer)
		add(m.out, record.Answers, answer)
	}
	m.sample(phase)
}

// identity is what the readings of a phase say about the engine.
func (m *monitor) identity(phase string) identity {
	found := readIdentity(m.answers[phase], m.last)
	if inode, ok := m.inode[phase]; ok {
		found[factCgroupInode] = decimal(inode)
	}
	return found
}

// healthy says what /health answered in a phase; known is false without an
// answer.
func (m *monitor) healthy(phase string) (ok, known bool) {
	for _, a := range m.answers[phase] {
		if a.Path == "/health" && a.HTTPStatus != nil {
			return *a.HTTPStatus < 500, true
		}
	}
	return false, false
}

// refused says whether an engine that answered before the cell could not be
// connected to after it: its last request may have been reset, not refused.
func (m *monitor) refused() bool {
	answered := slices.ContainsFunc(m.answers[phaseBefore], func(a record.Answer) bool { return a.HTTPStatus != nil })
	after := m.answers[phaseAfter]
	return answered && len(after) > 0 && !slices.ContainsFunc(after, func(a record.Answer) bool { return a.Error != engine.ErrConnect })
}

// deaths lists the signs that the engine or its GPU died during the attempt.
func (m *monitor) deaths() []string {
	var signs []string
	was, asked := m.healthy(phaseBefore)
	if is, still := m.healthy(phaseAfter); asked && still && was && !is {
		signs = append(signs, "/health answered well before the cell and with an error after it")
	}
	if m.refused() {
		signs = append(signs, "the engine answered before the cell and refused a connection after it")
	}
	if n := len(m.oom); n > 0 && m.oom[n-1] > m.oom[0] {
		signs = append(signs, "the kernel killed a process of the engine's control group for memory")
	}
	if m.gpuLost != "" {
		signs = append(signs, "the driver says of a GPU: "+m.gpuLost)
	}
	return signs
}

// watch samples until ctx ends: pages at one cadence, the rest at another.
func (m *monitor) watch(ctx context.Context, pages, samples time.Duration) {
	var group sync.WaitGroup
	group.Go(func() { m.watchPages(ctx, pages) })
	group.Go(func() {
		skipped := sample.Every(ctx, samples, func(time.Time) { m.sample(phaseDuring) })
		m.skipped("samples", skipped)
	})
	group.Wait()
}

// watchPages scrapes one page after the other until ctx ends.
func (m *monitor) watchPages(ctx context.Context, every time.Duration) {
	skipped := sample.Every(ctx, every, func(time.Time) {
		// A scrape begun is finished, also when the cell ends meanwhile: a page
		// cut off by us would look like an engine's error.
		m.scrape(context.WithoutCancel(ctx), phaseDuring)
	})
	m.skipped("pages", skipped)
}

func (m *monitor) scrape(ctx context.Context, phase string) record.Page {
	page := m.client.Scrape(ctx, m.anchor, m.pageSeq, phase)
	m.pageSeq++
	add(m.out, record.Pages, page)
	m.last = page
	if page.Error == "" && len(page.Body) > 0 {
		m.scrapes = append(m.scrapes, span{page.StartNs, page.EndNs})
		if phase == phaseDuring {
			parsed, _ := engine.ParsePage(page.Body)
			m.states = append(m.states, stateOfEngine(page.EndNs, parsed))
		}
	}
	return page
}

func (m *monitor) sample(phase string) {
	gpus, cgroups, host := m.readers.gpu.Read(m.anchor), m.readers.cgroup.Read(m.anchor), m.readers.host.Read(m.anchor)
	for i := range gpus {
		gpus[i].Seq, gpus[i].Phase = m.seq, phase
		m.watchGPU(gpus[i].Status)
	}
	for i := range cgroups {
		cgroups[i].Seq, cgroups[i].Phase = m.seq, phase
		if n := cgroups[i].OOMKillEvents; n != nil {
			m.oom = append(m.oom, *n)
		}
		if n := cgroups[i].Inode; n != nil {
			m.inode[phase] = *n
		}
	}
	host.Seq, host.Phase = m.seq, phase
	m.seq++
	add(m.out, record.GPU, gpus...)
	add(m.out, record.Cgroup, cgroups...)
	add(m.out, record.Host, host)
}

// watchGPU ends dispatch when a GPU is gone, and notes the beginning and the end
// of a time in which the driver does not answer.
func (m *monitor) watchGPU(status string) {
	if sample.Lost(status) && m.gpuLost == "" {
		m.gpuLost = status
		m.problem("gpu_lost", "gpu", "the driver says of a GPU: "+status)
		m.onLost()
	}
	switch hung := sample.Hung(status); {
	case hung && !m.gpuHung:
		m.problem("gpu_driver_hung", "gpu", "the driver did not answer in time; no second call is made until the first has come back")
		m.gpuHung = true
	case !hung && m.gpuHung:
		m.problem("gpu_driver_answers", "gpu", "the driver answers again")
		m.gpuHung = false
	}
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
