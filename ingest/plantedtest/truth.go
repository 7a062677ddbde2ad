package plantedtest

import "fmt"

// Truth is what must be found in a campaign.
type Truth struct {
	Attempts int // attempt folders
	Requests []RequestTruth
	Cells    []CellTruth
	Pairs    []PairTruth
	Problems []ProblemTruth
	// Planted names everything planted anywhere in the campaign, outcomes and
	// fault classes included.
	Planted map[string]bool
}

// RequestTruth is the truth of one planned request in one attempt at its cell;
// attempt 0 is a cell that was never started.
type RequestTruth struct {
	Cell                        string
	Attempt, Index              int64
	Counted                     bool
	Recorded, Dispatched        bool
	Outcome, FaultClass         string
	TTFO, TTFT, LastOutput, E2E *int64            // ns after t0
	Prompt, Completion          *int64            // tokens; nil when usage does not state them
	Verdicts                    map[string]string // by rule, of the counted attempt
	Planted                     []string
}

// CellTruth is the truth of one planned cell.
type CellTruth struct {
	Arm, Cell                                        string
	Attempt                                          int64
	RunState, Eligibility                            string
	Planned, Dispatched, Terminal, Passing, Eligible int64
	FailedRules                                      []string
	Verdicts                                         map[string]string // by rule, all of scope request or cell
	Flags                                            []string          // sorted, see flag
	Counters                                         map[string]string // by canonical name: "delta N", or the code of why not
}

// PairTruth says whether two matched cells may be compared. A reason is one of
// "unpaired ARM", "ineligible ARM", "refused ARM", "control NAME",
// "http_version", "template_version", "prompt" and "prompt_tokens".
type PairTruth struct {
	Baseline, Candidate string // cells; "" for a side that has none
	Comparable          bool
	Reasons             []string // sorted
}

// Truth works out what must be found.
func (c *Campaign) Truth() Truth {
	t := Truth{Planted: map[string]bool{}}
	byID := map[string]CellTruth{}
	for _, x := range c.cells {
		t.Attempts += len(x.attempts)
		requests := c.requestsOf(x)
		t.Requests = append(t.Requests, requests...)
		cell := c.judgeCell(x, requests)
		t.Cells = append(t.Cells, cell)
		byID[x.id] = cell
		t.Problems = append(t.Problems, x.problems()...)
		t.plantedIn(x, cell)
	}
	t.Pairs = c.pairs(byID)
	t.plantedElsewhere()
	return t
}

func (t *Truth) planted(names ...string) {
	for _, name := range names {
		t.Planted[name] = true
	}
}

// plantedIn names what was planted in a cell and came to bear.
func (t *Truth) plantedIn(x *cell, found CellTruth) {
	t.planted(x.apart, found.RunState, found.Eligibility)
	t.planted(found.Flags...)
	if len(x.attempts) > 1 {
		t.planted("second_attempt")
	}
	if a := x.counted(); a != nil && !a.killed {
		t.planted(x.engineFault, x.identityFault, "stamps_"+x.stampMode)
	}
}

func (t *Truth) plantedElsewhere() {
	for _, r := range t.Requests {
		t.planted(r.Planted...)
		t.planted("outcome "+r.Outcome, "class "+r.FaultClass)
	}
	for _, p := range t.Problems {
		t.planted(p.Code)
	}
	for _, p := range t.Pairs {
		t.planted(p.Reasons...)
		t.planted(fmt.Sprintf("comparable %t", p.Comparable))
	}
}

// requestsOf lists the truth of every planned request of every attempt.
func (c *Campaign) requestsOf(x *cell) []RequestTruth {
	var all []RequestTruth
	if len(x.attempts) == 0 {
		for index := range x.requests {
			all = append(all, x.requestTruth(nil, index, true))
		}
	}
	for _, a := range x.attempts {
		for index := range x.requests {
			all = append(all, x.requestTruth(a, index, a == x.counted()))
		}
	}
	return all
}
