package plantedtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"assay/collect/record"
)

const (
	micro = int64(1_000)
	milli = int64(1_000_000)
)

// exchange makes one request of an attempt: an ending, and what else is planted
// beside it.
func (c *Campaign) exchange(x *cell, index int64, how ending) *exchange {
	e := &exchange{row: x.emptyRow(index), outcome: how.outcome, faultClass: how.class, refused: how.refused, fails: map[string]bool{}}
	a := c.sound(x, index)
	if how.name != complete.name {
		e.planted = append(e.planted, how.name)
	}
	if how.plant != nil {
		how.plant(x, a, e)
	}
	e.fail(how.fails...)
	e.dispatched = how.outcome != "not_dispatched"
	if !e.dispatched {
		e.row.End, e.row.EndDetail = a.end, "cutoff"
		return e
	}
	c.sent(x, e, a)
	if a.silent {
		end := c.between(1*milli, 900*milli)
		e.row.EndNs, e.row.CloseNs = &end, &end
		return e
	}
	c.plantBeside(x, a, e, how)
	c.stream(x, a, e)
	return e
}

// emptyRow is the row of a request that was not dispatched.
func (x *cell) emptyRow(index int64) record.Request {
	prompt := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %s", x.seed, index, x.words, x.promptSalt))
	return record.Request{
		Index: index, Marker: x.marker(index), TemplateVersion: x.template, PromptSHA256: hex.EncodeToString(prompt[:]),
		PromptChars: 3 * x.context, BodyBytes: 3*x.context + 200,
	}
}

// sent fills in what is known of every request that was dialled.
func (c *Campaign) sent(x *cell, e *exchange, a *answer) {
	e.row.End = a.end
	if a.end != "connect_failed" && a.end != "tls_failed" {
		connected, wrote := c.between(50*micro, 300*micro), c.between(310*micro, 900*micro)
		e.row.ConnectNs, e.row.WroteNs = &connected, &wrote
	}
}

// plantBeside plants what the ending leaves room for.
func (c *Campaign) plantBeside(x *cell, a *answer, e *exchange, how ending) {
	note := func(f fault) {
		f.plant(c, x, a)
		e.fail(f.fails...)
		e.planted = append(e.planted, f.name)
	}
	counted, below := false, false // a burst has token counts of its own; other texts would change the number of outputs
	if how.counts && c.chance(15) {
		f := pick(c, usageFaults)
		note(f)
		counted, below = true, f.name == "usage_below_outputs"
	}
	if how.text && !below && c.chance(25) {
		if f := pick(c, textFaults); f.fits == nil || f.fits(x) {
			note(f)
		}
	}
	if how.counts && c.chance(10) {
		f := pick(c, finishes)
		a.finish = f.reasons
		e.planted = append(e.planted, f.name)
		if !c.finishAllowed(f.reasons) {
			e.fail(ruleFinish)
		}
	}
	if how.name == complete.name && !counted && x.stampMode != stampSlow && c.chance(8) {
		note(pick(c, bursts))
	}
	if c.chance(4) {
		a.loseRole = true
		e.fail(ruleCapture)
		e.planted = append(e.planted, "events_lost")
	}
	if a.done && c.chance(4) {
		a.trailing = "data: {\"late\":true}\n\n"
		e.planted = append(e.planted, "trailing")
	}
}

// count is a token count as measurement.md section 6 takes it.
func count(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}

func bytesOrNil(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

// place puts the exchange on the run's clock.
func (e *exchange) place(worker, t0 int64) {
	unix := anchorUnixNs + t0
	e.row.Worker, e.row.T0Ns, e.row.T0UnixNs = &worker, &t0, &unix
	for i := range e.events {
		e.events[i].ReadUnixNs += unix
	}
	moved := map[*int64]bool{} // events of one read share a stamp
	for i := range e.events {
		if k := e.events[i].KernelUnixNs; k != nil && !moved[k] {
			*k += unix
			moved[k] = true
		}
	}
}
