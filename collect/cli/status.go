package cli

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"assay/collect/plan"
	"assay/collect/record"
)

func statusCommand(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "status RUN", Args: exactly(1),
		Short: "cells of a live or finished run by state, stops and time left",
		RunE: func(_ *cobra.Command, args []string) error {
			run, err := record.LoadRun(args[0])
			if err != nil {
				return fmt.Errorf("%w; name a run directory that assay collect made", err)
			}
			p, problems, err := plan.Load(args[0] + "/" + record.PlanName)
			if err != nil {
				return err
			}
			if p == nil || len(problems) > 0 {
				return Invalid(fmt.Errorf("the run's plan.json cannot be read"))
			}
			entries, bad, err := record.ReadJournal(args[0])
			if err != nil {
				return err
			}
			writeStatus(env.Stdout, status(p, entries), run, env.Now())
			if len(bad) > 0 {
				fmt.Fprintf(env.Stdout, "journal   %d lines are not whole entries; the collector was killed while writing\n", len(bad))
			}
			return nil
		},
	}
}

// runStatus is what the journal says about a run.
type runStatus struct {
	states  map[string]int // cells by state
	running string         // cell under way, "" for none
	stops   []record.Entry
	ended   bool
}

// status folds the journal; the last word about a cell counts.
func status(p *plan.Plan, entries []record.Entry) runStatus {
	s := runStatus{states: map[string]int{}}
	last := map[string]string{}
	for _, e := range entries {
		switch e.Kind {
		case record.EntryAttemptStart:
			last[e.Cell], s.running = "running", e.Cell
		case record.EntryAttemptEnd:
			last[e.Cell], s.running = e.Outcome, ""
		case record.EntryBlock:
			last[e.Cell] = e.Outcome
		case record.EntryStop:
			s.stops = append(s.stops, e)
		case record.EntryEnd:
			s.ended = true
		}
	}
	for _, c := range p.Cells {
		state := last[c.ID]
		if state == "" {
			state = "to do"
		}
		s.states[state]++
	}
	return s
}

func writeStatus(w io.Writer, s runStatus, run record.Run, now time.Time) {
	fmt.Fprintf(w, "campaign  %s\n", run.CampaignID)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, state := range []string{"complete", "partial", "outer_timeout", "blocked_by_stop", "not_run_deadline", "not_run", "running", "to do"} {
		if n := s.states[state]; n > 0 {
			fmt.Fprintf(table, "cells\t%d\t%s\n", n, state)
		}
	}
	_ = table.Flush() // writes to w, whose errors show on the next write
	for _, stop := range s.stops {
		fmt.Fprintf(w, "stop      %s %s: %s; blocks %d cells\n", stop.Rule, stop.Cell, stop.Detail, len(stop.Blocks))
	}
	switch {
	case s.ended:
		fmt.Fprintln(w, "the collector has ended")
	case s.running != "":
		fmt.Fprintf(w, "running   %s\n", s.running)
	}
	if left := time.Unix(0, run.Clock.CutoffUnixNs).Sub(now); !s.ended && left > 0 {
		fmt.Fprintf(w, "cutoff    in %s\n", left.Round(time.Second))
	}
}
