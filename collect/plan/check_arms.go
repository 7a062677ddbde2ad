package plan

import (
	"cmp"
	"slices"
	"strings"
)

// match is what pairs two cells of different arms, apart from the seed and the
// number of requests, which must then agree. nth tells replicas apart.
type match struct {
	workload    string
	context     int64
	concurrency int64
	nth         int
}

// matches lists the cells of one arm by what pairs them, and their order.
func (p *Plan) matches(arm string) (index map[match]int, order []match) {
	index = map[match]int{}
	for i, cell := range p.Cells {
		if cell.Arm != arm {
			continue
		}
		m := match{workload: cell.Workload, context: cell.PlannedContextTokens, concurrency: cell.Concurrency}
		for {
			if _, taken := index[m]; !taken {
				break
			}
			m.nth++
		}
		index[m] = i
		order = append(order, m)
	}
	return index, order
}

// arms checks that every arm has the cells of the first one, in the same order
// and under the same request controls. A plan of one arm has nothing to match.
func (c *checker) arms() {
	arms := c.p.Arms()
	if len(arms) < 2 {
		return
	}
	reference, referenceOrder := c.p.matches(arms[0])
	for _, arm := range arms[1:] {
		index, order := c.p.matches(arm)
		missing := false
		for _, m := range referenceOrder {
			i, ok := index[m]
			if !ok {
				missing = true
				c.problem("arms_differ", at("/matrix", reference[m]), "arm %s has no cell to match %s", arm, c.p.Cells[reference[m]].ID)
				continue
			}
			c.matched(reference[m], i)
		}
		for _, m := range order {
			if _, ok := reference[m]; !ok {
				missing = true
				c.problem("arms_differ", at("/matrix", index[m]), "arm %s has no cell to match %s", arms[0], c.p.Cells[index[m]].ID)
			}
		}
		if !missing && !slices.Equal(order, referenceOrder) {
			c.problem("arms_differ", "/matrix", "the cells of arm %s are not in the order of arm %s", arm, arms[0])
		}
	}
}

// matched compares two cells in everything that may not differ between arms.
// Model, engine, endpoint and output file may.
func (c *checker) matched(i, j int) {
	a, b := &c.p.Cells[i], &c.p.Cells[j]
	same := c.p.Controls.SameSeedPerMatchedCell
	var differing []string
	differ := func(name string, equal bool) {
		if !equal {
			differing = append(differing, name)
		}
	}
	x, y := a.Request, b.Request
	differ("requests", a.Requests == b.Requests)
	differ("outer_timeout_seconds", a.OuterTimeoutSeconds == b.OuterTimeoutSeconds)
	differ("excluded_warmup", a.ExcludedWarmup == b.ExcludedWarmup)
	differ("--timeout", x.TimeoutSeconds == y.TimeoutSeconds)
	differ("--max-model-len", x.MaxModelLen == y.MaxModelLen)
	differ("--max-tokens", textOf(x.MaxTokens) == textOf(y.MaxTokens))
	differ("--response-words", x.ResponseWords == y.ResponseWords)
	differ("--controlled-output-policy", x.ControlledOutputPolicy == y.ControlledOutputPolicy)
	differ("--prompt-cache-mode", x.PromptCacheMode == y.PromptCacheMode)
	differ("--request-canaries", x.RequestCanaries == y.RequestCanaries)
	differ("--reasoning-effort", textOf(x.ReasoningEffort) == textOf(y.ReasoningEffort))
	differ("--temperature", numberText(x.Temperature) == numberText(y.Temperature))
	differ("--top-p", numberText(x.TopP) == numberText(y.TopP))
	// A plan that does not ask for equal seeds has no pairs, and is warned.
	differ("seed", a.Seed == b.Seed || same == nil || !*same)
	if len(differing) > 0 {
		c.problem("arms_differ", at("/matrix", j), "matched cells %s and %s differ in %s", a.ID, b.ID, strings.Join(differing, ", "))
	}
}

// measured lists the indices of cells that are not warm-ups, in file order.
func (p *Plan) measured() []int {
	var list []int
	for i, cell := range p.Cells {
		if !cell.ExcludedWarmup {
			list = append(list, i)
		}
	}
	return list
}

// sortedUnique sorts and drops repeats.
func sortedUnique[T cmp.Ordered](list []T) []T {
	slices.Sort(list)
	return slices.Compact(list)
}
