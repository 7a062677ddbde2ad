package simengine

import (
	"encoding/json"
	"strings"
)

// responseFormat is the part of response_format the engine reads.
type responseFormat struct {
	Type string `json:"type"`
}

// tool is one offered tool.
type tool struct {
	Function struct {
		Name       string `json:"name"`
		Parameters struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		} `json:"parameters"`
	} `json:"function"`
}

// demandsJSON says whether the request wants a JSON object.
func (r *chatRequest) demandsJSON() bool {
	return r.ResponseFormat != nil && (r.ResponseFormat.Type == "json_object" || r.ResponseFormat.Type == "json_schema")
}

// shaped replaces the visible part of a drawn answer by a JSON object or a call
// of the first tool, when the request asks for one. The reasoning stays.
func (r *chatRequest) shaped(a answer) answer {
	call := ""
	text := `{"status": "ready"}`
	switch {
	case len(r.Tools) > 0:
		call, text = r.Tools[0].Function.Name, r.Tools[0].arguments()
	case !r.demandsJSON():
		return a
	}
	kept := a.steps[:0:0]
	for _, s := range a.steps {
		if s.reasoning {
			kept = append(kept, s)
		}
	}
	tokens := int(countTokens(text)) + 1 // the end of the sequence
	a.steps = append(kept, step{text: text, tool: call, tokens: tokens, pace: 1})
	a.completionTokens, a.visible, a.finish = a.reasoningTokens+tokens, text, "stop"
	if call != "" {
		a.visible, a.finish = "", "tool_calls"
	}
	return a
}

// arguments are a JSON object with a text for every required property.
func (t tool) arguments() string {
	members := map[string]string{}
	for _, name := range t.Function.Parameters.Required {
		members[name] = "ready"
	}
	text, err := json.Marshal(members)
	if err != nil { // texts always encode
		return "{}"
	}
	return strings.ReplaceAll(string(text), ",", ", ")
}

// call renders the chunk of a tool call.
func (c chunker) call(s *step) string {
	return c.choice(`"tool_calls":[{"index":0,"id":"call_0","type":"function","function":{"name":`+quoted(s.tool)+
		`,"arguments":`+quoted(s.text)+`}}]`, "null")
}
