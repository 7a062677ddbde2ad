package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// stoppedIn names the cells, or else the arms, in which a stop rule fired.
func (r *renderer) stoppedIn(rule string) string {
	stops := r.b.result("stops")
	var where []string
	for _, i := range stops.find("rule", rule) {
		at := cmp.Or(stops.text(i, "cell"), stops.text(i, "arm"))
		if name := given(code(at)); at != "" && !slices.Contains(where, name) {
			where = append(where, name)
		}
	}
	if len(where) == 0 {
		return "the campaign as a whole"
	}
	return strings.Join(where, ", ")
}

// blockedBy names the stop rules that kept a cell from being run.
func (r *renderer) blockedBy(cell string) string {
	stops := r.b.result("stops")
	var rules []string
	for i := range stops.rows {
		rule := code(stops.text(i, "rule"))
		if slices.Contains(jsonList(stops.text(i, "blocks")), cell) && !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return strings.Join(rules, ", ")
}

// eligibility shows every planned cell, grouped so that no table is wide.
func (r *renderer) eligibility() eligibilityView {
	v := eligibilityView{Summary: fmt.Sprintf("Of %s planned cells %s are eligible, %s are not, and %s are warm-ups, which are listed and counted in nothing.",
		r.b.claim("tally", 0, "cells_planned"), r.b.claim("tally", 0, "cells_eligible"),
		r.b.claim("tally", 0, "cells_ineligible"), r.b.claim("tally", 0, "cells_warmup"))}
	cells := r.b.result("cells")
	v.Failed, v.Ended = r.failedCells(), r.endedCells()
	groups := r.b.result("groups")
	for g := range groups.rows {
		arm, workload := groups.text(g, "arm"), groups.text(g, "workload")
		t := newTable("Cell", "State", "Eligibility", "Planned>", "Dispatched>", "Terminal>", "Passing>", "Eligible>", "Failed rules")
		for _, i := range cells.find("arm", arm, "workload", workload) {
			row := []string{given(code(cells.text(i, "cell"))), words(cells.text(i, "run_state")), words(cells.text(i, "eligibility"))}
			for _, column := range []string{"planned", "dispatched", "terminal", "passing", "eligible"} {
				row = append(row, r.b.claim("cells", i, column))
			}
			t.add(append(row, r.failedRules(i))...)
		}
		total := []string{"all", "", ""}
		for _, column := range []string{"planned", "dispatched", "terminal", "passing", "eligible"} {
			total = append(total, r.b.claim("groups", g, column))
		}
		t.add(append(total, "")...)
		v.Groups = append(v.Groups, named{given(literal(arm)) + ", " + given(literal(workload)), t.String()})
	}
	return v
}

// failedCells lists each rule that keeps a cell from being eligible, with the
// requests that fail it.
func (r *renderer) failedCells() string {
	cells, verdicts := r.b.result("cells"), r.b.result("verdicts")
	t := newTable("Cell", "State", "Failed rule", "Requests that fail it", "Requests that could not be judged>")
	for _, i := range cells.find("eligibility", "ineligible") {
		cell := cells.text(i, "cell")
		start := []string{given(code(cell)), words(cells.text(i, "run_state"))}
		if n, _ := cells.whole(i, "dispatched"); n == 0 {
			t.add(append(start, r.failedRules(i), "", "")...)
			continue
		}
		for _, rule := range jsonList(cells.text(i, "failed_rules")) {
			row := append(slices.Clone(start), code(rule))
			found := verdicts.find("cell", cell, "rule", rule)
			switch {
			case len(found) == 0:
				row = append(row, "nothing evaluates it", "")
			case verdicts.text(found[0], "failing_requests") == "[]" && verdicts.text(found[0], "scope") == "cell":
				row = append(row, "the cell as a whole", "")
			case verdicts.text(found[0], "failing_requests") == "[]":
				row = append(row, "none", r.b.claim("verdicts", found[0], "not_evaluable"))
			default:
				row = append(row, r.b.quote("verdicts", found[0], "failing_requests"), r.b.claim("verdicts", found[0], "not_evaluable"))
			}
			t.add(row...)
		}
	}
	return t.String()
}

// endedCells lists how the requests of cells that are not eligible ended, but for
// those that were never sent.
func (r *renderer) endedCells() string {
	cells, outcomes := r.b.result("cells"), r.b.result("cell_outcomes")
	t := newTable("Cell", "Requests ended", "Requests>", "Planned>")
	for _, i := range cells.find("eligibility", "ineligible") {
		if n, _ := cells.whole(i, "dispatched"); n == 0 {
			continue
		}
		for _, k := range outcomes.find("cell", cells.text(i, "cell")) {
			t.add(given(code(cells.text(i, "cell"))), words(outcomes.text(k, "outcome")), r.b.claim("cell_outcomes", k, "requests"), r.b.claim("cells", i, "planned"))
		}
	}
	return t.String()
}

// words writes a word of a closed list for a reader.
func words(code string) string { return literal(strings.ReplaceAll(code, "_", " ")) }

// failedRules lists the rules a cell failed. Where nothing was sent no rule had
// anything to judge, and a list of all of them would say less.
func (r *renderer) failedRules(row int) string {
	cells := r.b.result("cells")
	if n, ok := cells.whole(row, "dispatched"); ok && n == 0 && cells.text(row, "eligibility") != "excluded_warmup" {
		if rules := r.blockedBy(cells.text(row, "cell")); rules != "" {
			return "nothing was sent, so no rule could be judged: blocked by " + rules
		}
		return "nothing was sent, so no rule could be judged"
	}
	var out []string
	for _, rule := range jsonList(cells.text(row, "failed_rules")) {
		out = append(out, code(rule))
	}
	return strings.Join(out, ", ")
}
