package plantedtest

import (
	"fmt"
	"slices"
)

// flags lists what measurement.md section 9 withholds in the counted attempt,
// as "FLAG INDEX CLASS": index is "cell" for the whole cell; class is noted,
// withheld, engine_means or token_attribution.
func (c *Campaign) flags(x *cell, a *attempt) []string {
	all := []string{}
	add := func(flag string, on bool, index any, class string) {
		if on {
			all = append(all, fmt.Sprintf("%s %v %s", flag, index, class))
		}
	}
	if a == nil {
		return all
	}
	drift := max(x.driftNs, -x.driftNs)
	ended := !a.killed // the drift is known from the attempt's end
	add("clock_step", ended && drift > 50*milli && drift <= second, "cell", "noted")
	add("clock_step", ended && drift > second, "cell", "withheld")
	if a.dispatched() > 0 {
		all = append(all, a.trafficFlags()...)
		add("overlap_short", a.generating() < x.concurrency, "cell", "withheld")
		class, slow := a.slow()
		add("client_slow", slow, "cell", class)
		add("warm_overlap", !x.warmup && c.warmed(a), "cell", "withheld")
	}
	for index, e := range a.exchanges {
		if e != nil {
			add("burst_delivery", e.burst, index, "withheld")
			add("cache_assisted", e.cacheAssisted, index, "withheld")
		}
	}
	slices.Sort(all)
	return all
}

// trafficFlags compare the engine's counters with the client's own requests.
func (a *attempt) trafficFlags() []string {
	known := func(name string) bool { return a.engine.pages && a.engine.reasons[name] == "" }
	without := slices.ContainsFunc(a.exchanges, func(e *exchange) bool {
		return e != nil && e.dispatched && (e.prompt == nil || e.completion == nil)
	})
	more := known(countFinished) && a.engine.deltas[countFinished] > a.dispatched()
	attributed := !without && known(countPreempted) && a.engine.deltas[countPreempted] == 0 && known(countPrompt) && known(countGenerated)
	var all []string
	if !attributed {
		all = append(all, "foreign_traffic cell token_attribution")
	}
	tokens := attributed && (a.engine.deltas[countPrompt] > a.promptTokens() || a.engine.deltas[countGenerated] > a.completionTokens())
	if more || tokens {
		all = append(all, "foreign_traffic cell engine_means")
	}
	return all
}

// generating is the largest number of requests between their own first and
// last output at one instant: it is reached at some first output.
func (a *attempt) generating() int64 {
	most := int64(0)
	for _, e := range a.exchanges {
		if e == nil || e.ttfo == nil {
			continue
		}
		at, n := *e.row.T0Ns+*e.ttfo, int64(0)
		for _, other := range a.exchanges {
			if other != nil && other.ttfo != nil && *other.row.T0Ns+*other.ttfo <= at && at <= *other.row.T0Ns+*other.lastOutput {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// slow: more than 1 % of the output events have no sound kernel stamp, and
// those that have one are 25 ms late, or there is none to tell. A lag of a
// kernel-stamped cell is at most 50 us, far below 5 % of its pace.
func (a *attempt) slow() (class string, slow bool) {
	outputs, readStamped, lagged := int64(0), int64(0), false
	for _, e := range a.exchanges {
		if e != nil {
			outputs, readStamped, lagged = outputs+e.outputs, readStamped+e.readStamped, lagged || e.lagged
		}
	}
	if readStamped*100 <= outputs {
		return "", false
	}
	if !lagged {
		return "noted", true
	}
	return "withheld", true
}

// warmed reports whether a warm-up's request was running beside one of these.
func (c *Campaign) warmed(a *attempt) bool {
	for _, w := range c.cells {
		if !w.warmup {
			continue
		}
		for _, warm := range w.attempts {
			if warm.intersects(a) {
				return true
			}
		}
	}
	return false
}

func (a *attempt) intersects(b *attempt) bool {
	for _, e := range a.exchanges {
		for _, f := range b.exchanges {
			if e == nil || f == nil || !e.dispatched || !f.dispatched {
				continue
			}
			if *e.row.T0Ns < *f.row.T0Ns+*f.row.EndNs && *f.row.T0Ns < *e.row.T0Ns+*e.row.EndNs {
				return true
			}
		}
	}
	return false
}
