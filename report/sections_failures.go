package report

import (
	"fmt"
	"strings"
)

func (r *renderer) failures() failuresView {
	var v failuresView
	o := r.b.result("outcomes")
	t := newTable("Arm", "Outcome", "Requests>", "of>", "Cells>")
	for _, complete := range []bool{false, true} { // what did not complete comes first
		for i := range o.rows {
			if (o.text(i, "outcome") == "complete") == complete {
				t.add(given(literal(o.text(i, "arm"))), words(o.text(i, "outcome")), r.b.claim("outcomes", i, "requests"),
					r.b.claim("outcomes", i, "of_requests"), r.b.claim("outcomes", i, "cells"))
			}
		}
	}
	v.Outcomes = orNone(t, "There is no request.")
	v.Stops, v.Withheld, v.Problems = r.stops(), r.withheld(), r.problems()
	v.Attempts, v.Repeats = r.attempts()
	v.OOM = r.oom()
	return v
}

func (r *renderer) stops() string {
	s := r.b.result("stops")
	t := newTable("When", "Rule", "Where", "Evidence", "Cells it blocks")
	for i := range s.rows {
		at, _ := s.whole(i, "at_unix_ns")
		var blocks []string
		for _, c := range jsonList(s.text(i, "blocks")) {
			blocks = append(blocks, given(code(c)))
		}
		where := s.text(i, "cell")
		if where == "" {
			where = s.text(i, "arm")
		}
		t.add(given(instant(at)), words(s.text(i, "rule")), given(code(where)), r.b.quote("stops", i, "detail"), strings.Join(blocks, ", "))
	}
	return t.String()
}

// attempts says in one sentence what the attempts table says, and lists the
// cells that needed more than one.
func (r *renderer) attempts() (sentence, repeats string) {
	if len(r.b.result("repeats").rows) == 0 {
		return "No attempt was made.", ""
	}
	at := func(column string) string { return r.b.claim("repeats", 0, column) }
	sentence = fmt.Sprintf("%s attempts, %s of them second or later ones. In %s the engine was seen idle before and after. Longest wait for that: %s before a cell, %s after. Largest drift of the wall clock over a cell: %s.",
		at("attempts"), at("repeats"), at("drains_verified"), at("drain_before_max_ns"), at("drain_after_max_ns"), at("clock_drift_max_ns"))
	a := r.b.result("attempts")
	t := newTable("Cell", "Attempt>", "State", "Counts", "Duration>")
	for i := range a.rows {
		more := false
		for _, k := range a.find("cell", a.text(i, "cell")) {
			n, _ := a.whole(k, "attempt")
			more = more || n > 1
		}
		n, _ := a.whole(i, "attempt")
		if !more || n == 0 {
			continue
		}
		t.add(given(code(a.text(i, "cell"))), given(formatValue(n, "")), words(a.text(i, "run_state")),
			formatValue(a.flag(i, "counted"), ""), r.b.or(t, "attempts", i, "duration_ns", "the attempt has no end"))
	}
	return sentence, t.String()
}

func (r *renderer) withheld() string {
	w := r.b.result("withheld")
	t := newTable("Arm", "Flag", "Metric", "Withheld>", "Cells>", "Reason")
	for i := range w.rows {
		t.add(given(literal(w.text(i, "arm"))), code(w.text(i, "flag")), code(w.text(i, "metric")),
			r.b.claim("withheld", i, "withheld"), r.b.claim("withheld", i, "cells"), r.b.quote("withheld", i, "reason"))
	}
	return t.String()
}

func (r *renderer) problems() string {
	p := r.b.result("problems")
	t := newTable("Stage", "Code", "Arm", "Source", "Problems>", "Cells>", "One of them")
	for i := range p.rows {
		t.add(literal(p.text(i, "stage")), code(p.text(i, "code")), given(literal(p.text(i, "arm"))), given(code(p.text(i, "source"))),
			r.b.claim("problems", i, "problems"), r.b.claim("problems", i, "cells"), r.b.quote("problems", i, "example"))
	}
	return t.String()
}

func (r *renderer) sampling() samplingView {
	var v samplingView
	s := r.b.result("sampling")
	t := newTable("Arm", "Source", "Samples>", "During cells>", "Good of those expected>", "Gaps>", "Errors>", "Interval min>", "p50>", "max>")
	for i := range s.rows {
		at := func(column string) string {
			return r.b.or(t, "sampling", i, column, "fewer than two samples during a cell")
		}
		t.add(given(literal(s.text(i, "arm"))), literal(s.text(i, "source")), at("samples"), at("during"), r.b.or(t, "sampling", i, "good", "the run does not state its interval")+" of "+r.b.or(t, "sampling", i, "expected", "the run does not state its interval"), r.b.or(t, "sampling", i, "gaps", "the run does not state its interval"), at("errors"), at("min_ns"), at("p50_ns"), at("max_ns"))
	}
	v.Table = t.String()
	thin := newTable("File", "Rule", "keep every>", "Rows before>", "Rows published>")
	for _, c := range r.columns {
		if c.Thinned != nil {
			thin.add("`"+c.File+"`", given(literal(c.Thinned.Rule)), given(formatValue(c.Thinned.KeepEvery, "")),
				given(formatValue(c.Thinned.RowsAll, "")), given(formatValue(c.Rows, "")))
		}
	}
	v.Thinned = thin.String()
	v.Scrapes, v.Client = r.scrapes(), r.clientCost()
	return v
}

// client prints the client's own error bar.
func (r *renderer) client() string {
	c := r.b.result("client")
	t := newTable("Arm", "Requests>", "Events>", "Kernel-stamped>", "Raised to the one before>", "Reader's lag, p50 of p99s>", "Largest p99>", "Reasoning field", "HTTP")
	for i := range c.rows {
		at := func(column string) string { return r.b.or(t, "client", i, column, "no kernel stamp") }
		t.add(given(literal(c.text(i, "arm"))), at("requests"), at("events"), at("kernel_stamped"), at("raised"), at("lag_p50_ns"), at("lag_max_ns"),
			given(orNotStated(code(c.text(i, "reasoning_field")))), given(orNotStated(literal(c.text(i, "http_version")))))
	}
	return orNone(t, "No request was dispatched.")
}

// next lists what the evidence leaves open, most pressing first.
func (r *renderer) next() []string {
	var out []string
	tally := r.b.result("tally")
	n := func(column string) int64 { v, _ := tally.whole(0, column); return v }
	if r.lastRestoration().wrong() {
		out = append(out, "Bring the earlier service back and repeat the checks that failed or were not made.")
	}
	if n("cells_ineligible") > 0 {
		out = append(out, "Run the cells again that are not eligible, after their failed rules are understood: "+r.b.claim("tally", 0, "cells_ineligible")+" cells.")
	}
	if pairs := r.b.result("pairs_tally"); len(pairs.rows) > 0 {
		all, _ := pairs.whole(0, "pairs")
		if comparable, _ := pairs.whole(0, "comparable"); comparable < all {
			out = append(out, "Remove the reasons that keep pairs from being compared, and repeat those cells on both arms.")
		}
	}
	if len(r.b.result("withheld").rows) > 0 {
		out = append(out, "Repeat the requests whose metrics were withheld.")
	}
	out = append(out,
		"Interleave the arms, so that time of day and temperature fall on both.",
		"Raise the requests of each cell before reading anything into a p95.",
		"Measure answers, not only times: nothing here says that they are right.")
	return out
}

// verdictsFile is verdicts.json.
type verdictsFile struct {
	Cells []cellVerdict `json:"cells"`
	Pairs []pairVerdict `json:"pairs"`
}

type cellVerdict struct {
	Cell        string        `json:"cell"`
	Arm         string        `json:"arm"`
	Attempt     int64         `json:"attempt"`
	RunState    string        `json:"run_state"`
	Eligibility string        `json:"eligibility"`
	Planned     int64         `json:"planned"`
	Dispatched  int64         `json:"dispatched"`
	Terminal    int64         `json:"terminal"`
	Passing     int64         `json:"passing"`
	Eligible    int64         `json:"eligible"`
	FailedRules []string      `json:"failed_rules"`
	Rules       []ruleVerdict `json:"rules"`
}

type ruleVerdict struct {
	Rule            string `json:"rule"`
	Scope           string `json:"scope"`
	Verdict         string `json:"verdict"`
	Passing         *int64 `json:"passing"` // null for rules of a whole cell
	Failing         *int64 `json:"failing"`
	NotApplicable   *int64 `json:"not_applicable"`
	NotEvaluable    *int64 `json:"not_evaluable"`
	FailingRequests string `json:"failing_requests"` // JSON list of request indexes
}

type pairVerdict struct {
	Pair       string   `json:"pair"`
	Baseline   string   `json:"baseline"`
	Candidate  string   `json:"candidate"`
	Comparable bool     `json:"comparable"`
	Reasons    []string `json:"reasons"`
}

func (r *renderer) verdicts() verdictsFile {
	out := verdictsFile{Cells: []cellVerdict{}, Pairs: []pairVerdict{}}
	cells, rules, pairs := r.b.result("cells"), r.b.result("verdicts"), r.b.result("pairs")
	for i := range cells.rows {
		n := func(column string) int64 { v, _ := cells.whole(i, column); return v }
		c := cellVerdict{
			Cell: cells.text(i, "cell"), Arm: cells.text(i, "arm"), Attempt: n("attempt"),
			RunState: cells.text(i, "run_state"), Eligibility: cells.text(i, "eligibility"),
			Planned: n("planned"), Dispatched: n("dispatched"), Terminal: n("terminal"), Passing: n("passing"), Eligible: n("eligible"),
			FailedRules: append([]string{}, jsonList(cells.text(i, "failed_rules"))...), Rules: []ruleVerdict{},
		}
		for _, k := range rules.find("arm", c.Arm, "cell", c.Cell) {
			c.Rules = append(c.Rules, ruleVerdict{
				Rule: rules.text(k, "rule"), Scope: rules.text(k, "scope"), Verdict: rules.text(k, "verdict"),
				Passing: optional(rules, k, "passing"), Failing: optional(rules, k, "failing"),
				NotApplicable: optional(rules, k, "not_applicable"), NotEvaluable: optional(rules, k, "not_evaluable"),
				FailingRequests: rules.text(k, "failing_requests"),
			})
		}
		out.Cells = append(out.Cells, c)
	}
	for i := range pairs.rows {
		out.Pairs = append(out.Pairs, pairVerdict{
			Pair: pairs.text(i, "pair"), Baseline: pairs.text(i, "baseline_cell"), Candidate: pairs.text(i, "candidate_cell"),
			Comparable: pairs.flag(i, "comparable"), Reasons: append([]string{}, jsonList(pairs.text(i, "reasons"))...),
		})
	}
	return out
}

func optional(r *result, row int, column string) *int64 {
	if n, ok := r.whole(row, column); ok {
		return &n
	}
	return nil
}
