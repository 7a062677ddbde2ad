package simengine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// FaultKind describes one fault an engine can be given by name.
type FaultKind struct {
	// Cases are the field cases the fault plays, such as "A01"; "" for none.
	Name, Cases, Description string
	// Default is the number N of the specification when it gives none; 0 means
	// that the fault takes no number.
	Default int64
	// Exactly one of these is set.
	edit  func(s *script, n int64)      // changes a stream before it is played
	reply func(j *job, n int64) *canned // answers in place of a stream; nil leaves the request alone
	seize func(n int64) talk            // takes the connection in place of an answer
	early string                        // answers before the request's body is read
	whole func(e *Engine)               // happens once to the whole engine
}

// talk is what happens on a connection that a fault has taken over.
type talk func(ctx context.Context, conn net.Conn) error

// faultKinds is the table of faults: to add one, add a row. Stream faults hit
// streamed requests only.
var faultKinds = slices.Concat(contentFaults, usageFaults, endFaults, eventFaults, shapeFaults, wireFaults, replyFaults, engineFaults)

// engineFaults happen to the whole engine.
var engineFaults = []FaultKind{
	{Name: "engine_dies", Cases: "B19", Default: 3, whole: (*Engine).die,
		Description: "after N chat requests the next one ends everything: streams are cut and nothing listens"},
	{Name: "restart", Default: 3, whole: (*Engine).restart,
		Description: "after N chat requests, before the next, the process is replaced: streams are cut, counters begin again"},
	{Name: "health_fails", Cases: "B19", Default: 3, whole: (*Engine).sicken,
		Description: "after N chat requests /health answers 503, /metrics still answers"},
}

// FaultKinds lists the faults that ParseFault knows.
func FaultKinds() []FaultKind { return slices.Clone(faultKinds) }

// FaultList is the table of faults as text, one a line: name, default number,
// field cases, meaning.
func FaultList() string {
	var out strings.Builder
	for _, kind := range faultKinds {
		name := kind.Name
		if kind.Default != 0 {
			name += fmt.Sprintf("=%d", kind.Default)
		}
		fmt.Fprintf(&out, "  %-28s %-8s %s\n", name, kind.Cases, kind.Description)
	}
	return out.String()
}

// selector says which requests a fault hits; a nil member accepts all.
type selector struct{ seed, index, nth *uint64 }

// matches says whether the fault hits the job. A request without a marker has no
// seed and no index.
func (s selector) matches(j *job) bool {
	if (s.seed != nil || s.index != nil) && j.ask.marker == "" {
		return false
	}
	equal := func(want *uint64, got uint64) bool { return want == nil || *want == got }
	return equal(s.seed, j.ask.seed) && equal(s.index, j.ask.index) && equal(s.nth, uint64(j.nth))
}

// activeFault is a fault with its number and its requests.
type activeFault struct {
	kind FaultKind
	n    int64
	hits selector
}

// ParseFault checks a fault specification
//
//	NAME[=N][@KEY=VALUE[,KEY=VALUE...]]
//
// with the keys seed and index (of the request's marker) and nth (the how
// manyeth chat request, from 1): cut=20@index=2, no_usage@seed=482001. Without a
// selector a fault hits every request. Faults of the whole engine take none.
func ParseFault(spec string) error {
	_, err := parseFault(spec)
	return err
}

// parseFaults reads all specifications and reports all that are wrong.
func parseFaults(specs []string) ([]activeFault, error) {
	var faults []activeFault
	var errs []error
	for _, spec := range specs {
		f, err := parseFault(spec)
		faults = append(faults, f)
		errs = append(errs, err)
	}
	return faults, errors.Join(errs...)
}

// parseFault reads one specification.
func parseFault(spec string) (activeFault, error) {
	head, conditions, selected := strings.Cut(spec, "@")
	name, number, numbered := strings.Cut(head, "=")
	kind, err := lookupFault(name)
	if err != nil {
		return activeFault{}, err
	}
	f := activeFault{kind: kind, n: kind.Default}
	if numbered {
		f.n, err = strconv.ParseInt(number, 10, 64)
		if err != nil || f.n < 0 || kind.Default == 0 {
			return activeFault{}, fmt.Errorf("fault %q: %q is no number this fault takes", spec, number)
		}
	}
	if !selected {
		return f, nil
	}
	if kind.whole != nil || kind.early != "" {
		return activeFault{}, fmt.Errorf("fault %q: %s hits every request and takes no selector", spec, name)
	}
	f.hits, err = parseSelector(conditions)
	if err != nil {
		return activeFault{}, fmt.Errorf("fault %q: %w", spec, err)
	}
	return f, nil
}

// lookupFault finds a kind by name; the error lists all there are.
func lookupFault(name string) (FaultKind, error) {
	for _, kind := range faultKinds {
		if kind.Name == name {
			return kind, nil
		}
	}
	return FaultKind{}, fmt.Errorf("unknown fault %q; take one of\n%s", name, FaultList())
}

// parseSelector reads KEY=VALUE pairs.
func parseSelector(conditions string) (selector, error) {
	var s selector
	for condition := range strings.SplitSeq(conditions, ",") {
		key, text, _ := strings.Cut(condition, "=")
		value, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return s, fmt.Errorf("selector %q: the value is not a whole number", condition)
		}
		switch key {
		case "seed":
			s.seed = &value
		case "index":
			s.index = &value
		case "nth":
			s.nth = &value
		default:
			return s, fmt.Errorf("selector %q: the key is not seed, index or nth", condition)
		}
	}
	return s, nil
}

// editScript applies the stream faults that hit the job.
func (e *Engine) editScript(s *script) {
	for _, f := range e.faults {
		if f.kind.edit != nil && f.hits.matches(s.job) {
			f.kind.edit(s, f.n)
		}
	}
}

// cannedReply is the first reply that hits the job, nil for none.
func (e *Engine) cannedReply(j *job) *canned {
	for _, f := range e.faults {
		if f.kind.reply == nil || !f.hits.matches(j) {
			continue
		}
		if r := f.kind.reply(j, f.n); r != nil {
			return r
		}
	}
	return nil
}

// seizure is what the first fault that takes the connection does with it, nil
// for none.
func (e *Engine) seizure(j *job) talk {
	for _, f := range e.faults {
		if f.kind.seize != nil && f.hits.matches(j) {
			return f.kind.seize(f.n)
		}
	}
	return nil
}

// earlyAnswer is the answer before a request's body is read, "" for none.
func (e *Engine) earlyAnswer() string {
	for _, f := range e.faults {
		if f.kind.early != "" {
			return f.kind.early
		}
	}
	return ""
}

// applyEngineFaults lets the faults of the whole engine happen when their number
// of chat requests is over; false means that the engine is gone.
func (e *Engine) applyEngineFaults(j *job) bool {
	for _, f := range e.faults {
		if f.kind.whole != nil && j.nth == f.n+1 {
			f.kind.whole(e)
		}
	}
	return e.current().ctx.Err() == nil
}
