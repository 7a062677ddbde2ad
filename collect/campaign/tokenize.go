package campaign

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assay/collect/plan"
	"assay/collect/stream"
	"assay/collect/workload"
)

// tokenize counts the first prompt of a cell: as a chat message where the engine
// counts messages, else as a bare text, which how then says. The server of
// llama.cpp knows only the text, and answers a message with an empty list.
func (p *preflight) tokenize(ctx context.Context, c plan.Cell) (tokens int64, how, reason string) {
	prompt, err := workload.Build(c, 0)
	if err != nil {
		return 0, "", err.Error()
	}
	message := map[string]any{"model": c.Request.Model, "messages": []any{map[string]any{"role": "user", "content": prompt.Text}}}
	counted, reason := p.askTokens(ctx, c, message)
	switch {
	case reason != "":
		return 0, "", reason
	case counted.Count != nil:
		return *counted.Count, "", ""
	case counted.Tokens == nil:
		return 0, "", "/tokenize gives no count"
	}
	counted, reason = p.askTokens(ctx, c, map[string]any{"content": prompt.Text})
	if reason == "" && len(counted.Tokens) == 0 {
		reason = "/tokenize gives no count"
	}
	return int64(len(counted.Tokens)), " without the chat template", reason
}

// tokenized is an answer of /tokenize: a count, or the list alone.
type tokenized struct {
	Count  *int64            `json:"count"`
	Tokens []json.RawMessage `json:"tokens"`
}

// askTokens puts one question to /tokenize.
func (p *preflight) askTokens(ctx context.Context, c plan.Cell, question map[string]any) (answer tokenized, reason string) {
	body, err := json.Marshal(question)
	if err != nil {
		return answer, "the question cannot be encoded"
	}
	root := strings.TrimSuffix(strings.TrimRight(p.baseURL(c), "/"), "/v1")
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	res := stream.Do(ctx, stream.Request{URL: root + "/tokenize", Body: body, Token: p.Token, Accept: "application/json", IdleLimit: 30 * time.Second, MaxBody: 32 << 20})
	switch {
	case res.HTTPStatus == nil:
		return answer, string(res.End)
	case *res.HTTPStatus != 200:
		return answer, fmt.Sprintf("/tokenize answers with status %d", *res.HTTPStatus)
	case json.Unmarshal(res.Body, &answer) != nil:
		return answer, "/tokenize gives no count"
	}
	return answer, ""
}
