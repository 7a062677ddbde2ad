package simengine

import "time"

// endFaults change how a stream ends, or that it does.
var endFaults = []FaultKind{
	{Name: "finish_length", edit: func(s *script, _ int64) { s.reason = "length"; s.finishWith(`"length"`) },
		Description: "the finish reason is length, the answer is whole"},
	{Name: "finish_null", Cases: "A19", edit: func(s *script, _ int64) { s.finishWith("null") },
		Description: "no event has a finish reason"},
	{Name: "finish_empty", Cases: "A19", edit: finishEmpty,
		Description: `every event has the finish reason ""`},
	{Name: "finish_abort", Cases: "A19", edit: func(s *script, _ int64) { s.finishWith(`"abort"`) },
		Description: "the finish reason is abort, under status 200"},
	{Name: "truncated", Cases: "A20", Default: 8, edit: func(s *script, n int64) { s.frames = s.frames[:s.place(n)] },
		Description: "after N events the body ends in order, without finish, usage and [DONE]"},
	{Name: "missing_done", Cases: "A20", edit: func(s *script, _ int64) { s.drop(frameDone) },
		Description: "the stream ends in order but without [DONE]"},
	{Name: "usage_unterminated", Cases: "A20", edit: usageUnterminated,
		Description: "the body ends inside the usage event, before its blank line"},
	{Name: "reasoning_then_end", Cases: "A20", edit: func(s *script, _ int64) {
		if visible := s.outputs(false); len(visible) > 0 {
			s.frames = s.frames[:visible[0]]
		}
	}, Description: "the body ends after the reasoning"},
	{Name: "in_band_error", Cases: "A21 B19", Default: 8, edit: func(s *script, n int64) {
		s.fail(n, frame{payload: s.chunk.failure("EngineCore encountered an issue.")}, true)
	}, Description: "after N events an error event comes, then [DONE]; the status stays 200"},
	{Name: "in_band_error_text", Cases: "A21", Default: 8, edit: func(s *script, n int64) {
		s.fail(n, frame{payload: `{"error":"the request was given up"}`}, true)
	}, Description: "as in_band_error, the error member is a text"},
	{Name: "in_band_error_flat", Cases: "A21", Default: 8, edit: func(s *script, n int64) {
		s.fail(n, frame{payload: `{"object":"error","message":"the request was given up","code":400}`}, true)
	}, Description: "as in_band_error, the event itself is the error object"},
	{Name: "in_band_error_named", Cases: "A21", Default: 8, edit: func(s *script, n int64) {
		s.fail(n, frame{raw: "event: error\ndata: {\"reason\":\"the request was given up\"}\n\n"}, false)
	}, Description: "after N events an event named error comes, without [DONE]"},
	{Name: "refused_in_band", Cases: "B10", edit: func(s *script, _ int64) { s.failAtOnce(llamaCppContext, false) },
		Description: "the first event of a stream of status 200 is llama.cpp's refusal of the context"},
	{Name: "queue_full_in_band", edit: func(s *script, _ int64) { s.failAtOnce(sglangQueueFull, true) },
		Description: "the first event of a stream of status 200 is SGLang's full queue, then [DONE]"},
	{Name: "only_done", Cases: "A22", edit: func(s *script, _ int64) { s.frames = []frame{{kind: frameDone, payload: donePayload}} },
		Description: "the stream is [DONE] and nothing else"},
	{Name: "no_output", Cases: "A34 B08", edit: noOutput,
		Description: "no text and 0 tokens with the finish reason length, as very old vLLM answered a prompt that does not fit"},
	{Name: "cut", Default: 8, edit: func(s *script, n int64) { s.endWith(n, frameCut) },
		Description: "after N events the connection is closed inside the body"},
	{Name: "reset", Cases: "B19", Default: 8, edit: func(s *script, n int64) { s.endWith(n, frameReset) },
		Description: "after N events the connection is reset"},
	{Name: "stall", Cases: "B04", Default: 8, edit: func(s *script, n int64) { s.endWith(n, frameStall) },
		Description: "after N events nothing more comes, the connection stays open"},
	{Name: "slow_events", Cases: "B04 B05", Default: 100, edit: func(s *script, n int64) { s.delay(frameOutput, n) },
		Description: "every output comes N ms later than it would after the one before"},
	{Name: "endless_line", Cases: "A29", Default: 8, edit: func(s *script, n int64) { s.endWith(n, frameFlood) },
		Description: "after N events comes a line that has no end"},
	{Name: "open_after_done", Cases: "A36", edit: func(s *script, _ int64) { s.frames = append(s.frames, frame{kind: frameStall}) },
		Description: "after [DONE] the body does not end and the connection stays open"},
	{Name: "close_late", Cases: "A18", Default: 600, edit: func(s *script, n int64) {
		s.frames = append(s.frames, frame{kind: frameWait, wait: time.Duration(n) * time.Millisecond})
	}, Description: "the body ends N ms after [DONE]"},
	{Name: "trailing_bytes", Cases: "A12", edit: func(s *script, _ int64) {
		s.frames = append(s.frames, frame{kind: frameOther, payload: s.chunk.delta("content", "late")}, frame{kind: frameOther, raw: ": bye\n"})
	}, Description: "after [DONE] come another event and a comment"},
	{Name: "never_scheduled", Cases: "B14", edit: func(s *script, _ int64) { s.job.maxTokens = 1 << 40 },
		Description: "the request needs more KV than there is and waits for ever, without an error"},
	{Name: "goes_on", Cases: "B16", Default: 800, edit: func(s *script, n int64) { s.linger = time.Duration(n) * time.Millisecond },
		Description: "the engine goes on with a request for N ms after its client has left"},
}

// finishWith sets the finish reason, a JSON value.
func (s *script) finishWith(reason string) {
	for i, f := range s.frames {
		if f.kind == frameFinish {
			s.frames[i].payload = s.chunk.finish(reason)
		}
	}
}

func finishEmpty(s *script, _ int64) {
	s.finishWith(`""`)
	for i, f := range s.frames {
		if f.kind == frameOutput {
			field := "content"
			if f.step.reasoning {
				field = s.chunk.field
			}
			s.frames[i].payload = s.chunk.choice(`"`+field+`":`+quoted(f.step.text), `""`)
		}
	}
}

// usageUnterminated keeps the usage event without its blank line and nothing
// after it.
func usageUnterminated(s *script, _ int64) {
	for i, f := range s.frames {
		if f.kind == frameUsage {
			s.frames = append(s.frames[:i], frame{kind: frameOther, raw: "data: " + f.payload})
			return
		}
	}
}

// fail replaces everything after n events by an error event, and [DONE].
func (s *script) fail(n int64, failure frame, done bool) {
	failure.kind = frameFailure
	s.frames = append(s.frames[:s.place(n)], failure)
	if done {
		s.frames = append(s.frames, frame{kind: frameDone, payload: donePayload})
	}
}

// failAtOnce makes an error the first event.
func (s *script) failAtOnce(payload string, done bool) {
	s.frames = nil
	s.fail(0, frame{payload: payload}, done)
}

// noOutput leaves role, finish, usage and [DONE].
func noOutput(s *script, _ int64) {
	s.drop(frameOutput)
	s.finishWith(`"length"`)
	s.usage(usage{prompt: s.job.promptTokens}.json())
}

// endWith ends the stream after n events in one of the ways that have no bytes.
func (s *script) endWith(n int64, kind frameKind) {
	s.frames = append(s.frames[:s.place(n)], frame{kind: kind})
}

// place is the index of the frame after n events, at most that of the last
// output, so that the request never ends in order first.
func (s *script) place(n int64) int {
	for i, f := range s.frames {
		if int64(i) == n || f.last {
			return i
		}
	}
	return len(s.frames)
}
