package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// warn lists what the operator should know of a plan that stands.
func (c *checker) warn() {
	c.warnCutoffPast()
	c.warnSchedule()
	c.warnWarmups()
	c.warnOrder()
	c.warnPower()
	for i := range c.p.Cells {
		c.warnCell(i)
	}
	c.warnArms()
	c.warnUnknown()
}

func (c *checker) warnCutoffPast() {
	p := c.p
	if cutoff := p.AbsoluteRequestCutoff; !cutoff.IsZero() && !c.now.Before(cutoff) {
		c.warning("cutoff_past", "/absolute_request_cutoff",
			"the absolute request cutoff %s lies in the past; collect refuses the plan unless --restart-clock is given", cutoff.Format(time.RFC3339))
	}
}

// warnSchedule compares the time the cells may take with the time there is.
func (c *checker) warnSchedule() {
	s := Summarise(c.p)
	if s.OuterTimeoutSeconds > s.RequestCutoffSeconds && s.RequestCutoffSeconds > 0 {
		c.warning("outer_timeouts_exceed_cutoff", "/matrix",
			"the outer timeouts of the %d cells add up to %s s against a request cutoff of %s s; cells at the end may not run",
			s.Cells, group(s.OuterTimeoutSeconds), group(s.RequestCutoffSeconds))
	}
	c.warnOuterByConcurrency()
	c.warnOuterBelowWork()
	lateEnd := c.p.RequestCutoffSeconds + s.LongestOuterTimeoutSeconds
	if bound := c.p.TotalBoundSeconds - c.p.LoadBoundSeconds; lateEnd > bound && bound > 0 {
		c.warning("last_cell_cut", "/load_bound_seconds",
			"a cell started just before the cutoff may run until %s s, but everything is cancelled at total_bound_seconds - load_bound_seconds = %s s", group(lateEnd), group(bound))
	}
}

// series is the cells of one workload and context in one arm.
type series struct {
	arm, workload string
	context       int64
}

func seriesOf(c *Cell) series { return series{c.Arm, c.Workload, c.PlannedContextTokens} }

// warnOuterByConcurrency finds cells with less time than the one with the lowest
// concurrency of the same workload and context. One warning a workload and context.
func (c *checker) warnOuterByConcurrency() {
	lowest := map[series]*Cell{}
	for i := range c.p.Cells {
		cell := &c.p.Cells[i]
		if l := lowest[seriesOf(cell)]; l == nil || cell.Concurrency < l.Concurrency {
			lowest[seriesOf(cell)] = cell
		}
	}
	type shape struct {
		workload string
		context  int64
	}
	found := map[shape][]string{}
	firstAt := map[shape]int{}
	var order []shape
	for i := range c.p.Cells {
		cell := &c.p.Cells[i]
		l := lowest[seriesOf(cell)]
		if cell.OuterTimeoutSeconds == 0 || cell.OuterTimeoutSeconds >= l.OuterTimeoutSeconds {
			continue
		}
		s := shape{cell.Workload, cell.PlannedContextTokens}
		if found[s] == nil {
			order, firstAt[s] = append(order, s), i
		}
		text := fmt.Sprintf("C%d %s s < C%d %s s", cell.Concurrency, group(cell.OuterTimeoutSeconds), l.Concurrency, group(l.OuterTimeoutSeconds))
		if !slices.Contains(found[s], text) {
			found[s] = append(found[s], text)
		}
	}
	for _, s := range order {
		c.warning("outer_timeout_shorter", cellPointer(firstAt[s], "outer_timeout_seconds"),
			"%s cells at context %d have a shorter outer timeout at a higher concurrency: %s", s.workload, s.context, strings.Join(found[s], ", "))
	}
}

// warnOuterBelowWork finds cells whose bound is below the work they may hold:
// --timeout is only an idle limit, but a request that uses all of it is healthy.
func (c *checker) warnOuterBelowWork() {
	count, worst, worstNeed := 0, -1, int64(0)
	for i, cell := range c.p.Cells {
		if cell.Concurrency == 0 || cell.OuterTimeoutSeconds == 0 {
			continue
		}
		need := (cell.Requests + cell.Concurrency - 1) / cell.Concurrency * cell.Request.TimeoutSeconds
		if need <= cell.OuterTimeoutSeconds {
			continue
		}
		count++
		if need > worstNeed {
			worst, worstNeed = i, need
		}
	}
	if count > 0 {
		cell := c.p.Cells[worst]
		c.warning("outer_timeout_below_work", cellPointer(worst, "outer_timeout_seconds"),
			"in %d cells the outer timeout is less than requests / concurrency (rounded up) x --timeout; the widest gap is in %s: %s s for up to %s s of work",
			count, cell.ID, group(cell.OuterTimeoutSeconds), group(worstNeed))
	}
}

// warnWarmups finds measured contexts without a warm-up before them.
func (c *checker) warnWarmups() {
	warmed := map[string][]int64{}
	missing := map[int64][]string{}
	var contexts []int64
	for _, cell := range c.p.Cells {
		n := cell.PlannedContextTokens
		switch {
		case cell.ExcludedWarmup:
			warmed[cell.Arm] = append(warmed[cell.Arm], n)
		case !slices.Contains(warmed[cell.Arm], n) && !slices.Contains(missing[n], cell.Arm):
			missing[n] = append(missing[n], cell.Arm)
			contexts = append(contexts, n)
		}
	}
	for _, n := range sortedUnique(contexts) {
		c.warning("warmup_missing", "/matrix", "there is no warm-up at context %d before its measured cells (arms: %s)", n, strings.Join(missing[n], ", "))
	}
}

// warnOrder says when the arms run one after the other: whatever changes over
// the hours then changes between the arms.
func (c *checker) warnOrder() {
	arms := c.p.Arms()
	switches := 0
	for i := 1; i < len(c.p.Cells); i++ {
		if c.p.Cells[i].Arm != c.p.Cells[i-1].Arm {
			switches++
		}
	}
	if len(arms) > 1 && switches == len(arms)-1 {
		c.warning("arms_not_interleaved", "/matrix",
			"the arms are not interleaved: %s run one after the other, so drift over time cannot be told from a difference of the arms", strings.Join(arms, ", "))
	}
}

// warnPower says what the planned sample sizes cannot support; Powers has every
// size with what it can.
func (c *checker) warnPower() {
	var cells, maximum, descriptive, listed int64
	var sizes, short []int64
	for _, w := range Powers(c.p) {
		cells += w.Cells
		if w.P95IsMaximum() {
			maximum += w.Cells
			sizes = append(sizes, w.N)
		}
		if !slices.Contains(w.Certifiable, 95) {
			descriptive += w.Cells
		}
		if w.Agree == 0 {
			listed += w.Cells
			short = append(short, w.N)
		}
	}
	if maximum > 0 {
		c.warning("p95_is_maximum", "/matrix", "p95 is the maximum in every cell with n < %d: %d of %d measured cells (n = %s)",
			p95Distinct, maximum, cells, joinInts(sizes))
	}
	if descriptive > 0 {
		c.warning("p95_descriptive", "/matrix", "p95 is descriptive only in %d of %d measured cells; a bound on it needs n >= %d", descriptive, cells, PercentileFloor(95))
	}
	if listed > 0 {
		c.warning("median_without_interval", "/matrix", "the median has no 95 %% interval in %d of %d measured cells (n = %s); their values are listed, and no agreement in sign between two arms excludes chance",
			listed, cells, joinInts(short))
	}
}

func (c *checker) warnCell(i int) {
	cell := &c.p.Cells[i]
	r := cell.Request
	if cell.Concurrency > cell.Requests && cell.Requests > 0 {
		c.warning("concurrency_above_requests", cellPointer(i, "concurrency"), "concurrency %d can never be reached with %d requests", cell.Concurrency, cell.Requests)
	}
	if r.TimeoutSeconds > cell.OuterTimeoutSeconds && cell.OuterTimeoutSeconds > 0 {
		c.warning("idle_limit_unused", cellPointer(i, "argv"), "--timeout %d is longer than the cell's outer timeout of %d s", r.TimeoutSeconds, cell.OuterTimeoutSeconds)
	}
	if r.MaxModelLen > 0 && r.PromptCharacters() < 3*r.CtxTokens {
		c.warning("prompt_capped", cellPointer(i, "argv"), "the prompt is cut to %d characters so that prompt, --max-tokens and margin fit --max-model-len; the label %d overstates it",
			r.PromptCharacters(), r.CtxTokens)
	}
}

func (c *checker) warnArms() {
	arms := c.p.Arms()
	if len(arms) == 1 {
		c.warning("single_arm", "/matrix", "the plan has one arm, so the finding will compare nothing")
	}
	c.warnSeeds(arms)
	for _, arm := range sortedKeys(c.p.Models) {
		if !slices.Contains(arms, arm) {
			c.warning("arm_unused", at("/models", arm), "no cell runs this arm")
		}
	}
	for _, arm := range arms {
		i := slices.IndexFunc(c.p.Cells, func(cell Cell) bool { return cell.Arm == arm })
		if e, err := ParseEndpoint(c.p.Cells[i].Request.BaseURL); err == nil && e.Redacted {
			c.warning("host_redacted", cellPointer(i, "argv"), "the host of arm %s is redacted; give its endpoint to collect with --base-url %s=URL", arm, arm)
		}
	}
}

// warnSeeds finds cells that would be matched, were their seeds equal.
func (c *checker) warnSeeds(arms []string) {
	if same := c.p.Controls.SameSeedPerMatchedCell; len(arms) < 2 || same != nil && *same {
		return
	}
	reference, order := c.p.matches(arms[0])
	for _, arm := range arms[1:] {
		index, _ := c.p.matches(arm)
		for _, m := range order {
			if i, ok := index[m]; ok && c.p.Cells[i].Seed != c.p.Cells[reference[m]].Seed {
				c.warning("seed_differs", cellPointer(i, "seed"), "the seed is not that of %s, so the two cells will not be compared", c.p.Cells[reference[m]].ID)
			}
		}
	}
}

// knownControls are the controls Check compares or a later stage acts on.
var knownControls = append([]string{
	"max_tokens", "model_max_len", "natural_requests_per_cell", "controlled_requests_per_cell", "prompt_token_tolerance",
	"prompt_cache_mode", "reasoning_effort", "prefix_cache_flush", "request_canaries", "same_seed_per_matched_cell",
	"temperature", "top_p", "allowed_finish_reasons",
}, proseControls...)

func (c *checker) warnUnknown() {
	for _, key := range sortedKeys(c.p.Extra) {
		c.warning("unknown_key", at("", key), "an unknown key is kept and hashed, and not acted on")
	}
	for _, pointer := range c.p.unknown {
		c.warning("unknown_key", pointer, "an unknown key is kept and hashed, and not acted on")
	}
	for _, e := range c.p.Controls.Entries {
		if !slices.Contains(knownControls, e.Key) {
			c.warning("control_unknown", at("/controls", e.Key), "nothing checks or carries out this control")
		}
	}
	for _, e := range c.p.Stops {
		if !slices.Contains(knownStops, e.Key) {
			c.warning("stop_unknown", at("/stops", e.Key), "no stop rule carries out this stop; the operator must")
		}
	}
	if flush := c.p.Controls.PrefixCacheFlush; flush != nil && *flush {
		c.warning("prefix_cache_flush", "/controls/prefix_cache_flush", "no cache-reset endpoint is ever called; the operator must flush the cache")
	}
}
