package plantedtest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"assay/collect/record"
)

// anchorUnixNs is the wall clock at the run's clock anchor, odd to the last
// digit so that a lost nanosecond shows.
const anchorUnixNs int64 = 1_792_234_551_522_595_123

const second = int64(1_000_000_000)

// New generates the campaign of a seed.
func New(seed int64) (*Campaign, error) {
	c := &Campaign{
		Seed: seed, ID: fmt.Sprintf("planted-%06d", seed), clockNs: second,
		draw: rand.New(rand.NewPCG(uint64(seed), 20_260_101)), // one stream of draws: order matters
	}
	c.drawPlan()
	c.drawCells()
	if err := c.freeze(); err != nil {
		return nil, err
	}
	for _, x := range c.cells {
		c.drawFate(x)
	}
	return c, nil
}

// drawPlan decides what the plan demands.
func (c *Campaign) drawPlan() {
	c.arms = []string{"baseline"}
	if c.chance(55) {
		c.arms = pick(c, [][]string{{"baseline", "candidate"}, {"candidate", "baseline"}, {"alpha", "beta"}})
	}
	c.baseline = c.arms[0]
	if slices.Contains(c.arms, "baseline") {
		c.baseline = "baseline"
	}
	for _, s := range sentences {
		if c.chance(88) {
			c.sentences = append(c.sentences, s.text)
		}
	}
	c.drift = c.chance(80)
	if c.chance(15) {
		c.allowed = []string{"stop", "length"}
	}
	if c.chance(15) {
		c.allowed = append(c.allowed, "stop", "abort")
	}
	if c.chance(30) {
		c.tolerance = 5
	}
}

// drawShape decides what is equal in the cells of one group on every arm.
func (c *Campaign) drawShape(group int64) cell {
	x := cell{
		workload: pick(c, []string{"natural", "controlled", "controlled", "capacity-edge"}), policy: pick(c, []string{"strict", "observe"}),
		concurrency: c.between(1, 4), requests: c.between(1, 5), context: pick(c, []int64{2048, 8192, 40960}), seed: c.Seed%7*100_000 + 1000*(group+1),
		outerSeconds: 1200, idleSeconds: 900, maxTokens: 16384, temperature: "0.6", topP: "0.95", effort: pick(c, []string{"", "max"}),
		canaries: c.chance(80), template: "assay/prompt/v1", httpVersion: "HTTP/1.1", field: pick(c, []string{"reasoning", "reasoning_content"}),
		shiftedIndex: -1,
	}
	if x.workload == "controlled" {
		x.words = c.between(2, 9)
	}
	if group == 0 && c.chance(25) {
		x.workload, x.warmup, x.words, x.requests = "warmup", true, 0, 1
	}
	return x
}

// drawCells lays out the matrix: each group on every arm, in the order of arms.
func (c *Campaign) drawCells() {
	var shapes []cell
	for group := range pick(c, []int64{1, 1, 1, 1, 2, 3}) {
		shapes = append(shapes, c.drawShape(group))
	}
	for number, arm := range c.arms {
		for i, shape := range shapes {
			if number > 0 && i > 0 && i == len(shapes)-1 && c.chance(7) {
				continue // a cell without a partner
			}
			x := shape
			x.arm, x.id = arm, fmt.Sprintf("%s-%s-%d", arm, shape.workload, i)
			if number > 0 && c.chance(35) {
				c.setApart(&x)
			}
			c.drawConditions(&x)
			c.cells = append(c.cells, &x)
		}
	}
}

// apart are the ways in which a cell of the second arm may differ from its
// partner. The first two are other spellings of the same.
var apart = []struct {
	name   string
	reason string // of pair_comparability, see PairTruth; "" for none
	set    func(c *Campaign, x *cell)
}{
	{"temperature_spelling", "", func(_ *Campaign, x *cell) { x.temperature = "0.60" }},
	{"reasoning_field_name", "", func(_ *Campaign, x *cell) { x.field = otherField(x.field) }},
	{"temperature", "control temperature", func(_ *Campaign, x *cell) { x.temperature = "0.7" }},
	{"top_p", "control top_p", func(_ *Campaign, x *cell) { x.topP = "1" }},
	{"max_tokens", "control max_tokens", func(_ *Campaign, x *cell) { x.maxTokens = 8192 }},
	{"outer_timeout", "control outer_timeout_s", func(_ *Campaign, x *cell) { x.outerSeconds = 1201 }},
	{"idle_timeout", "control idle_timeout_s", func(_ *Campaign, x *cell) { x.idleSeconds = 901 }},
	{"reasoning_effort", "control reasoning_effort", func(_ *Campaign, x *cell) { x.effort = "low" }},
	{"policy", "control output_policy", func(_ *Campaign, x *cell) {
		x.policy = map[string]string{"strict": "observe", "observe": "strict"}[x.policy]
	}},
	{"canaries", "control request_canaries", func(_ *Campaign, x *cell) { x.canaries = !x.canaries }},
	{"words", "control response_words", func(_ *Campaign, x *cell) { x.words += 2 }},
	{"http_version", "", func(_ *Campaign, x *cell) { x.httpVersion = "HTTP/1.0" }},
	{"template_version", "", func(_ *Campaign, x *cell) { x.template = "assay/prompt/v2" }},
	{"prompt_hash", "", func(_ *Campaign, x *cell) { x.promptSalt = "other words" }},
	{"prompt_tokens_within", "", func(c *Campaign, x *cell) { c.shiftTokens(x, c.tolerance) }},
	{"prompt_tokens_over", "", func(c *Campaign, x *cell) { c.shiftTokens(x, c.tolerance+1) }},
}

// shiftTokens makes the arm count n tokens more or fewer in one prompt.
func (c *Campaign) shiftTokens(x *cell, n int64) {
	x.shiftedIndex, x.tokenShift = c.between(0, x.requests-1), pick(c, []int64{-n, n})
}

func otherField(name string) string {
	if name == "reasoning" {
		return "reasoning_content"
	}
	return "reasoning"
}

func (c *Campaign) setApart(x *cell) {
	d := pick(c, apart)
	d.set(c, x)
	x.apart, x.apartReason = d.name, d.reason
	if d.name == "words" && x.warmup {
		x.words = 0
	}
}

// drawConditions decides what is wrong with the engine, the clock and the
// stamps of a cell.
func (c *Campaign) drawConditions(x *cell) {
	x.stampMode = stampKernel
	if c.chance(12) {
		x.stampMode = pick(c, []string{stampNone, stampSlow})
	}
	if c.chance(30) {
		x.engineFault = pick(c, engineFaults).name
	}
	if c.chance(15) {
		x.identityFault = pick(c, identityFaults).name
	}
	if c.chance(25) {
		x.driftNs = pick(c, clockDrifts)
	}
	x.startsInsideWarmup = !x.warmup && c.chance(25)
}

// clockDrifts lie on both sides of 50 ms, which is noted, and of 1 s.
var clockDrifts = []int64{50 * milli, 50*milli + 1, -60 * milli, second, second + 1, -2 * second}

// drawFate runs the cell, or decides why it was not run.
func (c *Campaign) drawFate(x *cell) {
	switch fate := c.draw.IntN(100); {
	case fate < 4:
		x.blocked = "blocked_by_stop"
	case fate < 7:
		x.blocked = "not_run_deadline"
	case fate < 10: // nothing in the journal at all
		return
	}
	if x.blocked != "" {
		c.note(record.Entry{Kind: record.EntryBlock, Arm: x.arm, Cell: x.id, Rule: "deadline", Outcome: x.blocked})
		return
	}
	attempts := 1
	if c.chance(14) {
		attempts = 2
	}
	for number := 1; number <= attempts; number++ {
		state := "complete"
		if c.chance(12) || attempts == 2 && c.chance(60) {
			state = pick(c, []string{"partial", "outer_timeout", "killed"})
		}
		c.attempt(x, number, state)
	}
}

// note adds a line to the journal at the present time of the run's clock.
func (c *Campaign) note(e record.Entry) {
	e.MonoNs, e.UnixNs = c.clockNs, anchorUnixNs+c.clockNs
	c.journal = append(c.journal, e)
}
