package simengine

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
)

// vocabulary is what reasoning and summaries are drawn from: plain words, none
// of which is "code" or looks like a marker.
var vocabulary = strings.Fields(`the text lists common words without any clear
order so a short note about it can only say that they are many and plain first
we look at what is asked then at how long it should be next comes one line
which names the main point some words repeat while others appear only once
there seems to be no story here yet each part reads like an open list of daily
things such as water road garden light stone paper table river morning season
it must start with its own mark and then stay brief and clear in one line`)

// step is what one engine output delivers: whole tokens of one kind.
type step struct {
	text      string
	tokens    int
	reasoning bool
	tool      string // name of the tool that text are the arguments of; "" for text
	// drafted and accepted are the proposed and accepted draft tokens.
	drafted, accepted int
	// pace scales this step's mean time.
	pace float64
}

// answer is everything about a request's output that does not depend on other
// requests.
type answer struct {
	steps                             []step
	reasoningTokens, completionTokens int
	finish                            string
	// visible is the whole visible text.
	visible string
}

// answerer draws answers; it is a value of the configuration only.
type answerer struct{ cfg Config }

// answer draws the output of a request. It depends on the configuration, the
// ask, the effort and maxTokens; prompt is used when there is no marker.
func (w answerer) answer(a ask, prompt string, effort string, maxTokens int64) answer {
	rng := w.random(a, prompt)
	reasoning := w.reasoning(rng, a, effort)
	visible := w.visibleTokens(rng, a)
	if w.cfg.Chunks > 0 {
		return w.fixedChunks(rng, visible, maxTokens)
	}
	return w.finish(rng, reasoning, visible, maxTokens)
}

// random seeds a generator with the configuration and the marker.
func (w answerer) random(a ask, prompt string) *rand.Rand {
	h := fnv.New64a()
	if a.marker != "" {
		h.Write([]byte(a.marker))
	} else {
		h.Write([]byte(prompt))
	}
	return rand.New(rand.NewPCG(w.cfg.Seed, h.Sum64()))
}

// effortShare is the share of full reasoning an effort level buys; an unknown
// or absent level reasons in full.
func effortShare(effort string) float64 {
	switch effort {
	case "none":
		return 0
	case "minimal":
		return 0.1
	case "low":
		return 0.25
	case "medium":
		return 0.5
	case "high":
		return 0.75
	}
	return 1
}

// reasoning draws the reasoning tokens, one word each.
func (w answerer) reasoning(rng *rand.Rand, a ask, effort string) []string {
	span := w.cfg.Profile.NaturalReasoning
	if a.codeWords > 0 {
		span = w.cfg.Profile.ControlledReasoning
	}
	n := w.scaledCount(rng, span, effortShare(effort))
	return drawWords(rng, n)
}

// scaledCount draws a number from a range, scaled by OutputScale and share, but
// never scaled from something to nothing.
func (w answerer) scaledCount(rng *rand.Rand, span Range, share float64) int {
	drawn := float64(span.Min+rng.IntN(span.Max-span.Min+1)) * share
	if drawn == 0 {
		return 0
	}
	return max(1, int(math.Round(drawn*w.cfg.OutputScale)))
}

// drawWords draws n tokens that read as words with single spaces between them.
func drawWords(rng *rand.Rand, n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = vocabulary[rng.IntN(len(vocabulary))]
		if i > 0 {
			words[i] = " " + words[i]
		}
	}
	return words
}

// visibleTokens is the visible answer: the marker in pieces, then one token a
// word.
func (w answerer) visibleTokens(rng *rand.Rand, a ask) []string {
	var tokens []string
	for rest := a.marker; rest != ""; {
		n := min(6, len(rest))
		tokens = append(tokens, rest[:n])
		rest = rest[n:]
	}
	words := strings.Fields(strings.Repeat("code ", a.codeWords))
	if a.codeWords == 0 {
		words = drawWords(rng, max(3, w.scaledCount(rng, w.cfg.Profile.SummaryWords, 1)))
	}
	for _, word := range words {
		word = strings.TrimPrefix(word, " ")
		if len(tokens) > 0 {
			word = " " + word
		}
		tokens = append(tokens, word)
	}
	return tokens
}

// finish cuts the tokens at maxTokens and groups them into steps. The
// end-of-sequence token is counted with the last step.
func (w answerer) finish(rng *rand.Rand, reasoning, visible []string, maxTokens int64) answer {
	reasoning, visible, end := cut(reasoning, visible, maxTokens)
	var out answer
	out.steps = w.group(rng, out.steps, reasoning, true)
	out.steps = w.group(rng, out.steps, visible, false)
	return out.close(reasoning, visible, end)
}

// cut keeps at most maxTokens tokens; end says that the end-of-sequence token
// still fits.
func cut(reasoning, visible []string, maxTokens int64) (r, v []string, end bool) {
	left := int(min(maxTokens, math.MaxInt32))
	r = reasoning[:min(left, len(reasoning))]
	left -= len(r)
	v = visible[:min(left, len(visible))]
	left -= len(v)
	return r, v, left > 0
}

// close fills in the totals.
func (out answer) close(reasoning, visible []string, end bool) answer {
	out.finish = "length"
	out.reasoningTokens = len(reasoning)
	out.completionTokens = len(reasoning) + len(visible)
	if end {
		out.finish = "stop"
		out.completionTokens++
		out.steps[len(out.steps)-1].tokens++
	}
	out.visible = strings.Join(visible, "")
	return out
}

// group packs tokens of one kind into steps. With speculation a step holds the
// token of the step itself and the accepted draft tokens; the first output comes
// from the prefill and holds one token.
func (w answerer) group(rng *rand.Rand, steps []step, tokens []string, reasoning bool) []step {
	profile := w.cfg.Profile
	for len(tokens) > 0 {
		chances := profile.Acceptance
		if len(steps) == 0 {
			chances = nil
		}
		accepted := 0
		for _, chance := range chances {
			if accepted == len(tokens)-1 || rng.Float64() >= chance {
				break
			}
			accepted++
		}
		n := accepted + 1
		steps = append(steps, step{
			text: strings.Join(tokens[:n], ""), tokens: n, reasoning: reasoning,
			drafted: len(chances), accepted: accepted,
			pace: 1 + profile.StepJitter*(2*rng.Float64()-1),
		})
		tokens = tokens[n:]
	}
	return steps
}

// fixedChunks makes exactly Config.Chunks steps: the visible tokens one each,
// preceded by as many reasoning tokens as are wanting; when the chunks are too
// few for that, no reasoning and several visible tokens a step.
func (w answerer) fixedChunks(rng *rand.Rand, visible []string, maxTokens int64) answer {
	chunks := w.cfg.Chunks
	reasoning := drawWords(rng, max(0, chunks-len(visible)))
	reasoning, visible, end := cut(reasoning, visible, maxTokens)
	var out answer
	for _, word := range reasoning {
		out.steps = append(out.steps, step{text: word, tokens: 1, reasoning: true, pace: 1})
	}
	parts := min(chunks, len(visible))
	for i := range parts {
		part := visible[i*len(visible)/parts : (i+1)*len(visible)/parts]
		out.steps = append(out.steps, step{text: strings.Join(part, ""), tokens: len(part), pace: 1})
	}
	return out.close(reasoning, visible, end)
}
