package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"assay/collect/plan"
)

// TemplateVersion names the words, the texts and the generator a prompt is made
// from. Two prompts can only be equal under equal versions.
const TemplateVersion = "assay/prompt/v1"

// ControlledWord is the word a controlled answer repeats. No filler word contains it.
const ControlledWord = "code"

// MarkerPattern matches every marker (request canary), as an RE2 expression.
const MarkerPattern = `ASSAY_REQ_[0-9]+_[0-9]{5}`

// Prompt is the one user message of a request. It is ASCII.
type Prompt struct {
	Text   string
	SHA256 string // of Text, lower-case hex
	Marker string // the request's own marker
}

// Marker is the marker of one request: ASSAY_REQ_<seed>_<index as 5 digits>.
// It is unique within an arm because (seed, index) is.
func Marker(seed, index int64) string {
	return fmt.Sprintf("ASSAY_REQ_%d_%05d", seed, index)
}

// Build makes the prompt of the cell's request number index, counted from 0. Its
// length is exactly c.Request.PromptCharacters(). It depends only on the template
// version, the seed, the index, the length, the response words and whether
// canaries are asked for; so matched cells of two arms get equal prompts.
//
// It fails for an index outside the cell, a prompt cache mode other than unique,
// and a prompt shorter than plan.MinPromptCharacters. plan.Check finds the last
// two before a run.
func Build(c plan.Cell, index int64) (Prompt, error) {
	r := c.Request
	length := r.PromptCharacters()
	switch {
	case index < 0 || index >= r.Requests || index > 99_999:
		return Prompt{}, fmt.Errorf("build prompt of cell %s: index %d is outside its %d requests", c.ID, index, r.Requests)
	case r.PromptCacheMode != plan.CacheUnique:
		return Prompt{}, fmt.Errorf("build prompt of cell %s: prompt cache mode %q is not %s", c.ID, r.PromptCacheMode, plan.CacheUnique)
	case length < plan.MinPromptCharacters:
		return Prompt{}, fmt.Errorf("build prompt of cell %s: %d characters are fewer than %d", c.ID, length, plan.MinPromptCharacters)
	}
	marker := Marker(r.Seed, index)
	head, tail := frame(marker, r.ResponseWords, r.RequestCanaries)
	var b strings.Builder
	b.Grow(int(length))
	b.WriteString(head)
	fill(&b, int(length)-len(head)-len(tail), newGenerator(r.Seed, index))
	b.WriteString(tail)
	text := b.String()
	sum := sha256.Sum256([]byte(text))
	return Prompt{Text: text, SHA256: hex.EncodeToString(sum[:]), Marker: marker}, nil
}

// frame is the text before and after the filler. The marker comes first, so that
// no two prompts share more than the start of a marker. The task is stated on
// both sides, because a model may lose one that is 100,000 tokens away.
func frame(marker string, words int64, canary bool) (head, tail string) {
	task := answerStart
	if canary {
		task = canaryStart + marker + canaryEnd
	}
	if words > 0 {
		task += controlledStart + strconv.FormatInt(words, 10) + controlledEnd
	} else {
		task += "sum up the list in one line."
	}
	return marker + "\nYou are given a list of words. " + task + "\n\nWords:\n", "\n\nEnd of the list. " + task
}

const (
	answerStart     = "In the answer, "
	canaryStart     = "Begin the visible answer with "
	canaryEnd       = " followed by one space, then "
	controlledStart = "write the lowercase word " + ControlledWord + " exactly "
	controlledEnd   = " times, separated by single spaces, and nothing else."
)

// Task is what a prompt asks for.
type Task struct {
	Marker string // the request's own marker
	Canary bool   // the answer must begin with the marker
	Words  int64  // how often to repeat ControlledWord; 0 asks for a summary
}

var (
	leadingMarker   = regexp.MustCompile(`^` + MarkerPattern + `\n`)
	controlledCount = regexp.MustCompile(controlledStart + `([0-9]+)` + controlledEnd)
)

// ParsePrompt reads the task back from a prompt that Build made. ok is false for
// any other text. The simulated engine answers by it.
func ParsePrompt(text string) (task Task, ok bool) {
	lead := leadingMarker.FindString(text)
	head, _, found := strings.Cut(text, "\n\n")
	if lead == "" || !found {
		return Task{}, false
	}
	task.Marker = strings.TrimSuffix(lead, "\n")
	task.Canary = strings.Contains(head, canaryStart+task.Marker+canaryEnd)
	if m := controlledCount.FindStringSubmatch(head); m != nil {
		words, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return Task{}, false
		}
		task.Words = words
	}
	return task, true
}
