package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// checker collects what Check finds.
type checker struct {
	p        *Plan
	now      time.Time
	problems []Problem
	warnings []Warning
}

// Check lists what is wrong with the values of a decoded plan, and what its
// operator should know before it is run. now is only used to say that the
// request cutoff has passed. A part Decode could not read is not reported again.
//
// What a plan leaves out is not checked: a plan of one arm, without warm-ups,
// without edge cells or without a control is legal. What it states must agree
// with everything else it states.
func Check(p *Plan, now time.Time) ([]Problem, []Warning) {
	c := &checker{p: p, now: now}
	c.header()
	c.clock()
	c.eligibility()
	c.ids()
	for i := range p.Cells {
		c.cell(i)
		c.controls(i)
	}
	c.seeds()
	c.endpoints()
	c.edgesLast()
	c.arms()
	c.warn()
	return c.problems, c.warnings
}

func (c *checker) problem(code, pointer, format string, args ...any) {
	c.problems = append(c.problems, Problem{Code: code, Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

func (c *checker) warning(code, pointer, format string, args ...any) {
	c.warnings = append(c.warnings, Warning{Code: code, Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

// cellPointer is the JSON pointer of a member of cell i.
func cellPointer(i int, key string) string {
	pointer := at("/matrix", i)
	if key != "" {
		pointer = at(pointer, key)
	}
	return pointer
}

// safeName is what may become a folder of the run directory.
var safeName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,119}$`)

const safeNameRule = "letters, digits, dot, underscore and dash, not starting with a dot or dash, at most 120 characters"

func (c *checker) header() {
	p := c.p
	if p.CampaignID != "" && !safeName.MatchString(p.CampaignID) {
		c.problem("bad_name", "/campaign_id", "a campaign id has %s", safeNameRule)
	}
	if p.Status != "" && p.Status != StatusFrozen {
		c.problem("status_not_frozen", "/status", "the status is %q; only a plan with status %q may be run", p.Status, StatusFrozen)
	}
	if p.MetricProfile != "" && p.MetricProfile != ProfileServingComparison {
		c.problem("metric_profile_unknown", "/metric_profile", "the metric profile %q is not known; the only one is %s", p.MetricProfile, ProfileServingComparison)
	}
	if p.Cells != nil && len(p.Cells) == 0 {
		c.problem("matrix_empty", "/matrix", "the matrix has no cell")
	}
}

// clock checks the arithmetic of measurement.md section 12.
func (c *checker) clock() {
	p := c.p
	c.later("created_at", p.CreatedAt, "frozen_at", p.FrozenAt)
	c.later("frozen_at", p.FrozenAt, "dispatch_clock_started_at", p.DispatchClockStartedAt)
	c.instant("absolute_request_cutoff", p.AbsoluteRequestCutoff, "request_cutoff_seconds", p.RequestCutoffSeconds)
	c.instant("absolute_campaign_deadline", p.AbsoluteCampaignDeadline, "total_bound_seconds", p.TotalBoundSeconds)
	cutoff, reserve, total, load := p.RequestCutoffSeconds, p.RestorationReserveSeconds, p.TotalBoundSeconds, p.LoadBoundSeconds
	if cutoff == 0 || total == 0 {
		return // Decode has said so
	}
	if cutoff+reserve != total {
		c.problem("deadline_arithmetic", "/total_bound_seconds",
			"request_cutoff_seconds %d + restoration_reserve_seconds %d = %d, but total_bound_seconds is %d", cutoff, reserve, cutoff+reserve, total)
	}
	if load > reserve {
		c.problem("deadline_arithmetic", "/load_bound_seconds",
			"load_bound_seconds %d is more than the restoration_reserve_seconds %d it must fit into", load, reserve)
	}
}

func (c *checker) later(firstKey string, first time.Time, secondKey string, second time.Time) {
	if !first.IsZero() && !second.IsZero() && second.Before(first) {
		c.problem("deadline_arithmetic", at("", secondKey), "%s is before %s", secondKey, firstKey)
	}
}

func (c *checker) instant(key string, have time.Time, secondsKey string, seconds int64) {
	start := c.p.DispatchClockStartedAt
	if have.IsZero() || start.IsZero() || seconds == 0 {
		return
	}
	if want := start.Add(time.Duration(seconds) * time.Second); !have.Equal(want) {
		c.problem("deadline_arithmetic", at("", key), "dispatch_clock_started_at + %s is %s, not %s",
			secondsKey, want.Format(time.RFC3339Nano), have.Format(time.RFC3339Nano))
	}
}

func (c *checker) eligibility() {
	for i, sentence := range c.p.Eligibility {
		if _, ok := Sentences[sentence]; !ok {
			c.problem("eligibility_unknown", at("/eligibility", i), "no rule covers the sentence %q", sentence)
		}
		if slices.Index(c.p.Eligibility, sentence) < i {
			c.problem("eligibility_repeated", at("/eligibility", i), "the sentence is stated twice")
		}
	}
}

// ids checks names and that no two cells share one. Names that differ in case
// only would share a folder on some file systems.
func (c *checker) ids() {
	seen := map[string]int{}
	for i, cell := range c.p.Cells {
		if cell.ID == "" {
			continue
		}
		if !safeName.MatchString(cell.ID) {
			c.problem("bad_name", cellPointer(i, "id"), "a cell id has %s", safeNameRule)
		}
		folded := strings.ToLower(cell.ID)
		if first, ok := seen[folded]; ok {
			c.problem("cell_duplicate_id", cellPointer(i, "id"), "cell %d has the same id %q", first, cell.ID)
			continue
		}
		seen[folded] = i
	}
}

// seeds checks that (seed, index) is unique within an arm. Indices start at 0 in
// every cell, so any two cells of one seed repeat some.
func (c *checker) seeds() {
	type key struct {
		arm  string
		seed int64
	}
	first := map[key]int{}
	for i, cell := range c.p.Cells {
		k := key{cell.Arm, cell.Seed}
		j, ok := first[k]
		if !ok {
			first[k] = i
			continue
		}
		c.problem("seed_repeated", cellPointer(i, "seed"),
			"seed %d is also that of cell %s, so the arm would send the same prompts and markers twice", cell.Seed, c.p.Cells[j].ID)
	}
}

// endpoints checks that an arm has one endpoint.
func (c *checker) endpoints() {
	first := map[string]int{}
	for i, cell := range c.p.Cells {
		j, ok := first[cell.Arm]
		if !ok {
			first[cell.Arm] = i
			continue
		}
		if a, b := c.p.Cells[j].Request.BaseURL, cell.Request.BaseURL; a != "" && b != "" && a != b {
			c.problem("endpoint_differs", cellPointer(i, "argv"), "--base-url is not that of cell %s of the same arm", c.p.Cells[j].ID)
		}
	}
}

// edgesLast checks that nothing follows the capacity edge of an arm but the edge
// and its warm-up: an edge run may exhaust the engine.
func (c *checker) edgesLast() {
	edgeContext := map[string][]int64{}
	for _, cell := range c.p.Cells {
		if cell.Workload == WorkloadEdge {
			edgeContext[cell.Arm] = append(edgeContext[cell.Arm], cell.PlannedContextTokens)
		}
	}
	edge := map[string]string{}
	for i, cell := range c.p.Cells {
		warmsEdge := cell.Workload == WorkloadWarmup && slices.Contains(edgeContext[cell.Arm], cell.PlannedContextTokens)
		switch {
		case cell.Workload == WorkloadEdge:
			if edge[cell.Arm] == "" {
				edge[cell.Arm] = cell.ID
			}
		case edge[cell.Arm] != "" && !warmsEdge:
			c.problem("edge_not_last", at("/matrix", i), "cell %s comes after capacity-edge cell %s of the same arm; edge cells run last", cell.ID, edge[cell.Arm])
		}
	}
}
