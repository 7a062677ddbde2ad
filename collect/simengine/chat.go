package simengine

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// serveChat answers one chat completion.
func (e *Engine) serveChat(w http.ResponseWriter, r *http.Request, a Arrival) int {
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
	if refusal := e.refusal(j); refusal != nil {
		refusal.write(w)
		return refusal.status
	}
	chunk := newChunker(fmt.Sprintf("chatcmpl-%016x", a.Ordinal), e.cfg.Model, e.cfg.Profile.ReasoningField, a.UnixNs/1e9)
	s := newScript(j, chunk)
	if !req.Stream {
		return e.answerWhole(w, r, s)
	}
	e.editScript(s)
	return e.answerStream(w, s)
}

// newJob draws the answer of an accepted request.
func (e *Engine) newJob(req *chatRequest, asked ask, a Arrival) *job {
	j := &job{arrival: a, nth: e.chats.Add(1), ask: asked, req: req, ready: make(chan struct{})}
	j.promptTokens = req.promptTokens()
	j.maxTokens = req.limit(e.cfg.MaxModelLen, j.promptTokens)
	j.answer = answerer{e.cfg}.answer(asked, req.prompt(), req.effort(), j.maxTokens)
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

// streamHead precedes every stream. The connection ends with the stream: it is
// out of the HTTP server's hands so that each event is one write.
const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n" +
	"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"

// answerStream takes the connection over and plays the request on it.
func (e *Engine) answerStream(w http.ResponseWriter, s *script) int {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return http.StatusInternalServerError
	}
	defer e.conns.Done()
	p := e.current()
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	left := make(chan struct{})
	go func() {
		defer close(left)
		// Reading is how a client's leaving is noticed; it sends nothing more.
		_, _ = io.Copy(io.Discard, conn)
		cancel()
	}()
	// The end of the process closes the connection even while a write waits for a
	// client that does not read.
	stopWatch := context.AfterFunc(ctx, func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, streamHead); err == nil {
		e.playStream(ctx, p, s, conn)
	}
	stopWatch()
	_ = conn.Close()
	<-left
	return http.StatusOK
}

// playStream writes a stream's events and, when it ended in order, the last HTTP
// chunk. An error is the client's leaving, a cut or the end of the process, all
// of which the counters and the client see; there is nobody else to tell.
func (e *Engine) playStream(ctx context.Context, p *process, s *script, conn net.Conn) {
	log := &sendLog{}
	if !e.cfg.DiscardLogs {
		log = e.logs.newStream(len(s.early) + len(s.frames))
	}
	send := Send{RequestOrdinal: s.job.arrival.Ordinal, Marker: s.job.ask.marker}
	err := p.play(ctx, s, func(f frame) error {
		now := readClocks()
		send.UnixNs, send.MonoNs = now.unixNs, now.monoNs
		if !e.cfg.DiscardLogs {
			log.add(send)
		}
		_, err := conn.Write(f.bytes)
		if e.cfg.SendLog != nil && err == nil {
			e.cfg.SendLog(send)
		}
		send.Seq++
		return err
	})
	if err == nil {
		_, _ = conn.Write(lastHTTPChunk) // the stream is over either way
	}
}
