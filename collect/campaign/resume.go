package campaign

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/collect/plan"
	"assay/collect/record"
)

// begun says whether a run was locked in a folder. A folder in which a kill
// left less than that may be begun anew; a folder with anything else in it is
// not a run's.
func begun(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w: %s is not a folder; name another with -o", ErrRunExists, dir)
	}
	has := map[string]bool{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".tmp")
		has[e.Name()] = true
		if !slices.Contains([]string{record.PlanName, record.LockName, record.RunName, record.JournalName, record.CellsName}, name) {
			return false, fmt.Errorf("%w: %s is no run directory; name another with -o", ErrRunExists, dir)
		}
	}
	if !has[record.JournalName] {
		return false, nil
	}
	journal, _, err := record.ReadJournal(dir)
	locked := slices.ContainsFunc(journal, func(e record.Entry) bool { return e.Kind == record.EntryLock })
	return locked, err
}

// reopen takes up a run: its plan must be the one it was begun with.
func (r *run) reopen() (History, error) {
	p, _, err := plan.Load(filepath.Join(r.Dir, record.PlanName))
	if err != nil {
		return History{}, err
	}
	if p == nil || p.Digest() != r.digest {
		return History{}, fmt.Errorf("%w: %s differs from the plan given; resume with the run's own plan.json", ErrPlanChanged, record.PlanName)
	}
	described, err := record.LoadRun(r.Dir)
	if err != nil {
		return History{}, err
	}
	r.clock, r.anchor = described.Clock, record.ResumeAnchor(described.AnchorUnixNs)
	r.startClock()
	if r.journal, err = record.OpenJournal(r.Dir); err != nil {
		return History{}, fmt.Errorf("%w; wait until it has ended", err)
	}
	entries, _, err := record.ReadJournal(r.Dir)
	if err != nil {
		return History{}, err
	}
	h := ReadHistory(entries)
	if err := r.recoverAttempts(entries, h); err != nil {
		return h, err
	}
	if entries, _, err = record.ReadJournal(r.Dir); err != nil {
		return h, err
	}
	return ReadHistory(entries), nil
}

// recoverAttempts makes every attempt folder whole: spools become Parquet, and
// an attempt without an end gets one that says so.
func (r *run) recoverAttempts(entries []record.Entry, h History) error {
	folders, err := filepath.Glob(filepath.Join(r.Dir, record.CellsName, "arm=*", "cell=*", "attempt=*"))
	if err != nil {
		return fmt.Errorf("list attempts: %w", err)
	}
	found := map[string]bool{}
	for _, folder := range folders {
		recovered, err := r.recoverAttempt(folder, entries)
		if err != nil {
			return err
		}
		if _, cell, _ := attemptOf(folder); recovered {
			found[cell] = true
		}
	}
	// An attempt that the journal names and a kill left without a spool.
	for _, c := range r.Plan.Cells {
		seen := h.Cells[c.ID]
		if seen.Running && !found[c.ID] {
			if err := r.endRecovered(c.Arm, c.ID, seen.Attempts, nil, entries); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) recoverAttempt(folder string, entries []record.Entry) (recovered bool, err error) {
	arm, cell, number := attemptOf(folder)
	if number == 0 {
		return false, nil
	}
	spool := filepath.Join(folder, record.SpoolName)
	if _, err := os.Stat(spool); errors.Is(err, fs.ErrNotExist) {
		// Killed between the folder and its spool: nothing was sent. A folder with
		// Parquet files stays.
		_ = os.Remove(folder)
		return false, nil
	}
	content, err := record.CountSpool(spool)
	if err != nil {
		return false, fmt.Errorf("recover cell %s: %w", cell, err)
	}
	damage, err := record.Convert(folder, map[string]string{"assay.plan_sha256": r.digest})
	if err != nil {
		return false, fmt.Errorf("recover cell %s: %w: %w", cell, errStorage, err)
	}
	r.Log.Info("recovered an attempt", "cell", cell, "attempt", number, "requests", content.Requests, "damaged_places", len(damage))
	return true, r.endRecovered(arm, cell, number, &content, entries)
}

// endRecovered journals the end of an attempt that a kill cut off. One that had
// ended, and was killed while its files were made, keeps its state.
func (r *run) endRecovered(arm, cell string, number int, content *record.SpoolContent, entries []record.Entry) error {
	of := func(kind record.EntryKind) func(record.Entry) bool {
		return func(e record.Entry) bool { return e.Kind == kind && e.Cell == cell && e.Attempt == number }
	}
	found := record.Entry{Kind: record.EntryRecover, Arm: arm, Cell: cell, Attempt: number, Figures: map[string]int64{}}
	ended := slices.ContainsFunc(entries, of(record.EntryAttemptEnd))
	switch {
	case ended && content == nil:
		return nil
	case ended:
		found.Detail = "the collector was killed while it wrote the attempt's files; they were made from the spool"
	default:
		found.Detail = "the collector was killed inside the attempt; what was finished is kept"
	}
	if content != nil {
		found.Figures["requests"], found.Figures["events"] = content.Requests, content.Events
	}
	if !ended || content != nil {
		if err := r.write(found); err != nil || ended {
			return err
		}
	}
	planned, _ := r.Plan.Cell(cell)
	figures := map[string]int64{"planned": planned.Requests, "recovered": 1}
	if content != nil {
		figures["dispatched"] = content.Dispatched
	}
	if i := slices.IndexFunc(entries, of(record.EntryAttemptStart)); i >= 0 {
		figures["start_ns"], figures["start_unix_ns"] = entries[i].MonoNs, entries[i].UnixNs
	}
	return r.write(record.Entry{Kind: record.EntryAttemptEnd, Arm: arm, Cell: cell, Attempt: number, Outcome: string(StatePartial), Figures: figures})
}

// attemptOf reads arm, cell and attempt from a folder's path; number 0 is none.
func attemptOf(folder string) (arm, cell string, number int) {
	last := filepath.Base(folder)
	up := filepath.Dir(folder)
	cell, _ = strings.CutPrefix(filepath.Base(up), "cell=")
	arm, _ = strings.CutPrefix(filepath.Base(filepath.Dir(up)), "arm=")
	number, _ = strconv.Atoi(strings.TrimPrefix(last, "attempt="))
	return arm, cell, number
}

// nextAttempt is the number of a cell's next attempt: no folder of an earlier
// one is ever written to again.
func (r *run) nextAttempt(c plan.Cell, h History) int {
	n := h.Cells[c.ID].Attempts + 1
	for {
		if _, err := os.Stat(filepath.Join(r.Dir, record.AttemptFolder(c.Arm, c.ID, n))); err != nil {
			return n
		}
		n++
	}
}
