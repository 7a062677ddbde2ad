package simengine

import (
	"fmt"
	"strings"
)

// contentFaults change what a stream says, in sound events.
var contentFaults = []FaultKind{
	{Name: "foreign_marker", Cases: "B17", edit: func(s *script, _ int64) { s.appendVisible(1, 2, " "+s.neighbour()) },
		Description: "the marker of the next request stands in the middle of the visible answer"},
	{Name: "foreign_first", Cases: "B17", edit: foreignFirst,
		Description: "the visible answer begins with the marker of the next request, its own is nowhere"},
	{Name: "foreign_in_reasoning", Cases: "B17", edit: foreignInReasoning,
		Description: "the marker of the next request stands in the reasoning, split over two events"},
	{Name: "own_late", Cases: "B17", edit: ownLate,
		Description: "the visible answer begins with a word, then comes its own marker"},
	{Name: "role_only_delay", Cases: "A01", edit: sendRoleEarly,
		Description: "the role chunk comes at acceptance, long before the first output"},
	{Name: "role_null", Cases: "A01", edit: func(s *script, _ int64) { s.role(`"role":"assistant","content":null`) },
		Description: "the content of the role chunk is null"},
	{Name: "role_bare", Cases: "A01", edit: func(s *script, _ int64) { s.role(`"role":"assistant"`) },
		Description: "the role chunk has no content member"},
	{Name: "thinks_long", Cases: "A02", Default: 40, edit: thinkLong,
		Description: "N reasoning events come before the ordinary answer"},
	{Name: "reasoning_old_name", Cases: "A03", edit: func(s *script, _ int64) { s.renameReasoning(0, "reasoning_content") },
		Description: "reasoning is called reasoning_content"},
	{Name: "reasoning_renamed", Cases: "A03", edit: func(s *script, _ int64) { s.renameReasoning(1, "reasoning_content") },
		Description: "reasoning changes its name to reasoning_content after its first event"},
	{Name: "reasoning_twice", Cases: "A04", edit: func(s *script, _ int64) { s.doubleReasoning("") },
		Description: "every reasoning text stands under both names"},
	{Name: "reasoning_twice_unequal", Cases: "A04", edit: func(s *script, _ int64) { s.doubleReasoning("!") },
		Description: "the two names of reasoning carry unequal texts"},
	{Name: "white_space_first", Cases: "A06", edit: whiteSpaceFirst,
		Description: "the first visible event is a blank line, and an empty delta follows it"},
	{Name: "tokens_per_chunk", Cases: "A07 A09", Default: 4, edit: mergeOutputs,
		Description: "one event carries the tokens of N engine outputs"},
	{Name: "two_choices", edit: twoChoices,
		Description: "every output stands in two choices although one was asked for"},
	{Name: "tool_calls", edit: toolCalls,
		Description: "the visible answer comes as the arguments of a tool call"},
	{Name: "wide_characters", Cases: "A27", edit: func(s *script, _ int64) { s.appendVisible(1, 1, " 汉😀") },
		Description: "the visible answer ends with characters of three and four bytes"},
	{Name: "replacement_character", Cases: "A27", edit: func(s *script, _ int64) { s.appendVisible(1, 1, "\uFFFD") },
		Description: "the visible answer ends with U+FFFD, put there by the server"},
	{Name: "long_line", Cases: "A29", Default: 70_000, edit: func(s *script, n int64) { s.appendVisible(1, 1, " "+strings.Repeat("x", int(n))) },
		Description: "the last visible event has N characters more"},
	{Name: "reasoning_only", Cases: "A33", edit: reasoningOnly,
		Description: "all tokens are spent on reasoning, the finish reason is length"},
	{Name: "one_token", Cases: "A34", edit: oneToken,
		Description: "the answer is its marker in one event, counted as one token"},
	{Name: "done_in_content", Cases: "A36", edit: doneInContent,
		Description: "one event carries the visible text [DONE], alone"},
}

// foreignFirst gives the answer the next request's marker in place of its own.
func foreignFirst(s *script, _ int64) { s.replaceVisible(s.neighbour() + " one plain line") }

// ownLate puts a word before the marker.
func ownLate(s *script, _ int64) { s.replaceVisible("Well, " + s.job.ask.marker + " one plain line") }

// neighbour is the marker of the next request of the cell.
func (s *script) neighbour() string {
	return fmt.Sprintf("ASSAY_REQ_%d_%05d", s.job.ask.seed, (s.job.ask.index+1)%100000)
}

// outputs lists the indices of the outputs of one kind.
func (s *script) outputs(reasoning bool) []int {
	var list []int
	for i, f := range s.frames {
		if f.kind == frameOutput && f.step.reasoning == reasoning {
			list = append(list, i)
		}
	}
	return list
}

// retext changes the text of one output.
func (s *script) retext(i int, text string) {
	changed := *s.frames[i].step
	changed.text = text
	s.frames[i].step = &changed
	s.frames[i].payload = s.chunk.output(&changed)
}

// appendVisible adds text to the visible output at the place part of whole.
func (s *script) appendVisible(part, whole int, text string) {
	if visible := s.outputs(false); len(visible) > 0 {
		i := visible[min(len(visible)*part/whole, len(visible)-1)]
		s.retext(i, s.frames[i].step.text+text)
	}
}

// replaceVisible puts all visible text into the first visible output; the
// others stay, empty.
func (s *script) replaceVisible(text string) {
	for n, i := range s.outputs(false) {
		if n > 0 {
			text = ""
		}
		s.retext(i, text)
	}
}

// foreignInReasoning needs two reasoning outputs; with one, the marker is whole.
func foreignInReasoning(s *script, _ int64) {
	list := s.outputs(true)
	if len(list) == 0 {
		return
	}
	first, last := list[0], list[min(1, len(list)-1)]
	marker := s.neighbour()
	s.retext(first, s.frames[first].step.text+" "+marker[:8])
	rest := marker[8:] + " "
	if last == first {
		s.retext(first, s.frames[first].step.text+rest)
		return
	}
	s.retext(last, rest+s.frames[last].step.text)
}

// role replaces the delta of the role chunk.
func (s *script) role(delta string) {
	for i, f := range s.frames {
		if f.kind == frameRole {
			s.frames[i].payload = s.chunk.choice(delta, "null")
		}
	}
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

// thinkLong puts n reasoning tokens before the answer.
func thinkLong(s *script, n int64) {
	a := &s.job.answer
	steps := make([]step, n, int(n)+len(a.steps))
	for i := range steps {
		steps[i] = step{text: "so ", tokens: 1, reasoning: true, pace: 1}
	}
	a.steps = append(steps, a.steps...)
	a.reasoningTokens += int(n)
	a.completionTokens += int(n)
	s.rebuild()
}

// renameReasoning renders the reasoning outputs from place on under another
// name.
func (s *script) renameReasoning(from int, name string) {
	renamed := s.chunk
	renamed.field = name
	for n, i := range s.outputs(true) {
		if n >= from {
			s.frames[i].payload = renamed.output(s.frames[i].step)
		}
	}
}

// doubleReasoning gives reasoning under both names; the second text ends with
// suffix.
func (s *script) doubleReasoning(suffix string) {
	for _, i := range s.outputs(true) {
		text := s.frames[i].step.text
		s.frames[i].payload = s.chunk.choice(`"reasoning":`+quoted(text)+`,"reasoning_content":`+quoted(text+suffix), "null")
	}
}

// whiteSpaceFirst puts a blank line and an empty delta before the first visible
// output.
func whiteSpaceFirst(s *script, _ int64) {
	if visible := s.outputs(false); len(visible) > 0 {
		s.insert(visible[0],
			frame{kind: frameOther, payload: s.chunk.delta("content", "\n\n")},
			frame{kind: frameOther, payload: s.chunk.delta("content", "")})
	}
}

// mergeOutputs packs n consecutive outputs of one kind into one event.
func mergeOutputs(s *script, n int64) {
	a := &s.job.answer
	var merged []step
	packed := int64(0)
	for _, one := range a.steps {
		if packed == 0 || packed == n || merged[len(merged)-1].reasoning != one.reasoning {
			merged, packed = append(merged, one), 1
			continue
		}
		into := &merged[len(merged)-1]
		into.text += one.text
		into.tokens += one.tokens
		into.drafted += one.drafted
		into.accepted += one.accepted
		into.pace += one.pace
		packed++
	}
	a.steps = merged
	s.rebuild()
}

// twoChoices repeats every output in a second choice.
func twoChoices(s *script, _ int64) {
	for i, f := range s.frames {
		if f.kind == frameOutput {
			_, first, _ := strings.Cut(f.payload, `"choices":[`)
			second := strings.Replace(first, `"index":0`, `"index":1`, 1)
			s.frames[i].payload = strings.TrimSuffix(f.payload, "]}") + "," + second
		}
	}
}

// toolCalls turns visible text into the arguments of one call.
func toolCalls(s *script, _ int64) {
	name := `"name":"answer",`
	for _, i := range s.outputs(false) {
		call := `"tool_calls":[{"index":0,"function":{` + name + `"arguments":` + quoted(s.frames[i].step.text) + `}}]`
		s.frames[i].payload = s.chunk.choice(call, "null")
		name = ""
	}
	s.finishWith(`"tool_calls"`)
}

// reasoningOnly leaves no token for the visible answer.
func reasoningOnly(s *script, _ int64) {
	a := &s.job.answer
	for i := range a.steps {
		a.steps[i].reasoning = true
	}
	a.reasoningTokens = a.completionTokens
	a.finish, a.visible = "length", ""
	s.rebuild()
}

// oneToken answers with the marker in one event.
func oneToken(s *script, _ int64) {
	s.job.answer = answer{
		steps:            []step{{text: s.job.ask.marker, tokens: 1, pace: 1}},
		completionTokens: 1, finish: "stop", visible: s.job.ask.marker,
	}
	s.rebuild()
}

// doneInContent puts the text [DONE] into an event of its own before the last
// output.
func doneInContent(s *script, _ int64) {
	if visible := s.outputs(false); len(visible) > 0 {
		s.insert(visible[len(visible)-1], frame{kind: frameOther, payload: s.chunk.delta("content", " [DONE]")})
	}
}

// insert puts frames before the one at i.
func (s *script) insert(i int, added ...frame) {
	rest := append(added, s.frames[i:]...)
	s.frames = append(s.frames[:i:i], rest...)
}
