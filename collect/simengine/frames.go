package simengine

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// frame is one SSE event in its HTTP chunk, ready to be written, and what
// happens before it is.
type frame struct {
	kind  frameKind
	bytes []byte
	// step is the engine output that a frameOutput delivers, nil for all other
	// kinds, which follow without a wait.
	step *step
	// last marks the output with which the engine finishes the request.
	last bool
}

// frameKind says what a frame is to the player and to the faults.
type frameKind int

const (
	frameRole frameKind = iota
	frameOutput
	frameFinish
	frameUsage
	frameDone
	// frameFailure is an error event: the engine gave the request up.
	frameFailure
	// frameCut has no bytes: the connection is closed in its place.
	frameCut
)

// script is a stream before it is played. Faults edit it.
type script struct {
	// early frames are sent when the request is accepted, before any output.
	early  []frame
	frames []frame
	// reason is the finished_reason under which the engine counts the request.
	reason string
	job    *job
	chunk  chunker
}

// chunker renders the events of one stream.
type chunker struct{ prefix, field string }

// newChunker prepares the constant part of every chunk.
func newChunker(id, model, field string, createdUnix int64) chunker {
	return chunker{
		prefix: fmt.Sprintf(`{"id":%s,"object":"chat.completion.chunk","created":%d,"model":%s,"choices":[`,
			quoted(id), createdUnix, quoted(model)),
		field: field,
	}
}

// quoted is s as a JSON string.
func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil { // a string always encodes
		return `""`
	}
	return string(text)
}

// event wraps a payload as one SSE event in one HTTP/1.1 chunk.
func event(payload string) []byte {
	size := len("data: ") + len(payload) + len("\n\n")
	out := make([]byte, 0, size+16)
	out = strconv.AppendInt(out, int64(size), 16)
	out = append(out, "\r\ndata: "...)
	out = append(out, payload...)
	return append(out, "\n\n\r\n"...)
}

// delta renders a chunk with one delta member.
func (c chunker) delta(field, text string) []byte {
	return event(c.prefix + `{"index":0,"delta":{"` + field + `":` + quoted(text) +
		`},"logprobs":null,"finish_reason":null}]}`)
}

// role renders the first chunk.
func (c chunker) role() []byte {
	return event(c.prefix + `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`)
}

// failure renders an error event.
func (c chunker) failure(message string) []byte {
	return event(`{"error":{"message":` + quoted(message) + `,"type":"InternalServerError","param":null,"code":500}}`)
}

// output renders one engine output.
func (c chunker) output(s *step) []byte {
	if s.reasoning {
		return c.delta(c.field, s.text)
	}
	return c.delta("content", s.text)
}

// finish renders the chunk with the finish reason.
func (c chunker) finish(reason string) []byte {
	return event(c.prefix + `{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":` +
		quoted(reason) + `,"stop_reason":null}]}`)
}

// usage renders the usage chunk.
func (c chunker) usage(u usage) []byte {
	return event(c.prefix + `],"usage":` + u.json() + `}`)
}

// usage is the token counts of a request.
type usage struct{ prompt, completion, reasoning int64 }

// json renders the usage object of vLLM.
func (u usage) json() string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d,`+
		`"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":%d}}`,
		u.prompt, u.prompt+u.completion, u.completion, u.reasoning)
}

var (
	doneEvent     = event("[DONE]")
	lastHTTPChunk = []byte("0\r\n\r\n")
)

// newScript renders the whole stream of a job.
func newScript(j *job, c chunker) *script {
	s := &script{job: j, chunk: c, reason: j.answer.finish}
	s.frames = append(s.frames, frame{kind: frameRole, bytes: c.role()})
	steps := j.answer.steps
	for i := range steps {
		s.frames = append(s.frames, frame{
			kind: frameOutput, bytes: c.output(&steps[i]), step: &steps[i], last: i == len(steps)-1,
		})
	}
	s.frames = append(s.frames, frame{kind: frameFinish, bytes: c.finish(j.answer.finish)})
	if j.req.includeUsage() {
		s.frames = append(s.frames, frame{kind: frameUsage, bytes: c.usage(j.usage())})
	}
	s.frames = append(s.frames, frame{kind: frameDone, bytes: doneEvent})
	return s
}
