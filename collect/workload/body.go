package workload

import (
	"bytes"
	"encoding/json"
	"fmt"

	"assay/collect/plan"
)

type requestBody struct {
	Model           string        `json:"model"`
	Messages        []message     `json:"messages"`
	Stream          bool          `json:"stream"`
	StreamOptions   streamOptions `json:"stream_options"`
	MaxTokens       *int64        `json:"max_tokens,omitempty"`
	Temperature     *json.Number  `json:"temperature,omitempty"`
	TopP            *json.Number  `json:"top_p,omitempty"`
	ReasoningEffort *string       `json:"reasoning_effort,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// Body is the JSON body of POST {base_url}/chat/completions (measurement.md
// section 1). The optional members are there exactly when argv gives them, and
// numbers have argv's own text. The seed is not sent. It fails when a number of
// c.Request is not JSON, which a decoded plan cannot hold.
func Body(c plan.Cell, p Prompt) ([]byte, error) {
	r := c.Request
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(requestBody{
		Model:           r.Model,
		Messages:        []message{{Role: "user", Content: p.Text}},
		Stream:          true,
		StreamOptions:   streamOptions{IncludeUsage: true},
		MaxTokens:       r.MaxTokens,
		Temperature:     r.Temperature,
		TopP:            r.TopP,
		ReasoningEffort: r.ReasoningEffort,
	})
	if err != nil {
		return nil, fmt.Errorf("build body of cell %s: %w", c.ID, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
