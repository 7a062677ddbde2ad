package simengine

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxBodyBytes bounds a request body; the longest prompt of the plan has 0.93 MB.
const maxBodyBytes = 64 << 20

// route is one path of the server.
type route struct {
	method string
	serve  func(e *Engine, w http.ResponseWriter, r *http.Request, a Arrival) int
}

// routes are the paths the engine answers.
var routes = map[string]route{
	"/v1/chat/completions": {http.MethodPost, (*Engine).serveChat},
	"/v1/models":           {http.MethodGet, (*Engine).serveModels},
	"/version":             {http.MethodGet, (*Engine).serveVersion},
	"/health":              {http.MethodGet, (*Engine).serveHealth},
	"/tokenize":            {http.MethodPost, (*Engine).serveTokenize},
	"/metrics":             {http.MethodGet, (*Engine).serveMetrics},
}

// handler dispatches by path and logs every arrival.
func (e *Engine) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first := connOf(r).firstByte()
		a := Arrival{
			Ordinal: e.ordinals.Add(1), UnixNs: first.unixNs, MonoNs: first.monoNs,
			Method: r.Method, Path: r.URL.Path, Proto: r.Proto, Conn: r.RemoteAddr,
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		known, ok := routes[r.URL.Path]
		var status int
		switch {
		case !ok:
			status = e.answerPlain(w, a, http.StatusNotFound)
		case r.Method != known.method:
			w.Header().Set("Allow", known.method)
			status = e.answerPlain(w, a, http.StatusMethodNotAllowed)
		default:
			status = known.serve(e, w, r, a)
		}
		path := r.URL.Path
		if !ok {
			path = "none"
		}
		e.current().metrics.answered(r.Method, path, status)
	})
}

// arrived logs a request.
func (e *Engine) arrived(a Arrival) {
	if !e.cfg.DiscardLogs {
		e.logs.addArrival(a)
	}
	if e.cfg.ArrivalLog != nil {
		e.cfg.ArrivalLog(a)
	}
}

// answerPlain answers as the web framework below vLLM does.
func (e *Engine) answerPlain(w http.ResponseWriter, a Arrival, status int) int {
	e.arrived(a)
	writeJSON(w, status, map[string]string{"detail": http.StatusText(status)})
	return status
}

// serveModels lists the one served model. Like vLLM it gives the time of the
// request as created, not that of the load.
func (e *Engine) serveModels(w http.ResponseWriter, _ *http.Request, a Arrival) int {
	e.arrived(a)
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{
		"id": e.cfg.Model, "object": "model", "created": a.UnixNs / 1e9, "owned_by": "vllm",
		"root": e.cfg.Model, "parent": nil, "max_model_len": e.cfg.MaxModelLen, "permission": []any{},
	}}})
	return http.StatusOK
}

// serveVersion gives the profile's version.
func (e *Engine) serveVersion(w http.ResponseWriter, _ *http.Request, a Arrival) int {
	e.arrived(a)
	writeJSON(w, http.StatusOK, map[string]string{"version": e.cfg.Profile.Version})
	return http.StatusOK
}

// serveHealth answers 200 with an empty body; 503 once a fault has made the
// engine sick.
func (e *Engine) serveHealth(w http.ResponseWriter, _ *http.Request, a Arrival) int {
	e.arrived(a)
	status := http.StatusOK
	if !e.healthy() {
		status = http.StatusServiceUnavailable
	}
	w.WriteHeader(status)
	return status
}

// serveMetrics answers with the page of this moment.
func (e *Engine) serveMetrics(w http.ResponseWriter, _ *http.Request, a Arrival) int {
	e.arrived(a)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = io.WriteString(w, e.current().metricsPage(monoNow())) // a client that has left needs no page
	return http.StatusOK
}

// tokenizeRequest is the body of POST /tokenize.
type tokenizeRequest struct {
	Model    string    `json:"model"`
	Prompt   *string   `json:"prompt"`
	Messages []message `json:"messages"`
}

// serveTokenize counts a prompt, or messages with their template, as a chat
// request with the same text would. The ids it lists mean nothing.
func (e *Engine) serveTokenize(w http.ResponseWriter, r *http.Request, a Arrival) int {
	e.arrived(a)
	var req tokenizeRequest
	if err := decodeBody(r, &req); err != nil {
		err.write(w)
		return err.status
	}
	var count int64
	switch {
	case req.Model != "" && req.Model != e.cfg.Model:
		err := modelNotFound(req.Model)
		err.write(w)
		return err.status
	case req.Prompt != nil:
		count = countTokens(*req.Prompt)
	case len(req.Messages) > 0:
		count = (&chatRequest{Messages: req.Messages}).promptTokens()
	default:
		err := badRequest("prompt", "either prompt or messages is required")
		err.write(w)
		return err.status
	}
	ids := make([]int64, count)
	for i := range ids {
		ids[i] = int64(i) % 1000
	}
	writeJSON(w, http.StatusOK, map[string]any{"count": count, "max_model_len": e.cfg.MaxModelLen, "tokens": ids})
	return http.StatusOK
}

// decodeBody reads a JSON body.
func decodeBody(r *http.Request, into any) *apiError {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return badRequest("", "the body could not be read: %s", err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return badRequest("", "the body is not a valid request: %s", jsonProblem(err))
	}
	return nil
}

// jsonProblem describes a decoding error without quoting the body.
func jsonProblem(err error) string {
	switch e := err.(type) {
	case *json.SyntaxError:
		return fmt.Sprintf("not JSON at byte %d", e.Offset)
	case *json.UnmarshalTypeError:
		return fmt.Sprintf("wrong type for %q at byte %d", e.Field, e.Offset)
	}
	return "not JSON"
}
