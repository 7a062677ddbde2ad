package simengine

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// FaultKind describes one fault an engine can be given by name.
type FaultKind struct {
	Name, Description string
	// Default is the number N of the specification when it gives none; 0 means
	// that the fault takes no number.
	Default int64
	// Exactly one of these is set: edit changes a stream before it is played,
	// refuse answers in place of it, engine happens once to the whole engine.
	edit   func(s *script, n int64)
	refuse func(e *Engine, j *job) *apiError
	engine func(e *Engine)
}

// faultKinds is the table of faults: to add one, add a row. Stream faults hit
// streamed requests only.
var faultKinds = []FaultKind{
	{Name: "foreign_marker", edit: addForeignMarker,
		Description: "the marker of another request stands in the middle of the visible answer"},
	{Name: "no_usage", edit: func(s *script, _ int64) { s.drop(frameUsage) },
		Description: "the usage chunk is left out"},
	{Name: "missing_done", edit: func(s *script, _ int64) { s.drop(frameDone) },
		Description: "the stream ends in order but without [DONE]"},
	{Name: "finish_length", edit: finishLength,
		Description: "the finish reason is length, the answer is whole"},
	{Name: "in_band_error", Default: 8, edit: failInBand,
		Description: "after N events an error event comes, then [DONE]; the status stays 200"},
	{Name: "cut", Default: 8, edit: cutAfter,
		Description: "after N events the connection is closed"},
	{Name: "role_only_delay", edit: sendRoleEarly,
		Description: "the role chunk comes at acceptance, long before the first output"},
	{Name: "kv_refusal", refuse: refuseKV,
		Description: "status 400: the prompt is longer than the KV pool allows"},
	{Name: "engine_dies", Default: 3, engine: (*Engine).die,
		Description: "after N chat requests the next one ends everything: streams are cut and nothing listens"},
	{Name: "restart", Default: 3, engine: (*Engine).restart,
		Description: "after N chat requests, before the next, the process is replaced: streams are cut, counters begin again"},
}

// FaultKinds lists the faults that ParseFault knows.
func FaultKinds() []FaultKind { return append([]FaultKind(nil), faultKinds...) }

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
	if kind.engine != nil {
		return activeFault{}, fmt.Errorf("fault %q: %s hits the whole engine and takes no selector", spec, name)
	}
	f.hits, err = parseSelector(conditions)
	if err != nil {
		return activeFault{}, fmt.Errorf("fault %q: %w", spec, err)
	}
	return f, nil
}

// lookupFault finds a kind by name; the error names all there are.
func lookupFault(name string) (FaultKind, error) {
	var names []string
	for _, kind := range faultKinds {
		if kind.Name == name {
			return kind, nil
		}
		names = append(names, kind.Name)
	}
	return FaultKind{}, fmt.Errorf("unknown fault %q; take one of %s", name, strings.Join(names, ", "))
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

// refusal is the first refusal that hits the job, nil for none.
func (e *Engine) refusal(j *job) *apiError {
	for _, f := range e.faults {
		if f.kind.refuse != nil && f.hits.matches(j) {
			return f.kind.refuse(e, j)
		}
	}
	return nil
}

// applyEngineFaults lets the faults of the whole engine happen when their number
// of chat requests is over; false means that the engine is gone.
func (e *Engine) applyEngineFaults(j *job) bool {
	for _, f := range e.faults {
		if f.kind.engine != nil && j.nth == f.n+1 {
			f.kind.engine(e)
		}
	}
	return e.current().ctx.Err() == nil
}

// drop leaves out all frames of a kind.
func (s *script) drop(kind frameKind) {
	kept := s.frames[:0]
	for _, f := range s.frames {
		if f.kind != kind {
			kept = append(kept, f)
		}
	}
	s.frames = kept
}

// addForeignMarker puts the marker of the next request behind the visible output
// in the middle.
func addForeignMarker(s *script, _ int64) {
	var visible []int
	for i, f := range s.frames {
		if f.kind == frameOutput && !f.step.reasoning {
			visible = append(visible, i)
		}
	}
	if len(visible) == 0 {
		return
	}
	f := &s.frames[visible[len(visible)/2]]
	changed := *f.step
	changed.text += fmt.Sprintf(" ASSAY_REQ_%d_%05d", s.job.ask.seed, (s.job.ask.index+1)%100000)
	f.step = &changed
	f.bytes = s.chunk.output(&changed)
}

// finishLength says length where the engine said stop.
func finishLength(s *script, _ int64) {
	s.reason = "length"
	for i, f := range s.frames {
		if f.kind == frameFinish {
			s.frames[i].bytes = s.chunk.finish(s.reason)
		}
	}
}

// failInBand replaces everything after n events by an error event and [DONE].
func failInBand(s *script, n int64) {
	s.frames = append(s.frames[:s.place(n)],
		frame{kind: frameFailure, bytes: s.chunk.failure("EngineCore encountered an issue.")},
		frame{kind: frameDone, bytes: doneEvent})
}

// cutAfter closes the connection after n events.
func cutAfter(s *script, n int64) { s.frames = append(s.frames[:s.place(n)], frame{kind: frameCut}) }

// place is the index of the frame after n events, at most that of the last
// output, so that the request never ends in order first.
func (s *script) place(n int64) int {
	for i, f := range s.frames {
		if int64(i) == n || f.last {
			return i
		}
	}
	return len(s.frames)
}

// sendRoleEarly moves the role chunk before the wait for the first output.
func sendRoleEarly(s *script, _ int64) {
	for i, f := range s.frames {
		if f.kind == frameRole {
			s.early = append(s.early, f)
			s.frames = append(s.frames[:i], s.frames[i+1:]...)
			return
		}
	}
}

// refuseKV refuses a prompt as too long for the pool, in SGLang's sentence: vLLM
// has none, it lets such a request wait.
func refuseKV(e *Engine, j *job) *apiError {
	return &apiError{http.StatusBadRequest, "BadRequestError", "", fmt.Sprintf(
		"Input length (%d tokens) exceeds the maximum allowed length (%d tokens).",
		j.promptTokens, min(e.cfg.Profile.KVPoolTokens, j.promptTokens-1))}
}
