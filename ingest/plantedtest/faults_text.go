package plantedtest

import "strings"

// fault is one thing that can be planted in a request. fails are the rules it
// breaks; one that does not concern the cell is judged not applicable anyway.
type fault struct {
	name  string
	fits  func(x *cell) bool // nil: every cell
	plant func(c *Campaign, x *cell, a *answer)
	fails []string
}

func withCanary(x *cell) bool    { return x.canaries }
func withoutCanary(x *cell) bool { return !x.canaries }
func isControlled(x *cell) bool  { return x.words > 0 }
func isNatural(x *cell) bool     { return x.words == 0 }

// rest is the answer that was asked for, without the marker.
func rest(x *cell) string {
	if x.words > 0 {
		return words(x.words)
	}
	return "The list names common words."
}

// say plants a visible text, cut into chunks at random.
func say(text func(x *cell, index int64) string) func(*Campaign, *cell, *answer) {
	return func(c *Campaign, x *cell, a *answer) { a.visible = c.split(text(x, a.index), c.between(1, 6)) }
}

// sayWords plants other words than asked for after the marker, if one is due.
func sayWords(text func(n int64) string) func(*Campaign, *cell, *answer) {
	return say(func(x *cell, index int64) string {
		if x.canaries {
			return x.marker(index) + " " + text(x.words)
		}
		return text(x.words)
	})
}

func foreign(x *cell, index int64) string { return markerOf(x.seed, index+1) }

var notMarked = []string{ruleCanary, ruleControlled}

// textFaults are about what is said. White space may come first, and follow the
// marker; nothing else may.
var textFaults = []fault{
	{"white_first", nil, func(_ *Campaign, _ *cell, a *answer) {
		a.visible = append([]string{"\n \t", "\u2003\u00a0"}, a.visible...)
	}, nil},
	{"marker_then_line_end", withCanary, say(func(x *cell, i int64) string { return x.marker(i) + "\n" + rest(x) }), nil},
	{"marker_alone", withCanary, say(func(x *cell, i int64) string { return x.marker(i) }), []string{ruleControlled}},
	{"own_late", withCanary, say(func(x *cell, i int64) string { return "Sure. " + x.marker(i) + " " + rest(x) }), notMarked},
	{"own_absent", withCanary, say(func(x *cell, _ int64) string { return rest(x) }), notMarked},
	{"own_comma", withCanary, say(func(x *cell, i int64) string { return x.marker(i) + ", " + rest(x) }), notMarked},
	{"own_digit", withCanary, say(func(x *cell, i int64) string { return x.marker(i) + "7 " + rest(x) }), notMarked},
	{"own_lower", withCanary, say(func(x *cell, i int64) string { return strings.ToLower(x.marker(i)) + " " + rest(x) }), notMarked},
	{"foreign_first", withCanary, say(func(x *cell, i int64) string { return foreign(x, i) + " " + rest(x) }), []string{ruleCanary, ruleForeign, ruleControlled}},
	{"foreign_then_own", withCanary, say(func(x *cell, i int64) string { return foreign(x, i) + " " + x.marker(i) + " " + rest(x) }), []string{ruleCanary, ruleForeign, ruleControlled}},
	{"foreign_late", withCanary, say(func(x *cell, i int64) string { return x.marker(i) + " " + rest(x) + " " + foreign(x, i) }), []string{ruleForeign, ruleControlled}},
	{"foreign_unasked", withoutCanary, say(func(x *cell, i int64) string { return rest(x) + " " + foreign(x, i) }), []string{ruleForeign, ruleControlled}},
	{"foreign_split", withCanary, func(_ *Campaign, x *cell, a *answer) {
		m := foreign(x, a.index)
		a.visible = []string{x.marker(a.index) + " " + rest(x) + " " + m[:7], m[7:12], m[12:]}
	}, []string{ruleForeign, ruleControlled}},
	{"foreign_reasoning", nil, func(_ *Campaign, x *cell, a *answer) {
		a.reasoning = append(a.reasoning, " as in "+foreign(x, a.index))
	}, []string{ruleForeign}},
	{"foreign_reasoning_split", nil, func(_ *Campaign, x *cell, a *answer) {
		m := foreign(x, a.index)
		a.reasoning = append(a.reasoning, " as in "+m[:4], m[4:15], m[15:]+" said")
	}, []string{ruleForeign}},
	{"no_marker_short", isNatural, func(_ *Campaign, _ *cell, a *answer) { a.visible = append(a.visible, " ASSAY_REQ_12_0001 ") }, nil},
	{"own_again", withCanary, func(_ *Campaign, x *cell, a *answer) { a.visible = append(a.visible, " ", x.marker(a.index)) }, []string{ruleControlled}},
	{"own_in_reasoning", nil, func(_ *Campaign, x *cell, a *answer) { a.reasoning = append(a.reasoning, x.marker(a.index)) }, nil},

	{"words_short", isControlled, sayWords(func(n int64) string { return words(n - 1) }), []string{ruleControlled}},
	{"words_long", isControlled, sayWords(func(n int64) string { return words(n + 1) }), []string{ruleControlled}},
	{"words_other", isControlled, sayWords(func(n int64) string { return words(n-1) + " node" }), []string{ruleControlled}},
	{"words_upper", isControlled, sayWords(func(n int64) string { return words(n-1) + " Code" }), []string{ruleControlled}},
	{"words_dot", isControlled, sayWords(func(n int64) string { return words(n) + "." }), []string{ruleControlled}},
	{"words_glued", isControlled, sayWords(func(n int64) string { return words(n-1) + "code" }), []string{ruleControlled}},
	{"words_text_before", isControlled, sayWords(func(n int64) string { return "Here: " + words(n) }), []string{ruleControlled}},
	{"words_text_after", isControlled, sayWords(func(n int64) string { return words(n) + "\n\nDone" }), []string{ruleControlled}},
	{"words_white_between", isControlled, sayWords(func(n int64) string { return strings.ReplaceAll(words(n), " ", "\n\t ") + " \n" }), nil},

	{"no_visible", nil, func(_ *Campaign, _ *cell, a *answer) { a.visible = nil }, []string{ruleVisible, ruleCanary, ruleControlled}},
	{"tool_only", nil, func(_ *Campaign, _ *cell, a *answer) { a.reasoning, a.visible, a.tool = nil, nil, true }, []string{ruleVisible, ruleCanary, ruleControlled}},
	{"blank_visible", nil, func(_ *Campaign, _ *cell, a *answer) { a.visible = []string{" ", "\n"} }, notMarked},
}
