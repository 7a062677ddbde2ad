package simengine

import (
	"regexp"
	"strconv"
	"strings"
)

// markerPattern is a request marker at the start of a text.
var markerPattern = regexp.MustCompile(`^ASSAY_REQ_([0-9]{1,20})_([0-9]{5})(?:[^0-9]|$)`)

// maxCodeWords bounds the words of a controlled answer, so that a prompt cannot
// ask for more text than any max_tokens would allow.
const maxCodeWords = 1 << 20

// ask is what a prompt wants: its marker repeated, and either a summary
// (codeWords 0) or an exact number of words "code".
type ask struct {
	marker      string
	seed, index uint64
	codeWords   int
}

// readPrompt finds the marker at the start of a prompt and the number of words
// it asks for.
func readPrompt(prompt string) ask {
	var a ask
	head := strings.TrimLeft(prompt, " \t\r\n")
	if m := markerPattern.FindStringSubmatch(head[:min(len(head), 64)]); m != nil {
		seed, seedErr := strconv.ParseUint(m[1], 10, 64)
		index, indexErr := strconv.ParseUint(m[2], 10, 64)
		if seedErr == nil && indexErr == nil {
			a.marker, a.seed, a.index = "ASSAY_REQ_"+m[1]+"_"+m[2], seed, index
		}
	}
	a.codeWords = codeWords(prompt)
	return a
}

// codeWords returns N when the prompt asks for the word code "exactly N" times,
// 0 otherwise. It looks for the rare word first: a regular expression over a
// prompt of a megabyte would cost more than the rest of the request.
func codeWords(prompt string) int {
	const word, before, after = "exactly ", 160, 80
	for at := 0; ; {
		i := strings.Index(prompt[at:], word)
		if i < 0 {
			return 0
		}
		start := at + i
		at = start + len(word)
		digits := at
		for digits < len(prompt) && prompt[digits] >= '0' && prompt[digits] <= '9' {
			digits++
		}
		n, err := strconv.Atoi(prompt[at:digits])
		if err != nil || n < 1 {
			continue
		}
		around := prompt[max(0, start-before):min(len(prompt), digits+after)]
		if strings.Contains(around, "code") {
			return min(n, maxCodeWords)
		}
	}
}

// templateTokens is what the chat template adds to a message.
const templateTokens = 12

// countTokens counts a text by length: 15 characters to 4 tokens. A prompt of
// three characters for each token of its label so counts about 0.8 of the label.
func countTokens(text string) int64 { return (int64(len(text))*4 + 14) / 15 }

// promptTokens counts a chat prompt.
func promptTokens(text string) int64 { return countTokens(text) + templateTokens }
