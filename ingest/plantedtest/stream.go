package plantedtest

import (
	"slices"

	"assay/collect/record"
)

// How the events of a cell are stamped.
const (
	stampKernel = "kernel" // each with a sound kernel stamp
	stampNone   = "none"   // none with a sound one
	stampSlow   = "slow"   // every other one, 25 ms late
)

// bursts are about how output arrives; they break no rule. Half of the output
// events is not more than half.
var bursts = []fault{
	{"burst", nil, burst(func(n int) int { return n - 1 }, "64"), nil},
	{"burst_just", nil, burst(func(n int) int { return n/2 + 1 }, "32"), nil},
	{"burst_half", nil, burst(func(n int) int { return n / 2 }, "64"), nil},
	{"burst_few_tokens", nil, burst(func(n int) int { return n - 1 }, "31"), nil},
}

func burst(shorts func(n int) int, completion string) func(*Campaign, *cell, *answer) {
	return func(_ *Campaign, _ *cell, a *answer) {
		a.reasoning = append(a.reasoning, " so", " I", " look", " at", " it", " all")
		n := len(a.reasoning) + len(a.visible)
		if a.tool {
			n++
		}
		if n%2 == 1 {
			a.reasoning = append(a.reasoning, " now")
			n++
		}
		a.shorts, a.tight = shorts(n), true
		a.usage = usage{prompt: a.usage.prompt, completion: completion}
	}
}

// stream turns the answer into events with clock readings, and notes what is
// true of them. Stamps count from t0 until place moves them.
func (c *Campaign) stream(x *cell, a *answer, e *exchange) {
	status, contentType := int64(200), pick(c, []string{"text/event-stream", "text/event-stream; charset=utf-8", "Text/Event-Stream"})
	e.row.HTTPStatus, e.row.HTTPVersion, e.row.ContentType = &status, x.httpVersion, contentType
	at, read := c.between(150*milli, 400*milli), int64(0)
	headAt := at - micro
	e.row.FirstByteNs, e.row.HeadNs = &headAt, &headAt
	for seq, ev := range x.events(a) {
		gap, sameRead := c.gap(x, a, ev, e.outputs)
		at += gap
		if !sameRead {
			read++
		}
		row := record.Event{Request: a.index, Seq: int64(seq), ReadSeq: read, ReadBytes: int64(len(ev.data) + 8), Name: ev.name, Payload: []byte(ev.data)}
		if sameRead {
			last := e.events[len(e.events)-1]
			row.ReadNs, row.ReadUnixNs, row.KernelUnixNs = last.ReadNs, last.ReadUnixNs, last.KernelUnixNs
		} else {
			c.stamp(x, &row, at)
		}
		e.events = append(e.events, row)
		e.observe(ev, at, sound(row))
	}
	e.finish(x, a, at)
}

// gap is the time between an event and the one before, and whether both come
// in one read; outputs is the number of output events so far.
func (c *Campaign) gap(x *cell, a *answer, ev event, outputs int64) (ns int64, sameRead bool) {
	switch {
	case ev.output && outputs > 0 && outputs <= int64(a.shorts):
		if c.chance(50) {
			return 0, true
		}
		return c.between(1, milli-1), false
	case x.stampMode == stampSlow:
		return c.between(30*milli, 50*milli), false
	case a.tight && ev.output && c.chance(50):
		return milli, false
	}
	return c.between(5*milli, 20*milli), false
}

// stamp gives an event the readings whose time is at: the kernel's stamp where
// the lag behind it is sound, else the time of the read.
func (c *Campaign) stamp(x *cell, row *record.Event, at int64) {
	kernel := func(lag int64) {
		stamp := at
		row.ReadNs, row.ReadUnixNs, row.KernelUnixNs = at+lag, at+lag, &stamp
	}
	unsound := func(lag int64) {
		row.ReadNs, row.ReadUnixNs = at, at
		if lag != 0 {
			stamp := at - lag
			row.KernelUnixNs = &stamp
		}
	}
	switch {
	case x.stampMode == stampKernel:
		kernel(c.between(5*micro, 50*micro))
	case x.stampMode == stampSlow && row.Seq%2 == 0:
		kernel(25 * milli)
	default:
		unsound(pick(c, []int64{0, -3 * milli, 1_000_000_000, 2_000_000_001}))
	}
}

func sound(row record.Event) bool {
	return row.KernelUnixNs != nil && row.ReadUnixNs >= *row.KernelUnixNs && row.ReadUnixNs-*row.KernelUnixNs < 1_000_000_000
}

// observe notes the times of an event (measurement.md section 4).
func (e *exchange) observe(ev event, at int64, kernel bool) {
	set := func(p **int64) {
		if *p == nil {
			*p = &at
		}
	}
	if ev.output {
		set(&e.ttfo)
		e.lastOutput = &at
		e.outputs++
		if !kernel {
			e.readStamped++
		}
	}
	if ev.content {
		set(&e.ttft)
	}
	if ev.data == "[DONE]" {
		set(&e.e2e)
	}
}

// finish notes what the whole stream shows, and completes the row.
func (e *exchange) finish(x *cell, a *answer, last int64) {
	e.row.EventsSeen, e.row.Tail, e.row.Trailing = int64(len(e.events)), bytesOrNil(a.tail), bytesOrNil(a.trailing)
	if a.loseRole {
		e.events = e.events[1:]
	}
	e.lagged = slices.ContainsFunc(e.events, sound)
	end := last + milli
	e.row.LastByteNs, e.row.EndNs = &last, &end
	if len(a.reasoning) > 0 && a.cut != cutAfterRole {
		e.reasoningField = x.field
	}
	if a.usage.absent || a.usage.null || a.cut != "" && a.cut != cutAfterUsage {
		return
	}
	e.prompt, e.completion = count(a.usage.prompt), count(a.usage.completion)
	if cached := count(a.usage.cached); cached != nil && e.prompt != nil {
		e.cacheAssisted = *cached*100 > *e.prompt
	}
	e.burst = e.completion != nil && *e.completion >= 32 && int64(a.shorts)*2 > e.outputs
}
