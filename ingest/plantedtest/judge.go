package plantedtest

import (
	"fmt"
	"slices"
)

func (x *cell) requestTruth(a *attempt, index int64, counted bool) RequestTruth {
	r := RequestTruth{Cell: x.id, Index: index, Counted: counted, Outcome: "not_dispatched"}
	var e *exchange
	if a != nil {
		r.Attempt = int64(a.number)
		e = a.exchanges[index]
	}
	if e != nil {
		r.Recorded, r.Dispatched, r.Outcome, r.FaultClass, r.Planted = true, e.dispatched, e.outcome, e.faultClass, e.planted
		r.TTFO, r.TTFT, r.LastOutput, r.E2E = e.ttfo, e.ttft, e.lastOutput, e.e2e
		r.Prompt, r.Completion = e.prompt, e.completion
	} else if a != nil {
		r.Planted = []string{"row_lost"}
	}
	r.Verdicts = map[string]string{}
	for _, rule := range RequestRules {
		r.Verdicts[rule] = x.verdict(a, e, rule)
	}
	return r
}

// verdict is measurement.md section 6. In a started attempt a request without
// a record fails: its evidence should be there.
func (x *cell) verdict(a *attempt, e *exchange, rule string) string {
	switch {
	case rule == ruleCanary && !x.canaries, rule == ruleControlled && (x.words == 0 || x.policy != "strict"):
		return "not_applicable"
	case a == nil:
		return "not_evaluable"
	case e == nil:
		return "fail"
	case !e.dispatched || e.refused:
		return "not_evaluable"
	case e.fails[rule]:
		return "fail"
	}
	return "pass"
}

// judgeCell is measurement.md sections 6 and 7.
func (c *Campaign) judgeCell(x *cell, requests []RequestTruth) CellTruth {
	a := x.counted()
	t := CellTruth{Arm: x.arm, Cell: x.id, RunState: x.runState(), Planned: x.requests, Verdicts: map[string]string{}}
	if a != nil {
		t.Attempt = int64(a.number)
	}
	demanded := c.demanded()
	complete := t.count(requests, demanded)
	t.Verdicts[ruleComplete] = "fail"
	if complete == x.requests {
		t.Verdicts[ruleComplete] = "pass"
	}
	t.Verdicts[ruleIdentity] = x.identityVerdict(a, t.Dispatched)
	t.FailedRules = []string{}
	for rule := range demanded {
		if v := t.Verdicts[rule]; v != "pass" && v != "not_applicable" {
			t.FailedRules = append(t.FailedRules, rule)
		}
	}
	slices.Sort(t.FailedRules)
	switch {
	case x.warmup:
		t.Eligibility = "excluded_warmup"
	case len(t.FailedRules) == 0 && t.Dispatched > 0:
		t.Eligibility, t.Eligible = "eligible", t.Passing
	default:
		t.Eligibility = "ineligible"
	}
	t.Flags = c.flags(x, a)
	t.Counters = map[string]string{}
	if a != nil && a.engine.pages {
		t.Counters = a.engine.found()
	}
	return t
}

// count adds up the requests of the counted attempt, takes the worst verdict of
// each rule, and returns how many are complete.
func (t *CellTruth) count(requests []RequestTruth, demanded map[string]bool) (complete int64) {
	for _, r := range requests {
		if !r.Counted {
			continue
		}
		if r.Dispatched {
			t.Dispatched++
		}
		if r.Outcome == "complete" {
			complete++
		}
		if r.Verdicts[ruleTerminal] == "pass" {
			t.Terminal++
		}
		if passes(r, demanded) {
			t.Passing++
		}
		for _, rule := range RequestRules {
			t.Verdicts[rule] = worse(t.Verdicts[rule], r.Verdicts[rule])
		}
	}
	return complete
}

// passes: every demanded request rule passes or does not apply, and the
// request could be judged at all.
func passes(r RequestTruth, demanded map[string]bool) bool {
	if r.Verdicts[ruleTerminal] == "not_evaluable" {
		return false
	}
	for rule, v := range r.Verdicts {
		if demanded[rule] && v != "pass" && v != "not_applicable" {
			return false
		}
	}
	return true
}

// worse is the verdict of a cell so far: one failure fails it.
func worse(a, b string) string {
	for _, v := range []string{"fail", "not_evaluable", "pass", "not_applicable"} {
		if a == v || b == v {
			return v
		}
	}
	return b
}

func (x *cell) identityVerdict(a *attempt, dispatched int64) string {
	if a != nil && (a.stopRule == "identity_drift" || a.stopRule == "protocol_drift") {
		return "fail"
	}
	if dispatched == 0 {
		return "not_evaluable"
	}
	versions, fields := map[string]bool{}, map[string]bool{}
	for _, e := range a.exchanges {
		if e != nil && e.dispatched {
			versions[e.row.HTTPVersion] = true
			fields[e.reasoningField] = true
		}
	}
	delete(versions, "")
	delete(fields, "")
	if !a.identity || len(versions) > 1 || len(fields) > 1 {
		return "fail"
	}
	return "pass"
}

// found is what a reader of the deltas sees of each canonical name.
func (e engineTruth) found() map[string]string {
	all := map[string]string{}
	for name, n := range e.deltas {
		all[name] = fmt.Sprintf("delta %d", n)
		if code := e.reasons[name]; code != "" {
			all[name] = code
		}
	}
	return all
}
