package campaign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/stream"
)

// Questions of the smoke check.
const (
	smokePlain = "plain"
	smokeJSON  = "json"
	smokeTool  = "tool"
	smokeLimit = 5 * time.Minute // longest answer that is waited for
	smokeTool1 = "report_status" // the tool that is offered
)

// smokeCheck is one question put to an arm before its first cell, with the
// arm's own controls.
type smokeCheck struct {
	name   string
	prompt string
	extra  map[string]any // members of the body beside those of every request
	passes func(said) string
}

// said is the text of an answer.
type said struct {
	terminal           bool
	failed             bool // an event says that the request has failed
	end, visible       string
	toolName, toolArgs string
}

var smokeChecks = []smokeCheck{
	{smokePlain, "Answer with the one word: ready", nil, func(s said) string {
		return unless(strings.TrimSpace(s.visible) != "", "there is no visible text")
	}},
	{smokeJSON, "Answer with a JSON object that has the member status with the value ready, and nothing else.",
		map[string]any{"response_format": map[string]any{"type": "json_object"}}, func(s said) string {
			var object map[string]any
			return unless(json.Unmarshal([]byte(s.visible), &object) == nil && object != nil, "the visible text is no JSON object")
		}},
	{smokeTool, "Call the tool " + smokeTool1 + " with the status ready.",
		map[string]any{"tool_choice": "auto", "tools": []any{map[string]any{"type": "function", "function": map[string]any{
			"name": smokeTool1, "description": "Reports a status.",
			"parameters": map[string]any{"type": "object", "required": []string{"status"},
				"properties": map[string]any{"status": map[string]any{"type": "string"}}},
		}}}}, func(s said) string {
			var object map[string]any
			called := s.toolName == smokeTool1 && json.Unmarshal([]byte(s.toolArgs), &object) == nil && object != nil
			return unless(called, "the tool was not called with a JSON object")
		}},
}

func unless(ok bool, reason string) string {
	if ok {
		return ""
	}
	return reason
}

// smoke asks all questions and journals each outcome. It returns why the plain
// answer failed: only that ends the arm.
func (r *run) smoke(ctx context.Context, c plan.Cell) (failed string, err error) {
	r.Progress.Waiting("the smoke check of arm " + c.Arm)
	for _, check := range smokeChecks {
		body, err := check.body(c)
		if err != nil {
			return "", err
		}
		askCtx, cancel := context.WithTimeoutCause(ctx, smokeLimit, stream.ErrOuterTimeout)
		res := stream.Do(askCtx, stream.Request{
			URL: completionsURL(r.baseURL(c)), Body: body, Token: r.Token,
			IdleLimit: min(smokeLimit, time.Duration(c.Request.TimeoutSeconds)*time.Second),
		})
		cancel()
		answer := read(&res)
		reason := check.judge(answer, &res)
		if err := r.write(smokeEntry(c.Arm, check.name, reason, &res, answer)); err != nil {
			return "", err
		}
		if check.name == smokePlain {
			failed = reason
		}
	}
	return failed, nil
}

// body is the question with the controls of the arm's own requests.
func (k smokeCheck) body(c plan.Cell) ([]byte, error) {
	r := c.Request
	body := map[string]any{
		"model": r.Model, "messages": []any{map[string]any{"role": "user", "content": k.prompt}},
		"stream": true, "stream_options": map[string]any{"include_usage": true},
	}
	for name, value := range map[string]any{"max_tokens": r.MaxTokens, "temperature": r.Temperature, "top_p": r.TopP, "reasoning_effort": r.ReasoningEffort} {
		if text, err := json.Marshal(value); err == nil && !bytes.Equal(text, []byte("null")) {
			body[name] = value
		}
	}
	for name, value := range k.extra {
		body[name] = value
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("build smoke check: %w", err)
	}
	return text, nil
}

func (k smokeCheck) judge(s said, res *stream.Result) string {
	switch {
	case res.HTTPStatus == nil:
		return "no answer: " + string(res.End)
	case *res.HTTPStatus != 200:
		return fmt.Sprintf("HTTP status %d", *res.HTTPStatus)
	case s.failed:
		return "the stream says that the request has failed"
	case !s.terminal:
		return "the stream has no end: " + s.end
	}
	return k.passes(s)
}

// read joins the texts of a stream.
func read(res *stream.Result) said {
	s := said{end: string(res.End), terminal: res.End == stream.EndDone && isEventStream(res.ContentType)}
	var all chunks
	for i := range res.Events {
		e := &res.Events[i]
		all.add(record.Event{Name: e.Name, Payload: e.Payload})
		var read struct {
			Choices []struct {
				Delta struct {
					ToolCalls []struct {
						Function struct{ Name, Arguments string } `json:"function"`
					} `json:"tool_calls"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if json.Unmarshal(e.Payload, &read) != nil {
			continue
		}
		for _, choice := range read.Choices {
			for _, call := range choice.Delta.ToolCalls {
				s.toolName += call.Function.Name
				s.toolArgs += call.Function.Arguments
			}
		}
	}
	s.visible = all.visible.String()
	s.failed = all.failure != nil
	return s
}

// smokeEntry keeps the outcome and a digest of the texts, not the texts.
func smokeEntry(arm, name, reason string, res *stream.Result, s said) record.Entry {
	e := record.Entry{Kind: record.EntrySmoke, Arm: arm, Rule: name, Outcome: "pass", Detail: reason, Figures: map[string]int64{}, Facts: map[string]string{"end_kind": string(res.End)}}
	if reason != "" {
		e.Outcome = "fail"
	}
	if res.HTTPStatus != nil {
		e.Figures["http_status"] = *res.HTTPStatus
	}
	if res.EndNs != nil {
		e.Figures["took_ns"] = *res.EndNs
	}
	if text := s.visible + s.toolName + s.toolArgs; text != "" {
		sum := sha256.Sum256([]byte(text))
		e.Facts["answer_sha256"] = hex.EncodeToString(sum[:])
	}
	return e
}
