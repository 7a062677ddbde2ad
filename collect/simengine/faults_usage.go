package simengine

import (
	"fmt"
	"strings"
	"time"
)

// usageFaults change how a stream reports its token counts.
var usageFaults = []FaultKind{
	{Name: "no_usage", Cases: "A15", edit: func(s *script, _ int64) { s.drop(frameUsage) },
		Description: "the usage chunk is left out"},
	{Name: "usage_choices_null", Cases: "A11", edit: usageChoicesNull,
		Description: "the choices of the usage chunk are null, not an empty list"},
	{Name: "usage_late", Cases: "A12 A18", Default: 300, edit: func(s *script, n int64) { s.delay(frameUsage, n) },
		Description: "the usage chunk and [DONE] come N ms after the finish reason"},
	{Name: "usage_after_done", Cases: "A12", edit: usageAfterDone,
		Description: "[DONE] comes before the usage chunk"},
	{Name: "usage_running", Cases: "A13", edit: func(s *script, _ int64) { s.runningUsage(func(total int64) int64 { return total }) },
		Description: "every event carries the running total, the first one 0 tokens"},
	{Name: "usage_increments", Cases: "A13", edit: usageIncrements,
		Description: "every event carries the tokens of that event instead of a total"},
	{Name: "usage_falls", Cases: "A13", edit: usageFalls,
		Description: "two usage chunks, the second with a smaller total"},
	{Name: "usage_null", Cases: "A14", edit: func(s *script, _ int64) { s.withMember(`"usage":null`) },
		Description: "every event but the last one carries usage null"},
	{Name: "usage_null_members", Cases: "A16", edit: func(s *script, _ int64) {
		s.usage(fmt.Sprintf(`{"prompt_tokens":null,"completion_tokens":%d,"total_tokens":null,"prompt_tokens_details":null,"completion_tokens_details":null}`,
			s.job.usage().completion))
	}, Description: "the prompt tokens and both details are null"},
	{Name: "usage_not_integer", edit: func(s *script, _ int64) {
		s.usage(fmt.Sprintf(`{"prompt_tokens":%d.5,"completion_tokens":%d}`, s.job.usage().prompt, s.job.usage().completion))
	}, Description: "the prompt tokens are no whole number"},
	{Name: "usage_reasoning_beside", Cases: "A17", edit: func(s *script, _ int64) {
		u := s.job.usage()
		s.usage(fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":null,"reasoning_tokens":%d}`, u.prompt, u.completion, u.reasoning))
	}, Description: "the reasoning tokens stand beside the totals, not in a detail"},
	{Name: "usage_reasoning_exceeds", Cases: "A17", edit: func(s *script, _ int64) {
		u := s.job.usage()
		u.reasoning = u.completion + 1
		s.usage(u.json())
	}, Description: "there are more reasoning tokens than completion tokens"},
	{Name: "usage_cached", edit: func(s *script, _ int64) {
		u := s.job.usage()
		s.usage(strings.Replace(u.json(), `"cached_tokens":0`, fmt.Sprintf(`"cached_tokens":%d`, u.prompt-1), 1))
	}, Description: "all prompt tokens but one came from a cache"},
	{Name: "extension_before_usage", edit: extensionBeforeUsage,
		Description: "another chunk with empty choices stands before the usage chunk"},
}

// usage replaces the usage object.
func (s *script) usage(object string) {
	for i, f := range s.frames {
		if f.kind == frameUsage {
			s.frames[i].payload = s.chunk.usage(object)
		}
	}
}

// delay puts n ms of silence before the frames of a kind.
func (s *script) delay(kind frameKind, n int64) {
	for i, f := range s.frames {
		if f.kind == kind {
			s.frames[i].wait += time.Duration(n) * time.Millisecond
		}
	}
}

func usageChoicesNull(s *script, _ int64) {
	for i, f := range s.frames {
		if f.kind == frameUsage {
			s.frames[i].payload = strings.Replace(f.payload, `"choices":[]`, `"choices":null`, 1)
		}
	}
}

func usageAfterDone(s *script, _ int64) {
	for i := 1; i < len(s.frames); i++ {
		if s.frames[i].kind == frameDone && s.frames[i-1].kind == frameUsage {
			s.frames[i-1], s.frames[i] = s.frames[i], s.frames[i-1]
		}
	}
}

// runningUsage gives every event before the usage chunk a usage of its own;
// value maps the running total to what is said.
func (s *script) runningUsage(value func(total int64) int64) {
	var total int64
	for i, f := range s.frames {
		if f.kind > frameFinish {
			continue
		}
		if f.step != nil {
			total += int64(f.step.tokens)
		}
		u := s.job.usage()
		s.frames[i].payload = addMember(f.payload, fmt.Sprintf(`"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d}`,
			u.prompt, u.prompt+value(total), value(total)))
	}
}

// usageIncrements says 1 token in every chunk, also in the last.
func usageIncrements(s *script, _ int64) {
	s.runningUsage(func(int64) int64 { return 1 })
	s.usage(fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":1}`, s.job.usage().prompt))
}

func usageFalls(s *script, _ int64) {
	for i, f := range s.frames {
		if f.kind == frameUsage {
			less := s.job.usage()
			less.completion--
			s.insert(i+1, frame{kind: frameUsage, payload: s.chunk.usage(less.json())})
			return
		}
	}
}

// extensionBeforeUsage adds a chunk that a reader could take for the usage.
func extensionBeforeUsage(s *script, _ int64) {
	for i, f := range s.frames {
		if f.kind == frameUsage {
			s.insert(i, frame{kind: frameOther, payload: s.chunk.prefix + `],"sglext":{"routed_experts":null}}`})
			return
		}
	}
}

// withMember adds a member to every event before the usage chunk.
func (s *script) withMember(member string) {
	for i, f := range s.frames {
		if f.kind <= frameFinish {
			s.frames[i].payload = addMember(f.payload, member)
		}
	}
}

// addMember adds a member to a JSON object.
func addMember(object, member string) string {
	return strings.TrimSuffix(object, "}") + "," + member + "}"
}

// drop leaves out all frames of a kind.
func (s *script) drop(kind frameKind) {
	kept := s.frames[:0]
	for _, f := range s.frames {
		if f.kind != kind {
			kept = append(kept, f)
		}
	}
	s.frames = kept
}
