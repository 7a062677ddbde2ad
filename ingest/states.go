package ingest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"assay/collect/plan"
	"assay/collect/record"
)

// Run states of an attempt, a closed list (measurement.md section 7).
const (
	stateComplete = "complete"
	statePartial  = "partial"
	stateNotRun   = "not_run"
)

var runStates = []string{stateComplete, statePartial, "outer_timeout", "blocked_by_stop", "not_run_deadline", stateNotRun}

// attempt is one row of the table attempts.
type attempt struct {
	arm, cell string
	number    int64
	state     string
	counted   bool
	start     *record.Entry // nil when the journal does not have it
	end       *record.Entry
}

// figure is a number of the attempt_end entry; nil without one.
func (a attempt) figure(name string) *int64 {
	if a.end == nil {
		return nil
	}
	v, ok := a.end.Figures[name]
	if !ok {
		return nil
	}
	return &v
}

// attemptsOf works out every attempt of every planned cell from the journal
// and the folders: in plan order, then by number. A cell without any gets
// attempt 0.
func attemptsOf(p *plan.Plan, journal []record.Entry, folders []folder) ([]attempt, []Problem) {
	s := states{plan: p, byCell: map[string][]*attempt{}, blocked: map[string]string{}}
	for i := range journal {
		s.enter(&journal[i], i)
	}
	for i := range folders {
		s.folder(&folders[i])
	}
	s.missingFolders(folders)
	var all []attempt
	for _, c := range p.Cells {
		found := s.byCell[c.ID]
		if len(found) == 0 {
			state := s.blocked[c.ID]
			if state == "" {
				state = stateNotRun
			}
			found = []*attempt{{arm: c.Arm, cell: c.ID, state: state}}
		}
		slices.SortFunc(found, func(a, b *attempt) int { return cmp.Compare(a.number, b.number) })
		countOne(found)
		for _, a := range found {
			all = append(all, *a)
		}
	}
	return all, s.problems
}

// countOne marks the attempt that stands for its cell: the first complete one,
// else the last (measurement.md section 7).
func countOne(attempts []*attempt) {
	for _, a := range attempts {
		if a.state == stateComplete {
			a.counted = true
			return
		}
	}
	attempts[len(attempts)-1].counted = true
}

type states struct {
	plan     *plan.Plan
	byCell   map[string][]*attempt
	blocked  map[string]string // run state of cells that were not to be run
	problems []Problem
}

// find returns the attempt, new with state partial when it is not known yet.
func (s *states) find(cell string, number int64) (a *attempt, known bool) {
	for _, a := range s.byCell[cell] {
		if a.number == number {
			return a, true
		}
	}
	c, _ := s.plan.Cell(cell)
	a = &attempt{arm: c.Arm, cell: cell, number: number, state: statePartial}
	s.byCell[cell] = append(s.byCell[cell], a)
	return a, false
}

func (s *states) enter(e *record.Entry, position int) {
	switch e.Kind {
	case record.EntryAttemptStart, record.EntryAttemptEnd, record.EntryBlock:
	default:
		return
	}
	wrong := func(detail string) {
		s.problems = append(s.problems, Problem{
			Code: CodeJournalEntry, Source: record.JournalName, Position: fmt.Sprintf("entry %d", position+1), Detail: detail,
		})
	}
	if c, ok := s.plan.Cell(e.Cell); !ok || c.Arm != e.Arm {
		wrong("the entry names a cell the plan does not have")
		return
	}
	switch {
	case e.Kind == record.EntryBlock:
		if !slices.Contains(runStates, e.Outcome) {
			wrong("the entry's outcome is no run state")
			return
		}
		s.blocked[e.Cell] = e.Outcome
	case e.Attempt < 1:
		wrong("the entry's attempt is below 1")
	case e.Kind == record.EntryAttemptStart:
		a, _ := s.find(e.Cell, int64(e.Attempt))
		a.start = e
	default:
		a, _ := s.find(e.Cell, int64(e.Attempt))
		a.end = e
		a.state = e.Outcome
		if !slices.Contains(runStates, e.Outcome) {
			wrong("the entry's outcome is no run state")
			a.state = statePartial
		}
	}
}

func (s *states) folder(f *folder) {
	if c, ok := s.plan.Cell(f.cell); !ok || c.Arm != f.arm {
		s.problems = append(s.problems, Problem{Code: CodeUnplannedFolder, Source: f.path, Detail: "the plan has no such cell on this arm; the folder is not read"})
		return
	}
	a, known := s.find(f.cell, f.attempt)
	if !known {
		s.problems = append(s.problems, folderProblem(f, CodeNotInJournal, "the journal does not name this attempt; it is taken as partial"))
	}
	if f.spool {
		s.problems = append(s.problems, folderProblem(f, CodeSpoolLeft,
			"the attempt was cut off, or still runs; collect --resume recovers it"))
		a.state = statePartial
	}
}

func folderProblem(f *folder, code Code, detail string) Problem {
	return Problem{Arm: f.arm, Cell: f.cell, Attempt: &f.attempt, Code: code, Source: f.path, Detail: detail}
}

func (s *states) missingFolders(folders []folder) {
	for _, c := range s.plan.Cells {
		for _, a := range s.byCell[c.ID] {
			has := slices.ContainsFunc(folders, func(f folder) bool { return f.cell == a.cell && f.arm == a.arm && f.attempt == a.number })
			if !has {
				s.problems = append(s.problems, Problem{Arm: a.arm, Cell: a.cell, Attempt: &a.number, Code: CodeMissingFolder,
					Source: filepath.ToSlash(record.AttemptFolder(a.arm, a.cell, int(a.number))), Detail: "the journal names this attempt, but it has no folder"})
			}
		}
	}
}
