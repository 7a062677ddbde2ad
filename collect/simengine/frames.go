package simengine

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// frame is one SSE event, or something else that a stream does, and what
// happens before it.
type frame struct {
	kind frameKind
	// payload is the data field of the event; raw, when set, is written in place
	// of an event.
	payload, raw string
	// bytes is what is written; render makes it.
	bytes []byte
	// step is the engine output that a frameOutput delivers, nil for all other
	// kinds, which follow without a wait.
	step *step
	// last marks the output with which the engine finishes the request.
	last bool
	// silent marks an output that is made now and written with a later frame.
	silent bool
	// wait is the silence before the frame. TimeScale does not touch it: faults
	// are set against a client's own limits.
	wait time.Duration
}

// frameKind says what a frame is to the player and to the faults.
type frameKind int

const (
	frameRole frameKind = iota
	frameOutput
	frameFinish
	frameUsage
	frameDone
	// frameOther is an event or bytes that mean nothing to the engine.
	frameOther
	// frameFailure is an error event: the engine gave the request up.
	frameFailure
	// The others have no bytes. frameWait is only its wait, frameCut closes the
	// connection, frameReset resets it, frameStall is silent until the client
	// leaves, frameFlood sends a line without an end until then.
	frameWait
	frameCut
	frameReset
	frameStall
	frameFlood
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
	form   form
	// linger is how long the engine goes on after the client has left.
	linger time.Duration
}

// form is how a stream is put on the wire.
type form struct {
	head string
	// headPause, above 0, is the time between two bytes of the head.
	headPause time.Duration
	// event wraps a payload, body wraps an event's text.
	event func(payload string) string
	body  func(text string) []byte
	// end follows the last frame of a stream that ended in order.
	end string
	// piece, above 0, is the number of bytes of one write.
	piece int
	// burst keeps all events back until the last one is due.
	burst bool
}

// plainForm is a form without a fault: one event in one HTTP chunk, one write.
func plainForm() form {
	return form{head: streamHead, event: dataEvent, body: httpChunk, end: lastHTTPChunk}
}

// dataEvent is a payload as one SSE event.
func dataEvent(payload string) string { return "data: " + payload + "\n\n" }

// httpChunk is a text as one HTTP/1.1 chunk.
func httpChunk(text string) []byte {
	out := make([]byte, 0, len(text)+16)
	out = strconv.AppendInt(out, int64(len(text)), 16)
	out = append(out, "\r\n"...)
	out = append(out, text...)
	return append(out, "\r\n"...)
}

// lastHTTPChunk ends a chunked body.
const lastHTTPChunk = "0\r\n\r\n"

// donePayload ends a stream.
const donePayload = "[DONE]"

// chunker renders the payloads of one stream.
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

// choice renders a chunk with one choice.
func (c chunker) choice(delta, finish string) string {
	return c.prefix + `{"index":0,"delta":{` + delta + `},"logprobs":null,"finish_reason":` + finish + `}]}`
}

// delta renders a chunk with one delta member.
func (c chunker) delta(field, text string) string {
	return c.choice(`"`+field+`":`+quoted(text), "null")
}

// role renders the first chunk.
func (c chunker) role() string { return c.choice(`"role":"assistant","content":""`, "null") }

// failure renders an error event.
func (c chunker) failure(message string) string {
	return `{"error":{"message":` + quoted(message) + `,"type":"InternalServerError","param":null,"code":500}}`
}

// output renders one engine output.
func (c chunker) output(s *step) string {
	switch {
	case s.tool != "":
		return c.call(s)
	case s.reasoning:
		return c.delta(c.field, s.text)
	}
	return c.delta("content", s.text)
}

// finish renders the chunk with the finish reason, a JSON value.
func (c chunker) finish(reason string) string {
	return c.prefix + `{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":` + reason + `,"stop_reason":null}]}`
}

// usage renders the usage chunk.
func (c chunker) usage(object string) string { return c.prefix + `],"usage":` + object + `}` }

// usage is the token counts of a request.
type usage struct{ prompt, completion, reasoning int64 }

// json renders the usage object of vLLM.
func (u usage) json() string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d,`+
		`"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":%d}}`,
		u.prompt, u.prompt+u.completion, u.completion, u.reasoning)
}

// newScript makes the whole stream of a job.
func newScript(j *job, c chunker) *script {
	s := &script{job: j, chunk: c, form: plainForm()}
	s.rebuild()
	return s
}

// rebuild makes the frames of the job's answer.
func (s *script) rebuild() {
	j, c := s.job, s.chunk
	s.reason = j.answer.finish
	if s.reason == "tool_calls" {
		s.reason = "stop" // vLLM counts a tool call so
	}
	s.frames = []frame{{kind: frameRole, payload: c.role()}}
	steps := j.answer.steps
	for i := range steps {
		s.frames = append(s.frames, frame{
			kind: frameOutput, payload: c.output(&steps[i]), step: &steps[i], last: i == len(steps)-1,
		})
	}
	s.frames = append(s.frames, frame{kind: frameFinish, payload: c.finish(quoted(j.answer.finish))})
	if j.req.includeUsage() {
		s.frames = append(s.frames, frame{kind: frameUsage, payload: c.usage(j.usage().json())})
	}
	s.frames = append(s.frames, frame{kind: frameDone, payload: donePayload})
}

// render makes the bytes of every frame, so that nothing is left to do between
// the clock and the write.
func (s *script) render() {
	for _, list := range [][]frame{s.early, s.frames} {
		for i := range list {
			f := &list[i]
			switch {
			case f.raw != "":
				f.bytes = s.form.body(f.raw)
			case f.kind < frameWait:
				f.bytes = s.form.body(s.form.event(f.payload))
			}
		}
	}
}
