package simengine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// chatRequest is the part of a chat completion request the engine reads; it
// ignores the rest, as vLLM does.
type chatRequest struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	Stream        bool      `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           *int64  `json:"max_tokens"`
	MaxCompletionTokens *int64  `json:"max_completion_tokens"`
	ReasoningEffort     *string `json:"reasoning_effort"`

	ResponseFormat *responseFormat `json:"response_format"`
	Tools          []tool          `json:"tools"`
}

// message is one chat message; its content is a string or a list of parts.
type message struct {
	Role    string      `json:"role"`
	Content messageText `json:"content"`
}

// messageText is the text of a message content of either shape.
type messageText string

// UnmarshalJSON accepts a string, null or a list of text parts.
func (t *messageText) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '[' {
		return json.Unmarshal(data, (*string)(t))
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	var all strings.Builder
	for _, part := range parts {
		all.WriteString(part.Text)
	}
	*t = messageText(all.String())
	return nil
}

// includeUsage says whether the stream ends with a usage chunk.
func (r *chatRequest) includeUsage() bool {
	return r.StreamOptions != nil && r.StreamOptions.IncludeUsage
}

// effort is the reasoning effort, "" when absent.
func (r *chatRequest) effort() string {
	if r.ReasoningEffort == nil {
		return ""
	}
	return *r.ReasoningEffort
}

// prompt is the last message that is not the assistant's.
func (r *chatRequest) prompt() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role != "assistant" {
			return string(r.Messages[i].Content)
		}
	}
	return ""
}

// promptTokens counts all messages and the template.
func (r *chatRequest) promptTokens() int64 {
	var n int64
	for _, m := range r.Messages {
		n += promptTokens(string(m.Content))
	}
	return n
}

// limit is the output limit asked for; without one, all that is left of the
// model's length.
func (r *chatRequest) limit(maxModelLen, prompt int64) int64 {
	switch {
	case r.MaxCompletionTokens != nil:
		return *r.MaxCompletionTokens
	case r.MaxTokens != nil:
		return *r.MaxTokens
	}
	return max(1, maxModelLen-prompt)
}

// apiError is an error answer in vLLM's nested envelope.
type apiError struct {
	status               int
	kind, param, message string
}

// write sends the answer.
func (a *apiError) write(w http.ResponseWriter) {
	var param any
	if a.param != "" {
		param = a.param
	}
	writeJSON(w, a.status, map[string]any{"error": map[string]any{
		"message": a.message, "type": a.kind, "param": param, "code": a.status,
	}})
}

// badRequest is a 400 with vLLM's type name.
func badRequest(param, format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, "BadRequestError", param, fmt.Sprintf(format, args...)}
}

// modelNotFound is the answer to an id that is not served.
func modelNotFound(id string) *apiError {
	return &apiError{http.StatusNotFound, "NotFoundError", "model", fmt.Sprintf("The model `%s` does not exist.", id)}
}

// check validates a request against what is served; nil means it may queue. The
// sentences are the ones a client's refusal classifier has to know from vLLM.
func (r *chatRequest) check(cfg Config) *apiError {
	if r.Model != "" && r.Model != cfg.Model {
		return modelNotFound(r.Model)
	}
	if len(r.Messages) == 0 {
		return badRequest("messages", "messages must hold at least one message")
	}
	prompt := r.promptTokens()
	limit := r.limit(cfg.MaxModelLen, prompt)
	if limit < 1 {
		return badRequest("max_tokens", "max_tokens must be at least 1, got %d.", limit)
	}
	return overLimit(cfg.MaxModelLen, prompt, limit)
}

// overLimit refuses a prompt and an output that need more than the model's
// length; nil means they fit.
func overLimit(maxModelLen, prompt, output int64) *apiError {
	total := prompt + output
	if total <= maxModelLen && total >= 0 {
		return nil
	}
	return badRequest("input_tokens", "This model's maximum context length is %d tokens. However, you requested %d output tokens "+
		"and your prompt contains at least %d input tokens, for a total of at least %d tokens. "+
		"(parameter=input_tokens, value=%d)", maxModelLen, output, prompt, total, prompt)
}

// writeJSON sends a value with a status.
func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has left needs no answer
}
