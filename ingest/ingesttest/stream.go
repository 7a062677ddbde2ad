package ingesttest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Chunk is one server-sent event as a test describes it.
type Chunk struct {
	At      time.Duration // the event's time after t0, to the nanosecond
	Data    string        // the data field
	Name    string        // the event field; "" is the default
	Lag     time.Duration // how much later than At the reader had it
	NoStamp bool          // the kernel gave no receive stamp: the event's time is At plus Lag
	SameAs  bool          // came in the same read as the chunk before
}

// Raw is an event with any data field.
func Raw(at time.Duration, data string) Chunk { return Chunk{At: at, Data: data} }

// Delta is a chunk with one choice that carries this JSON object as its delta.
func Delta(at time.Duration, delta string) Chunk {
	return Raw(at, `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":`+delta+`,"finish_reason":null}]}`)
}

// Role is the first chunk of most engines: a role and no text.
func Role(at time.Duration) Chunk { return Delta(at, `{"role":"assistant","content":""}`) }

// Content is a chunk of visible text.
func Content(at time.Duration, text string) Chunk { return Delta(at, `{"content":`+quote(text)+`}`) }

// Reasoning is a chunk of reasoning text.
func Reasoning(at time.Duration, text string) Chunk {
	return Delta(at, `{"reasoning":`+quote(text)+`}`)
}

// Finish is a chunk with a finish reason and an empty delta.
func Finish(at time.Duration, reason string) Chunk {
	return Raw(at, `{"choices":[{"index":0,"delta":{},"finish_reason":`+quote(reason)+`}]}`)
}

// Usage is the last chunk of usage, without choices.
func Usage(at time.Duration, prompt, completion int64) Chunk {
	return Raw(at, fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`,
		prompt, completion, prompt+completion))
}

// Done is the [DONE] event.
func Done(at time.Duration) Chunk { return Raw(at, "[DONE]") }

// Answer is a whole sound stream that starts at first: role, one reasoning
// chunk, the text in chunks of one word each 10 ms apart, finish, usage of 100
// prompt tokens and one token a chunk, [DONE].
func Answer(first time.Duration, text string) []Chunk {
	const step = 10 * time.Millisecond
	at := first
	chunks := []Chunk{Role(at - time.Millisecond), Reasoning(at, "thinking")}
	words := strings.SplitAfter(text, " ")
	for _, w := range words {
		at += step
		chunks = append(chunks, Content(at, w))
	}
	return append(chunks, Finish(at+1*time.Millisecond, "stop"),
		Usage(at+2*time.Millisecond, 100, int64(len(words)+1)), Done(at+3*time.Millisecond))
}

func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always encodes
	}
	return string(b)
}
