package plantedtest

import (
	"slices"
	"strings"
)

// pairs matches cells by workload, context, concurrency, seed and requests
// (measurement.md section 8). Warm-ups are not compared.
func (c *Campaign) pairs(cells map[string]CellTruth) []PairTruth {
	if len(c.arms) < 2 {
		return nil
	}
	other := c.arms[0]
	if other == c.baseline {
		other = c.arms[1]
	}
	var all []PairTruth
	used := map[*cell]bool{}
	for _, b := range c.cellsOf(c.baseline) {
		if b.warmup {
			continue
		}
		partners := slices.DeleteFunc(c.cellsOf(other), func(x *cell) bool { return x.warmup || x.key() != b.key() })
		if len(partners) == 0 {
			all = append(all, c.pair(cells, b, nil, other))
			continue
		}
		used[partners[0]] = true
		all = append(all, c.pair(cells, b, partners[0], other))
	}
	for _, x := range c.cellsOf(other) {
		if !x.warmup && !used[x] {
			all = append(all, c.pair(cells, nil, x, c.baseline))
		}
	}
	return all
}

type pairKey struct {
	workload                             string
	context, concurrency, seed, requests int64
}

func (x *cell) key() pairKey {
	return pairKey{x.workload, x.context, x.concurrency, x.seed, x.requests}
}

// pair lists every reason against comparing two cells; missing is the arm that
// lacks the cell where one side is nil.
func (c *Campaign) pair(cells map[string]CellTruth, b, x *cell, missing string) PairTruth {
	p := PairTruth{Reasons: []string{}}
	reasons := map[string]bool{}
	for i, side := range []*cell{b, x} {
		if side == nil {
			reasons["unpaired "+missing] = true
			continue
		}
		*[]*string{&p.Baseline, &p.Candidate}[i] = side.id
		if cells[side.id].Eligibility != "eligible" {
			reasons["ineligible "+side.arm] = true
		}
		if side.refused() {
			reasons["refused "+side.arm] = true
		}
	}
	if b != nil && x != nil {
		reasons[b.apartReason], reasons[x.apartReason] = true, true
		c.compare(b.counted(), x.counted(), reasons)
		delete(reasons, "")
	}
	for r := range reasons {
		p.Reasons = append(p.Reasons, r)
	}
	slices.Sort(p.Reasons)
	p.Comparable = len(reasons) == 0
	return p
}

func (x *cell) refused() bool {
	a := x.counted()
	return a != nil && slices.ContainsFunc(a.exchanges, func(e *exchange) bool { return e != nil && strings.HasPrefix(e.outcome, "refused_") })
}

// compare looks at each request that both arms sent.
func (c *Campaign) compare(a, b *attempt, reasons map[string]bool) {
	if a == nil || b == nil {
		return
	}
	for i, e := range a.exchanges {
		f := b.exchanges[i]
		if e == nil || f == nil || !e.dispatched || !f.dispatched {
			continue
		}
		reasons["http_version"] = reasons["http_version"] || e.row.HTTPVersion != f.row.HTTPVersion
		reasons["template_version"] = reasons["template_version"] || e.row.TemplateVersion != f.row.TemplateVersion
		reasons["prompt"] = reasons["prompt"] || e.row.PromptSHA256 != f.row.PromptSHA256
		unequal := e.prompt == nil || f.prompt == nil || max(*e.prompt-*f.prompt, *f.prompt-*e.prompt) > c.tolerance
		reasons["prompt_tokens"] = reasons["prompt_tokens"] || unequal
	}
	for r, on := range reasons {
		if !on {
			delete(reasons, r)
		}
	}
}
