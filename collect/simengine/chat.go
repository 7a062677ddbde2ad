package simengine

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// serveChat answers one chat completion.
func (e *Engine) serveChat(w http.ResponseWriter, r *http.Request, a Arrival) int {
	if early := e.earlyAnswer(); early != "" {
		e.arrived(a)
		e.answerUnread(w, early)
		return http.StatusServiceUnavailable
	}
	var req chatRequest
	fault := decodeBody(r, &req)
	if fault == nil {
		fault = req.check(e.cfg)
	}
	asked := readPrompt(req.prompt())
	a.Marker, a.Seed, a.Index = asked.marker, asked.seed, asked.index
	e.arrived(a)
	if fault != nil {
		fault.write(w)
		return fault.status
	}
	j := e.newJob(&req, asked, a)
	if !e.applyEngineFaults(j) {
		e.hangUp(w)
		return http.StatusInternalServerError
	}
	if reply := e.cannedReply(j); reply != nil {
		reply.write(w)
		return reply.status
	}
	if seize := e.seizure(j); seize != nil {
		return e.takeOver(w, seize)
	}
	chunk := newChunker(fmt.Sprintf("chatcmpl-%016x", a.Ordinal), e.cfg.Model, e.cfg.Profile.ReasoningField, a.UnixNs/1e9)
	s := newScript(j, chunk)
	if !req.Stream {
		return e.answerWhole(w, r, s)
	}
	e.editScript(s)
	s.render()
	return e.answerStream(w, s)
}

// newJob draws the answer of an accepted request.
func (e *Engine) newJob(req *chatRequest, asked ask, a Arrival) *job {
	j := &job{arrival: a, nth: e.chats.Add(1), ask: asked, req: req, ready: make(chan struct{})}
	j.promptTokens = req.promptTokens()
	j.maxTokens = req.limit(e.cfg.MaxModelLen, j.promptTokens)
	j.answer = req.shaped(answerer{e.cfg}.answer(asked, req.prompt(), req.effort(), j.maxTokens))
	// The prompt is not needed any more; a queue of long ones would be megabytes.
	req.Messages = nil
	return j
}

// hangUp closes the connection without an answer.
func (e *Engine) hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the server has closed it already
	}
	_ = conn.Close()
	e.conns.Done()
}

// answerWhole plays the request without a stream and answers at its end. Faults
// of streams do not touch it.
func (e *Engine) answerWhole(w http.ResponseWriter, r *http.Request, s *script) int {
	p := e.current()
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	defer context.AfterFunc(r.Context(), cancel)()
	j := s.job
	if err := p.play(ctx, s, func(frame) error { return nil }); err != nil {
		fault := &apiError{http.StatusInternalServerError, "InternalServerError", "", "the request was aborted"}
		fault.write(w)
		return fault.status
	}
	var reasoning strings.Builder
	for _, step := range j.answer.steps {
		if step.reasoning {
			reasoning.WriteString(step.text)
		}
	}
	body := fmt.Sprintf(`{"id":%s,"object":"chat.completion","created":%d,"model":%s,"choices":[{"index":0,`+
		`"message":{"role":"assistant",%s:%s,"content":%s},"logprobs":null,"finish_reason":%s,"stop_reason":null}],"usage":%s}`,
		quoted(fmt.Sprintf("chatcmpl-%016x", j.arrival.Ordinal)), j.arrival.UnixNs/1e9, quoted(e.cfg.Model),
		quoted(e.cfg.Profile.ReasoningField), quoted(reasoning.String()), quoted(j.answer.visible),
		quoted(j.answer.finish), j.usage().json())
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body) // a client that has left needs no answer
	return http.StatusOK
}
