package plantedtest

import (
	"slices"

	"assay/collect/record"
)

// attempt runs a cell once: its exchanges as a closed loop, then what was
// scraped around them.
func (c *Campaign) attempt(x *cell, number int, state string) {
	a := &attempt{number: number, state: state, killed: state == "killed", startNs: c.clockNs}
	if a.killed {
		a.state = "partial"
	}
	if x.startsInsideWarmup && number == 1 {
		a.startNs = c.insideWarmup(a.startNs)
	}
	x.attempts = append(x.attempts, a)
	c.note(record.Entry{Kind: record.EntryAttemptStart, Arm: x.arm, Cell: x.id, Attempt: number})
	a.exchanges = make([]*exchange, x.requests)
	a.endNs = a.startNs + second
	if a.killed {
		c.clockNs += 20 * second
		return
	}
	for index := range x.requests {
		a.exchanges[index] = c.drawExchange(x, index, a)
	}
	c.loop(x, a)
	c.engine(x, a)
	c.identify(x, a)
	c.clockNs = max(c.clockNs, a.endNs) + 20*second
	c.stops(x, a)
	c.note(record.Entry{Kind: record.EntryAttemptEnd, Arm: x.arm, Cell: x.id, Attempt: number, Outcome: a.state, Figures: map[string]int64{
		"planned": x.requests, "dispatched": a.dispatched(), "start_ns": a.startNs, "end_ns": a.endNs,
		"start_unix_ns": anchorUnixNs + a.startNs, "end_unix_ns": anchorUnixNs + a.endNs + x.driftNs,
		"drain_before_ns": 1000, "drain_after_ns": 2000, "drain_verified": 1, "clock_drift_ns": x.driftNs,
	}})
}

// drawExchange decides how one request goes. In an attempt that was cut off the
// last ones are not sent; a row may be lost altogether.
func (c *Campaign) drawExchange(x *cell, index int64, a *attempt) *exchange {
	if last := index == x.requests-1; last && x.identityFault == "http_version_drift" {
		defer func(v string) { x.httpVersion = v }(x.httpVersion)
		x.httpVersion = "HTTP/1.0"
	} else if last && x.identityFault == "reasoning_field_drift" {
		defer func(v string) { x.field = v }(x.field)
		x.field = otherField(x.field)
	}
	how := complete
	switch {
	case a.state != "complete" && index == x.requests-1:
		how = endingNamed(pick(c, []string{"not_dispatched", "interrupted", "outer_timeout"}))
	case c.chance(2):
		return nil
	case c.chance(16):
		how = pick(c, endings)
	}
	return c.exchange(x, index, how)
}

// loop sends the exchanges by as many workers as the cell has, each starting
// its next when its last is over.
func (c *Campaign) loop(x *cell, a *attempt) {
	free := make([]int64, x.concurrency)
	for w := range free {
		free[w] = a.startNs + second + int64(w)*micro
	}
	for _, e := range a.exchanges {
		if e == nil || !e.dispatched {
			continue
		}
		worker := slices.Index(free, slices.Min(free))
		t0 := free[worker] + c.between(1, 40*micro)
		e.place(int64(worker), t0)
		free[worker] = t0 + *e.row.EndNs
	}
	a.endNs = slices.Max(free) + second
}

// insideWarmup is a start at which the requests of the arm's warm-up still run;
// otherwise is the start without one.
func (c *Campaign) insideWarmup(otherwise int64) int64 {
	for _, x := range c.cells {
		for _, a := range x.attempts {
			for _, e := range a.exchanges {
				if x.warmup && e != nil && e.dispatched {
					return *e.row.T0Ns + *e.row.EndNs/2 - second
				}
			}
		}
	}
	return otherwise
}

func (c *Campaign) stops(x *cell, a *attempt) {
	rule := map[string]string{"identity_stop": "identity_drift", "protocol_stop": "protocol_drift", "other_stop": "canary_or_loss"}[x.identityFault]
	if rule == "" {
		return
	}
	a.stopRule = rule
	c.note(record.Entry{Kind: record.EntryStop, Rule: rule, Arm: x.arm, Cell: x.id, Attempt: a.number, Detail: "planted"})
}

func (a *attempt) dispatched() int64 {
	n := int64(0)
	for _, e := range a.exchanges {
		if e != nil && e.dispatched {
			n++
		}
	}
	return n
}

// endingNamed finds an ending by name.
func endingNamed(name string) ending {
	i := slices.IndexFunc(endings, func(e ending) bool { return e.name == name })
	return endings[i]
}
