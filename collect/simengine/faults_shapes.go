package simengine

import (
	"fmt"
	"strings"
)

// shapeFaults are no faults: they are the streams of other engines, so that a
// reader can be seen to go by what is on the wire and not by a name.
var shapeFaults = []FaultKind{
	{Name: "sglang_stream", Cases: "A03 A14", edit: func(s *script, _ int64) { s.reshape(sglangShape) },
		Description: "as SGLang: nulls are written out, usage null until the last chunk, reasoning tokens beside the totals"},
	{Name: "llamacpp_stream", Cases: "A03 A12", edit: func(s *script, _ int64) { s.reshape(llamaCppShape) },
		Description: "as llama.cpp: the role's content is null, timings ride on the usage chunk"},
	{Name: "tensorrt_llm_stream", Cases: "A03", edit: func(s *script, _ int64) { s.reshape(tensorRTShape) },
		Description: "as TensorRT-LLM: the field without text is an empty text, the role chunk ends with a blank"},
	{Name: "dynamo_stream", Cases: "A03 A23", edit: func(s *script, _ int64) {
		s.reshape(dynamoShape)
		s.first(frame{kind: frameOther, raw: "event: worker_id\n: \"w1\"\n\n"})
	}, Description: "as Dynamo: an annotation without data first, the role on every delta"},
	{Name: "tgi_stream", Cases: "A02", edit: func(s *script, _ int64) {
		s.reshape(tgiShape)
		s.form.event = func(p string) string { return "data:" + p + "\n\n" }
	}, Description: "as TGI: no reasoning field, the role on every delta, no space after data:"},
	{Name: "lmdeploy_stream", Cases: "A03 A14", edit: func(s *script, _ int64) { s.reshape(lmdeployShape) },
		Description: "as LMDeploy: role, content and reasoning in every delta, usage null until the last chunk"},
}

// shape is how an engine writes the parts of a stream: the members of a choice
// for role and finish, a text for output, and the rest of a chunk.
type shape struct {
	role, finish string
	// text has one %s for the text; a reasoning of "" is written as content.
	reasoning, content string
	rest               string // members after choices in every chunk but the last
	usage              func(u usage) string
	usageRest          string
}

var (
	sglangShape = shape{
		role:      `"delta":{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null`,
		reasoning: `"delta":{"role":null,"content":null,"reasoning_content":%s,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null`,
		content:   `"delta":{"role":null,"content":%s,"reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null`,
		finish:    `"delta":{"role":null,"content":null,"reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":"stop","matched_stop":2`,
		rest:      `,"usage":null`,
		usage: func(u usage) string {
			return fmt.Sprintf(`{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":null,"reasoning_tokens":%d}`,
				u.prompt, u.prompt+u.completion, u.completion, u.reasoning)
		},
	}
	llamaCppShape = shape{
		role:      `"finish_reason":null,"delta":{"role":"assistant","content":null}`,
		reasoning: `"finish_reason":null,"delta":{"reasoning_content":%s}`,
		content:   `"finish_reason":null,"delta":{"content":%s}`,
		finish:    `"finish_reason":"stop","delta":{}`,
		usage: func(u usage) string {
			return fmt.Sprintf(`{"completion_tokens":%d,"prompt_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":0}}`,
				u.completion, u.prompt, u.prompt+u.completion)
		},
		usageRest: `,"timings":{"cache_n":0,"prompt_ms":40.5,"predicted_per_second":40.0}`,
	}
	tensorRTShape = shape{
		role:      `"delta":{"role":"assistant"},"logprobs":null`,
		reasoning: `"delta":{"content":"","reasoning_content":%s}`,
		content:   `"delta":{"content":%s,"reasoning_content":""}`,
		finish:    `"delta":{"content":"","reasoning_content":""},"finish_reason":"stop"`,
		usage:     plainUsage,
	}
	dynamoShape = shape{
		role:      `"delta":{"role":"assistant","content":""},"finish_reason":null`,
		reasoning: `"delta":{"role":"assistant","reasoning_content":%s},"finish_reason":null`,
		content:   `"delta":{"role":"assistant","content":%s},"finish_reason":null`,
		finish:    `"delta":{"role":"assistant"},"finish_reason":"stop"`,
		usage:     plainUsage,
	}
	tgiShape = shape{
		role:    `"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null`,
		content: `"delta":{"role":"assistant","content":%s},"logprobs":null,"finish_reason":null`,
		finish:  `"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":"stop"`,
		rest:    `,"usage":null`,
		usage:   plainUsage,
	}
	lmdeployShape = shape{
		role:      `"delta":{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null},"finish_reason":null`,
		reasoning: `"delta":{"role":"assistant","content":null,"reasoning_content":%s,"tool_calls":null},"finish_reason":null`,
		content:   `"delta":{"role":"assistant","content":%s,"reasoning_content":null,"tool_calls":null},"finish_reason":null`,
		finish:    `"delta":{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null},"finish_reason":"stop"`,
		rest:      `,"usage":null`,
		usage:     func(u usage) string { return u.json() },
	}
)

// plainUsage is totals without details.
func plainUsage(u usage) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, u.prompt, u.completion, u.prompt+u.completion)
}

// reshape writes the stream as another engine would. An engine without a
// reasoning field has none in its answers either: reasoning is dropped from the
// text, its steps and tokens stay.
func (s *script) reshape(to shape) {
	chunk := func(choice, rest string) string {
		return s.chunk.prefix + `{"index":0,` + choice + "}]" + rest + "}"
	}
	for i, f := range s.frames {
		switch f.kind {
		case frameRole:
			s.frames[i].payload = chunk(to.role, to.rest)
		case frameOutput:
			s.frames[i].payload = chunk(to.output(f.step), to.rest)
		case frameFinish:
			s.frames[i].payload = chunk(to.finish, to.rest)
		case frameUsage:
			s.frames[i].payload = strings.TrimSuffix(s.chunk.usage(to.usage(s.job.usage())), "}") + to.usageRest + "}"
		}
	}
}

// output is the choice of one engine output.
func (to shape) output(f *step) string {
	switch {
	case !f.reasoning:
		return fmt.Sprintf(to.content, quoted(f.text))
	case to.reasoning == "":
		return fmt.Sprintf(to.content, quoted(""))
	}
	return fmt.Sprintf(to.reasoning, quoted(f.text))
}
