package recompute

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"assay/collect/plan"
	"assay/report/bundle"
)

// notRun are the states of cells that may have no row of a request.
var notRun = []string{"blocked_by_stop", "not_run_deadline", "not_run"}

type attemptKey struct {
	cell    string
	attempt int64
}

func (k attemptKey) String() string { return fmt.Sprintf("cell %s, attempt %d", k.cell, k.attempt) }

// checkCells is V-16: the manifest counts what the plan plans; the data has the plan's cells and no other, each cell one
// counted attempt, and each attempt one row for every planned request, unless the
// cell's state says that it never ran.
func (s *shared) checkCells(l *bundle.Loaded) []bundle.Problem {
	p := &problems{code: "V-16", folder: l.Folder}
	published, _ := plan.Decode(fileData(l, planFile))
	if published == nil {
		p.add(planFile, "cannot be read")
		return p.all()
	}
	tally := l.Manifest.Predicate.Tally
	if cells, requests := int64(len(published.Cells)), published.TotalRequests(); tally.Cells.Planned != cells || tally.Requests.Planned != requests {
		p.add(planFile, "plans %d cells and %d requests, the manifest says %d and %d", cells, requests, tally.Cells.Planned, tally.Requests.Planned)
	}
	planned := map[string]plan.Cell{}
	for _, c := range published.Cells {
		planned[c.ID] = c
	}
	s.plannedCells(p, planned)
	s.foreignCells(p, planned)
	states := s.attemptStates(p, planned)
	s.requestRows(p, planned, states)
	return p.all()
}

// table returns a table's kept columns; one that was not published is empty.
func (s *shared) table(name string) *tableData {
	if t := s.tables[name]; t != nil {
		return t
	}
	return &tableData{columns: map[string]*column{}}
}

func (t *tableData) text(name string, row int) string {
	if c := t.columns[name]; c != nil && row < len(c.texts) {
		return c.texts[row]
	}
	return ""
}

func (t *tableData) whole(name string, row int) int64 {
	if c := t.columns[name]; c != nil && row < len(c.wholes) {
		return c.wholes[row]
	}
	return 0
}

func (t *tableData) flag(name string, row int) bool {
	c := t.columns[name]
	return c != nil && row < len(c.flags) && c.flags[row]
}

func (t *tableData) number(name string, row int) float64 {
	if c := t.columns[name]; c != nil && row < len(c.nums) && !c.null[row] {
		return c.nums[row]
	}
	return 0
}

// plannedCells compares the table of cells with the plan's matrix.
func (s *shared) plannedCells(p *problems, planned map[string]plan.Cell) {
	t := s.table("cells")
	seen := map[string]bool{}
	for i := range t.rows {
		id := t.text("cell", i)
		c, ok := planned[id]
		switch {
		case !ok:
			p.add("data/cells.parquet", "cell %s is not in the plan", id)
		case seen[id]:
			p.add("data/cells.parquet", "cell %s stands twice", id)
		case t.text("arm", i) != c.Arm || t.whole("requests", i) != c.Requests:
			p.add("data/cells.parquet", "cell %s is not as planned", id)
		}
		seen[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(planned)) {
		if !seen[id] {
			p.add("data/cells.parquet", "the planned cell %s is missing", id)
		}
	}
}

// foreignCells looks for cells nobody planned in every table that names one.
func (s *shared) foreignCells(p *problems, planned map[string]plan.Cell) {
	for _, name := range slices.Sorted(maps.Keys(s.tables)) {
		t := s.tables[name]
		if t.columns["cell"] == nil || name == "cells" {
			continue
		}
		foreign := map[string]bool{}
		for i := range t.rows {
			if id := t.text("cell", i); id != "" && planned[id].ID == "" {
				foreign[id] = true
			}
		}
		for _, id := range slices.Sorted(maps.Keys(foreign)) {
			p.add("", "table %s has rows of cell %s, which is not in the plan", name, id)
		}
	}
}

// attemptStates returns the state of each attempt and checks that each planned
// cell has one attempt that counts.
func (s *shared) attemptStates(p *problems, planned map[string]plan.Cell) map[attemptKey]string {
	t := s.table("attempts")
	states, counted := map[attemptKey]string{}, map[string]int{}
	for i := range t.rows {
		key := attemptKey{t.text("cell", i), t.whole("attempt", i)}
		if _, twice := states[key]; twice {
			p.add("data/attempts.parquet", "%s stands twice", key)
		}
		states[key] = t.text("run_state", i)
		if t.flag("counted", i) {
			counted[key.cell]++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(planned)) {
		if counted[id] != 1 {
			p.add("data/attempts.parquet", "cell %s has %d attempts that count, not one", id, counted[id])
		}
	}
	return states
}

// requestRows counts the rows of each attempt against the plan.
func (s *shared) requestRows(p *problems, planned map[string]plan.Cell, states map[attemptKey]string) {
	const file = "data/requests.parquet"
	t := s.table("request_facts")
	seen, idle := map[attemptKey]map[int64]bool{}, map[attemptKey]int64{}
	for i := range t.rows {
		key, index := attemptKey{t.text("cell", i), t.whole("attempt", i)}, t.whole("request_index", i)
		if seen[key] == nil {
			seen[key] = map[int64]bool{}
		}
		if seen[key][index] {
			p.add(file, "%s: request %d stands twice", key, index)
		}
		seen[key][index] = true
		if !t.flag("dispatched", i) {
			idle[key]++
		}
	}
	for key := range seen {
		if _, ok := states[key]; !ok {
			states[key] = "" // rows without an attempt
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(states), compareKeys) {
		want, state := planned[key.cell].Requests, states[key]
		rows := int64(len(seen[key]))
		switch {
		case state == "":
			p.add(file, "%s has rows and no attempt", key)
		case rows == 0 && slices.Contains(notRun, state):
		case rows != want:
			p.add(file, "%s has rows of %d requests, %d are planned, and its state is %s", key, rows, want, state)
		case state == "complete" && idle[key] > 0:
			p.add(file, "%s is complete, and %d requests were not dispatched", key, idle[key])
		}
		for index := range seen[key] {
			if index < 0 || index >= want {
				p.add(file, "%s: request %d is not planned", key, index)
			}
		}
	}
}

func compareKeys(a, b attemptKey) int {
	return cmp.Or(cmp.Compare(a.cell, b.cell), cmp.Compare(a.attempt, b.attempt))
}
