package cli

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"assay/collect/campaign"
	"assay/collect/plan"
	"assay/collect/record"
)

func statusCommand(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "status RUN", Args: exactly(1),
		Short: "cells of a live or finished run by state, stops, time left, last problems and how to resume",
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := readStatus(args[0], env.Now())
			if err != nil {
				return err
			}
			s.write(env.Guard(env.Stdout))
			return nil
		},
	}
}

// lastProblems is how many problems a status shows.
const lastProblems = 5

// runStatus is what a run directory says about its run, live or over.
type runStatus struct {
	dir      string
	now      time.Time
	run      record.Run
	plan     *plan.Plan
	history  campaign.History
	estimate campaign.Estimate
	live     *liveCell // nil when no cell is under way
	problems []record.Problem
	smoke    []record.Entry // failed smoke checks
	restore  []record.Entry // failed restoration checks
	owed     bool           // the host has to be restored
	badLines int            // journal lines that a kill cut short
	busy     bool           // a collector has the run open
}

// liveCell is the cell under way.
type liveCell struct {
	cell     plan.Cell
	attempt  int
	requests int64 // over
	events   int64
	since    time.Time
}

func readStatus(dir string, now time.Time) (*runStatus, error) {
	s := &runStatus{dir: dir, now: now}
	var err error
	if s.run, err = record.LoadRun(dir); err != nil {
		return nil, fmt.Errorf("%w; name a run directory that assay collect made", err)
	}
	p, problems, err := plan.Load(filepath.Join(dir, record.PlanName))
	if err != nil {
		return nil, err
	}
	if p == nil || len(problems) > 0 {
		return nil, Invalid(fmt.Errorf("the run's plan.json cannot be read"))
	}
	s.plan = p
	entries, bad, err := record.ReadJournal(dir)
	if err != nil {
		return nil, err
	}
	s.badLines, s.busy = len(bad), record.JournalBusy(dir)
	s.history = campaign.ReadHistory(entries)
	s.estimate = s.history.Estimate(p, now.UnixNano(), s.run.Clock.CutoffUnixNs)
	s.owed = s.history.Owed()
	restored := 0
	for _, e := range entries {
		switch {
		case e.Kind == record.EntrySmoke && e.Outcome == "fail":
			s.smoke = append(s.smoke, e)
		case e.Kind == record.EntryRestoreBegin:
			restored = len(s.restore)
		case e.Kind == record.EntryRestoreCheck && e.Outcome == "fail":
			s.restore = append(s.restore, e)
		}
	}
	s.restore = s.restore[restored:]
	s.readAttempts(entries)
	return s, nil
}

// readAttempts counts what the running cell has, and gathers the last problems.
// A folder that changes meanwhile is passed over: the next look sees it.
func (s *runStatus) readAttempts(entries []record.Entry) {
	for _, e := range entries {
		if e.Kind != record.EntryAttemptStart {
			continue
		}
		folder := filepath.Join(s.dir, record.AttemptFolder(e.Arm, e.Cell, e.Attempt))
		content, err := record.CountSpool(filepath.Join(folder, record.SpoolName))
		if err != nil {
			rows, err := record.ReadTable(folder, record.Problems)
			if err == nil {
				s.problems = append(s.problems, rows...)
			}
			continue
		}
		s.problems = append(s.problems, content.Problems...)
		if h := s.history.Cells[e.Cell]; h.Running && h.Attempts == e.Attempt {
			c, _ := s.plan.Cell(e.Cell)
			s.live = &liveCell{cell: c, attempt: e.Attempt, requests: content.Requests, events: content.Events, since: time.Unix(0, e.UnixNs)}
		}
	}
	slices.SortStableFunc(s.problems, func(a, b record.Problem) int { return cmp.Compare(a.AtUnixNs, b.AtUnixNs) })
	s.problems = s.problems[max(0, len(s.problems)-lastProblems):]
}

// states counts the cells by their state; a cell under way is running.
func (s *runStatus) states() map[string]int {
	count := map[string]int{}
	for _, c := range s.plan.Cells {
		h := s.history.Cells[c.ID]
		switch {
		case h.Running:
			count["running"]++
		case h.State == "":
			count["to do"]++
		default:
			count[string(h.State)]++
		}
	}
	return count
}

func (s *runStatus) write(w io.Writer) {
	fmt.Fprintf(w, "campaign  %s\n", s.run.CampaignID)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	states := s.states()
	for _, state := range []string{"complete", "partial", "outer_timeout", "blocked_by_stop", "not_run_deadline", "not_run", "running", "to do"} {
		if n := states[state]; n > 0 {
			fmt.Fprintf(table, "cells\t%d\t%s\n", n, state)
		}
	}
	_ = table.Flush() // writes to w, whose errors show on the next write
	for _, stop := range s.history.Stops {
		where := stop.Cell
		if where == "" {
			where = "before a cell of " + stop.Arm
		}
		fmt.Fprintf(w, "stop      %s %s: %s; blocks %d cells\n", stop.Rule, where, stop.Detail, len(stop.Blocks))
	}
	s.writeLive(w)
	for _, e := range s.smoke {
		fmt.Fprintf(w, "smoke     arm %s, %s: %s\n", e.Arm, e.Rule, e.Detail)
	}
	for _, e := range s.restore {
		fmt.Fprintf(w, "restore   %s: %s\n", e.Rule, e.Detail)
	}
	for _, p := range s.problems {
		fmt.Fprintf(w, "problem   %s (%s): %s\n", p.Code, p.Source, p.Detail)
	}
	if s.badLines > 0 {
		fmt.Fprintf(w, "journal   %d lines are not whole entries; the collector was killed while writing\n", s.badLines)
	}
	s.writeNext(w)
}

func (s *runStatus) writeLive(w io.Writer) {
	if c := s.live; c != nil && s.busy {
		flying := min(c.cell.Concurrency, c.cell.Requests-c.requests)
		took := s.now.Sub(c.since)
		rate := 0.0
		if took > 0 {
			rate = float64(c.events) / took.Seconds()
		}
		fmt.Fprintf(w, "running   arm %s, cell %s, attempt %d for %s\n", c.cell.Arm, c.cell.ID, c.attempt, took.Round(time.Second))
		fmt.Fprintf(w, "requests  %d of %d over, up to %d in flight, %.0f events/s in those that are over\n", c.requests, c.cell.Requests, flying, rate)
	}
	left := time.Unix(0, s.run.Clock.CutoffUnixNs).Sub(s.now)
	if s.history.Ended {
		return
	}
	if left > 0 {
		fmt.Fprintf(w, "cutoff    in %s\n", left.Round(time.Second))
	} else {
		fmt.Fprintf(w, "cutoff    passed %s ago\n", (-left).Round(time.Second))
	}
	if text := outlook(s.estimate); text != "" {
		fmt.Fprintf(w, "estimate  %s\n", text)
	}
}

// writeNext says whether the run is over and what can be done.
func (s *runStatus) writeNext(w io.Writer) {
	todo := len(s.history.Todo(s.plan))
	cutoff := time.Unix(0, s.run.Clock.CutoffUnixNs)
	resume := fmt.Sprintf("assay collect %s -o %s --resume --confirm", filepath.Join(s.dir, record.PlanName), s.dir)
	if s.owed {
		resume += " --lifecycle FILE --confirm-lifecycle"
		fmt.Fprintln(w, "restore   the host has not been restored")
	}
	switch {
	case s.busy:
		return
	case s.owed, todo > 0 && s.now.Before(cutoff):
		fmt.Fprintf(w, "over      the collector has ended with %d cells to do\nresume    %s, with the options of before\n", todo, resume)
	case todo > 0:
		fmt.Fprintf(w, "over      the collector has ended; %d cells were not reached before the cutoff\n", todo)
	default:
		fmt.Fprintln(w, "over      the collector has ended; there is nothing to resume")
	}
}
