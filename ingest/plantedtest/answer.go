package plantedtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// answer is what an engine says to one request, before it becomes events.
// Faults change it.
type answer struct {
	index     int64
	reasoning []string // texts of the reasoning chunks
	visible   []string // texts of the content chunks
	tool      bool     // a tool call follows the text
	early     []event  // events between the role chunk and the first output
	late      []event  // events between the text and the finish chunk
	finish    []string // finish reasons as JSON, one chunk each
	usage     usage
	done      bool
	cut       stage  // where the stream stops; "" is its end
	end       string // end_kind of the collector's row
	silent    bool   // no event stream began
	tail      string // unterminated last event
	trailing  string // bytes after [DONE]
	loseRole  bool   // the role chunk was seen and not kept
	// shorts is the number of output events that come in one read with the one
	// before, or less than 1 ms after it.
	shorts int
	tight  bool // its other gaps are just not short
}

// stage is a point of a stream.
type stage string

const (
	cutAfterRole      stage = "role"
	cutAfterReasoning stage = "reasoning"
	cutAfterText      stage = "text"
	cutAfterUsage     stage = "usage"
)

// usage is what the usage chunks say, members as JSON; "" is a member that is
// not there.
type usage struct {
	absent             bool
	null               bool   // "usage": null
	prompt, completion string // of the last chunk
	reasoning, cached  string
	earlier            string // completion tokens of one chunk before the last; "" without it
	running            bool   // usage rides on every output chunk
	runningFrom        int64  // completion tokens of the first of these; the next have one more each
}

// event is one event of a stream.
type event struct {
	data, name      string
	output, content bool // carries output; carries visible output
}

// sound is the answer that breaks no rule.
func (c *Campaign) sound(x *cell, index int64) *answer {
	text := "The list names common words."
	if x.words > 0 {
		text = words(x.words)
	}
	if x.canaries {
		text = x.marker(index) + " " + text
	}
	a := &answer{index: index, finish: []string{`"stop"`}, done: true, end: "done"}
	a.reasoning = c.split("I look at the words and think.", c.between(1, 3))
	a.visible = c.split(text, c.between(1, 4))
	a.usage = usage{prompt: fmt.Sprint(x.promptTokens(index)), completion: fmt.Sprint(c.between(12, 90)), reasoning: "5"}
	return a
}

// promptTokens is the real length of a prompt: it depends on seed and index
// alone, unless the arm counts otherwise.
func (x *cell) promptTokens(index int64) int64 {
	n := x.context*3/4 + (x.seed*31+index*7)%53
	if index == x.shiftedIndex {
		n += x.tokenShift
	}
	return n
}

func words(n int64) string { return strings.TrimSuffix(strings.Repeat("code ", int(n)), " ") }

// split cuts a text into up to n parts that are not empty, at any character.
func (c *Campaign) split(text string, n int64) []string {
	var parts []string
	for n > 1 && utf8.RuneCountInString(text) > 1 {
		runes := []rune(text)
		at := 1 + c.draw.IntN(len(runes)-1)
		parts = append(parts, string(runes[:at]))
		text = string(runes[at:])
		n--
	}
	return append(parts, text)
}

// events are the answer in the order of the stream.
func (x *cell) events(a *answer) []event {
	all := []event{{data: delta(`{"role":"assistant","content":""}`, "")}}
	if a.cut == cutAfterRole {
		return append(all, a.early...)
	}
	all = append(all, a.early...)
	sent := int64(0)
	chunk := func(field, text string, content bool) {
		member := ""
		if a.usage.running {
			member = fmt.Sprintf(`,"usage":%s`, a.usage.object(fmt.Sprint(a.usage.runningFrom+sent)))
		}
		sent++
		all = append(all, event{data: delta(`{"`+field+`":`+quote(text)+`}`, member), output: true, content: content})
	}
	for _, text := range a.reasoning {
		chunk(x.field, text, false)
	}
	if a.cut == cutAfterReasoning {
		return all
	}
	for _, text := range a.visible {
		chunk("content", text, true)
	}
	if a.tool {
		all = append(all, event{data: delta(`{"tool_calls":[{"index":0,"function":{"name":"look","arguments":"{}"}}]}`, ""), output: true})
	}
	all = append(all, a.late...)
	if a.cut == cutAfterText {
		return all
	}
	for _, reason := range a.finish {
		all = append(all, event{data: `{"choices":[{"index":0,"delta":{},"finish_reason":` + reason + `}]}`})
	}
	all = append(all, a.usage.events()...)
	if a.done && a.cut == "" {
		all = append(all, event{data: "[DONE]"})
	}
	return all
}

func (u usage) events() []event {
	switch {
	case u.absent:
		return nil
	case u.null:
		return []event{{data: `{"choices":[],"usage":null}`}}
	}
	var all []event
	if u.earlier != "" {
		all = append(all, event{data: `{"choices":[],"usage":` + u.object(u.earlier) + `}`})
	}
	return append(all, event{data: `{"choices":[],"usage":` + u.object(u.completion) + `}`})
}

func (u usage) object(completion string) string {
	var members []string
	add := func(format, value string) {
		if value != "" {
			members = append(members, fmt.Sprintf(format, value))
		}
	}
	add(`"prompt_tokens":%s`, u.prompt)
	add(`"completion_tokens":%s`, completion)
	add(`"completion_tokens_details":{"reasoning_tokens":%s}`, u.reasoning)
	add(`"prompt_tokens_details":{"cached_tokens":%s}`, u.cached)
	return "{" + strings.Join(members, ",") + "}"
}

func delta(object, more string) string {
	return `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":` + object + `,"finish_reason":null}]` + more + `}`
}

func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always encodes
	}
	return string(b)
}
