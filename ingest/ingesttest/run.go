package ingesttest

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/collect/plan"
	"assay/collect/record"
)

// AnchorUnixNs is the wall clock at the run's clock anchor, odd to the last
// digit so that a lost nanosecond shows.
const AnchorUnixNs int64 = 1792234551522595123

// Run is a run directory under construction.
type Run struct {
	Dir  string
	Info record.Run // run.json
	// Journal is added after the entries of the attempts.
	Journal []record.Entry

	t        testing.TB
	plan     *plan.Plan
	attempts []*Attempt
	written  int
}

// NewRun starts a run directory for a plan in a temporary folder.
func NewRun(t testing.TB, p *plan.Plan) *Run {
	t.Helper()
	run := &Run{Dir: filepath.Join(t.TempDir(), "run"), t: t, plan: p}
	run.Info = record.Run{
		CampaignID: p.CampaignID, PlanSHA256: p.Digest(), Collector: "test", HostAlias: "host-a", AnchorUnixNs: AnchorUnixNs,
		Clock: record.Clock{DispatchUnixNs: AnchorUnixNs, CutoffUnixNs: AnchorUnixNs + 16200e9, DeadlineUnixNs: AnchorUnixNs + 21600e9},
	}
	for i, arm := range p.Arms() {
		run.Info.Arms = append(run.Info.Arms, record.RunArm{Arm: arm, Endpoint: fmt.Sprintf("endpoint-%d", i+1), Loopback: true})
	}
	return run
}

// Cell starts the next attempt at a cell. Attempts are journaled in the order
// of these calls, one minute apart.
func (r *Run) Cell(id string) *Attempt {
	r.t.Helper()
	cell, ok := r.plan.Cell(id)
	if !ok {
		r.t.Fatalf("the test plan has no cell %s", id)
	}
	a := &Attempt{Plan: cell, Number: 1, State: "complete", StartNs: int64(len(r.attempts)+1) * int64(time.Minute)}
	a.Requests = make([]record.Request, 0, cell.Requests+16) // so that pointers from Row stay good
	for _, other := range r.attempts {
		if other.Plan.ID == id {
			a.Number++
		}
	}
	r.attempts = append(r.attempts, a)
	return a
}

// Folder is where an attempt's files are.
func (r *Run) Folder(a *Attempt) string {
	return filepath.Join(r.Dir, record.AttemptFolder(a.Plan.Arm, a.Plan.ID, a.Number))
}

// Write puts everything on disk that is not there yet and returns the
// directory. It may be called again after more attempts were added: that is a
// run that grew.
func (r *Run) Write() string {
	r.t.Helper()
	if r.written == 0 {
		r.start()
	}
	journal, err := record.OpenJournal(r.Dir)
	r.must(err)
	for _, a := range r.attempts[r.written:] {
		r.must(journal.Write(a.entry(record.EntryAttemptStart, a.StartNs)))
		r.must(a.write(r.Folder(a), r.plan.Digest()))
		if !a.Killed {
			r.must(journal.Write(a.end()))
		}
	}
	for _, e := range r.Journal {
		r.must(journal.Write(e))
	}
	r.written, r.Journal = len(r.attempts), nil
	r.must(journal.Close())
	return r.Dir
}

func (r *Run) start() {
	r.t.Helper()
	r.must(os.MkdirAll(r.Dir, 0o755))
	lock, err := plan.NewLock(r.plan, AnchorUnixNs, "test")
	r.must(err)
	for name, content := range map[string][]byte{record.PlanName: r.plan.Bytes, record.LockName: lock.Encode()} {
		r.must(record.WriteFile(filepath.Join(r.Dir, name), func(w io.Writer) error {
			_, err := w.Write(content)
			return err
		}))
	}
	r.must(record.WriteRun(r.Dir, r.Info))
}

func (r *Run) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (a *Attempt) entry(kind record.EntryKind, ns int64) record.Entry {
	return record.Entry{Kind: kind, MonoNs: ns, UnixNs: AnchorUnixNs + ns, Arm: a.Plan.Arm, Cell: a.Plan.ID, Attempt: a.Number}
}

func (a *Attempt) end() record.Entry {
	endNs := a.StartNs + int64(30*time.Second)
	e := a.entry(record.EntryAttemptEnd, endNs)
	e.Outcome = a.State
	dispatched := int64(0)
	for i := range a.Requests {
		if a.Requests[i].T0Ns != nil {
			dispatched++
		}
	}
	e.Figures = map[string]int64{
		"planned": a.Plan.Requests, "dispatched": dispatched, "start_ns": a.StartNs, "end_ns": endNs,
		"start_unix_ns": AnchorUnixNs + a.StartNs, "end_unix_ns": AnchorUnixNs + endNs,
		"drain_before_ns": 1000, "drain_after_ns": 2000, "drain_verified": 1, "clock_drift_ns": 0,
	}
	maps.Copy(e.Figures, a.Figures)
	return e
}

// write goes the way the collector goes: spool, then Parquet.
func (a *Attempt) write(folder, digest string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if !a.Killed { // a killed attempt knows only the requests that were over
		for index := range a.Plan.Requests {
			a.Row(index)
		}
	}
	spool, err := record.CreateSpool(filepath.Join(folder, record.SpoolName))
	if err != nil {
		return err
	}
	for _, put := range []func() error{
		func() error { return record.Append(spool, record.Requests, a.Requests) },
		func() error { return record.Append(spool, record.Events, a.Events) },
		func() error { return record.Append(spool, record.Pages, a.Pages) },
		func() error { return record.Append(spool, record.Answers, a.Answers) },
		func() error { return record.Append(spool, record.GPU, a.GPU) },
		func() error { return record.Append(spool, record.Cgroup, a.Cgroup) },
		func() error { return record.Append(spool, record.Host, a.Host) },
		func() error { return record.Append(spool, record.Problems, a.Problems) },
		spool.Close,
	} {
		if err := put(); err != nil {
			return err
		}
	}
	if a.Killed {
		return nil
	}
	_, err = record.Convert(folder, map[string]string{"assay.plan_sha256": digest})
	return err
}

func modelsBody(id string, maxModelLen int64) string {
	return fmt.Sprintf(`{"object":"list","data":[{"id":%s,"object":"model","max_model_len":%d}]}`, quote(id), maxModelLen)
}
