package ingest_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "assay/ingest/ingesttest"
)

const own, foreign = "ASSAY_REQ_1000_00000", "ASSAY_REQ_1000_00002"

type streamCase struct {
	name   string
	spec   CellSpec
	chunks []Chunk
	want   map[string]string // columns of request_facts as text
}

// runCases loads one run in which each case is a cell of its own, with seed
// 1000, and compares request 0 of each.
func runCases(t *testing.T, cases []streamCase) {
	t.Helper()
	specs := make([]CellSpec, len(cases))
	for i, c := range cases {
		specs[i] = c.spec
		specs[i].ID, specs[i].Arm, specs[i].Seed = fmt.Sprintf("c%d", i), "a", 1000
	}
	run := NewRun(t, Plan(t, specs...))
	for i, c := range cases {
		run.Cell(specs[i].ID).Stream(0, c.chunks...)
	}
	db := openDB(t)
	load(t, db, run.Write())
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			columns := slices.Sorted(maps.Keys(c.want))
			if diff := cmp.Diff(c.want, facts(t, db, specs[i].ID, columns...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// every gives n chunks made by one, step apart.
func every(n int, first, step time.Duration, one func(time.Duration, string) Chunk, text string) []Chunk {
	var chunks []Chunk
	for i := range n {
		chunks = append(chunks, one(first+time.Duration(i)*step, text))
	}
	return chunks
}

func usage(at time.Duration, members string) Chunk {
	return Raw(at, `{"choices":[],"usage":{`+members+`}}`)
}

// ended adds finish, usage and [DONE] 1 ms apart.
func ended(at time.Duration, prompt, completion int64, chunks ...Chunk) []Chunk {
	return append(chunks, Finish(at, "stop"), Usage(at+ms, prompt, completion), Done(at+2*ms))
}

// Output, reasoning and times: cases.md A01 to A18.
func TestOutputAndTimes(t *testing.T) {
	runCases(t, []streamCase{
		{name: "A01 the role chunk is not output",
			chunks: ended(225*ms, 10, 2, Role(5*ms), Content(214*ms, "Hi"), Content(224*ms, "!")),
			want: map[string]string{"first_event_ns": "5000000", "ttfo_ns": "214000000", "ttft_ns": "214000000", "last_output_ns": "224000000",
				"gap_max_ns": "10000000", "gaps": "1", "outcome": "complete", "done_ns": "227000000", "prompt_tokens": "10",
				"completion_tokens": "2", "usage_fault": "null", "finish_reasons": `["stop"]`, "finish_ns": "225000000", "usage_ns": "226000000"}},
		{name: "A01 content null",
			chunks: ended(225*ms, 10, 1, Delta(5*ms, `{"role":"assistant","content":null}`), Content(214*ms, "Hi")),
			want:   map[string]string{"ttfo_ns": "214000000", "output_events": "1"}},
		{name: "A01 content absent",
			chunks: ended(225*ms, 10, 1, Delta(5*ms, `{"role":"assistant"}`), Content(214*ms, "Hi")),
			want:   map[string]string{"ttfo_ns": "214000000", "output_events": "1"}},
		{name: "A02 reasoning is output",
			chunks: ended(6*time.Second, 10, 50, append(every(40, time.Second, 100*ms, Reasoning, "r"), every(10, 5*time.Second, 100*ms, Content, "c")...)...),
			want:   map[string]string{"ttfo_ns": "1000000000", "ttft_ns": "5000000000", "last_output_ns": "5900000000", "reasoning_events": "40", "content_events": "10"}},
		{name: "A03 the old name of the field",
			chunks: ended(6*ms, 10, 2, Delta(1*ms, `{"reasoning_content":"abc"}`), Content(2*ms, "x")),
			want:   map[string]string{"ttfo_ns": "1000000", "reasoning_chars": "3", "reasoning_field": "reasoning_content"}},
		{name: "A03 the new name of the field",
			chunks: ended(6*ms, 10, 2, Reasoning(1*ms, "abc"), Content(2*ms, "x")),
			want:   map[string]string{"ttfo_ns": "1000000", "reasoning_chars": "3", "reasoning_field": "reasoning"}},
		{name: "A03 both names in one stream",
			chunks: ended(6*ms, 10, 2, Reasoning(1*ms, "abc"), Delta(2*ms, `{"reasoning_content":"d"}`)),
			want:   map[string]string{"reasoning_chars": "4", "reasoning_field": "both", "alias_conflicts": "0"}},
		{name: "A04 equal texts count once",
			chunks: ended(6*ms, 10, 1, Delta(1*ms, `{"reasoning":"abc","reasoning_content":"abc"}`)),
			want:   map[string]string{"reasoning_chars": "3", "reasoning_field": "both", "alias_conflicts": "0", "output_events": "1"}},
		{name: "A04 unequal texts are a conflict",
			chunks: ended(6*ms, 10, 1, Delta(1*ms, `{"reasoning":"abc","reasoning_content":"de"}`)),
			want:   map[string]string{"reasoning_chars": "5", "alias_conflicts": "1", "output_events": "1", "prompt_tokens": "10"}},
		{name: "one empty name is no conflict",
			chunks: ended(6*ms, 10, 1, Delta(1*ms, `{"reasoning":"","reasoning_content":"de"}`)),
			want:   map[string]string{"reasoning_chars": "2", "alias_conflicts": "0", "reasoning_field": "reasoning_content"}},
		{name: "A06 white space is output",
			chunks: ended(6*time.Second, 10, 3, Reasoning(time.Second, "r"), Content(5*time.Second, "\n\n"), Content(5100*ms, ""), Content(5300*ms, own)),
			want: map[string]string{"ttft_ns": "5000000000", "ttft_nonblank_ns": "5300000000", "canary_state": "own_first", "leading_white_chars": "2",
				"content_events": "2", "events": "7"}},
		{name: "A06 other white space than ASCII",
			chunks: ended(6*time.Second, 10, 3, Content(5*time.Second, "\u00a0\u3000\u2028\v"), Content(5300*ms, "\u200bx")),
			want:   map[string]string{"ttft_ns": "5000000000", "ttft_nonblank_ns": "5300000000", "leading_white_chars": "4"}},
		{name: "A07 several tokens a chunk",
			chunks: ended(1200*ms, 10, 17, every(5, time.Second, 40*ms, Content, "abc ")...),
			want:   map[string]string{"gap_p50_ns": "40000000", "gap_min_ns": "40000000", "gaps": "4", "output_events": "5", "completion_tokens": "17"}},
		{name: "A18 late frames belong to e2e",
			chunks: []Chunk{Content(time.Second, "a"), Content(2*time.Second, "b"), Finish(2001*ms, "stop"), Usage(2300*ms, 10, 101), Done(2301 * ms)},
			want:   map[string]string{"last_output_ns": "2000000000", "done_ns": "2301000000", "ttfo_ns": "1000000000"}},
		{name: "A31 a burst",
			chunks: ended(1701*ms, 10, 300, every(300, 1699*ms, 3*time.Microsecond, Content, "x")...),
			want:   map[string]string{"gaps": "299", "short_gaps": "299", "same_read_gaps": "0", "gap_p95_ns": "3000"}},
		{name: "gaps inside one read are counted",
			chunks: ended(30*ms, 10, 3, Content(1*ms, "a"), Chunk{At: 1 * ms, Data: Content(0, "b").Data, SameAs: true}, Content(21*ms, "c")),
			want:   map[string]string{"gaps": "2", "short_gaps": "1", "same_read_gaps": "1", "gap_min_ns": "0", "gap_p50_ns": "0", "gap_max_ns": "20000000"}},
		{name: "tool calls are output",
			chunks: ended(30*ms, 10, 3, Delta(1*ms, `{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}`), Delta(2*ms, `{"tool_calls":[{"function":{"arguments":"{}"}}]}`)),
			want:   map[string]string{"tool_events": "2", "ttfo_ns": "1000000", "ttft_ns": "null", "outcome": "complete", "visible_chars": "0", "canary_state": "null"}},
		{name: "completions of the older kind",
			chunks: []Chunk{Raw(1*ms, `{"choices":[{"index":0,"text":"Four","finish_reason":null}]}`), Raw(2*ms, `{"choices":[{"index":0,"text":"","finish_reason":"stop"}]}`), Usage(3*ms, 1, 1), Done(4 * ms)},
			want:   map[string]string{"ttft_ns": "1000000", "visible_chars": "4", "finish_reasons": `["stop"]`, "outcome": "complete"}},
		{name: "several choices are joined",
			chunks: ended(6*ms, 10, 2, Raw(1*ms, `{"choices":[{"index":0,"delta":{"content":"ab"}},{"index":1,"delta":{"content":"c"}}]}`)),
			want:   map[string]string{"visible_chars": "3", "output_events": "1"}},
	})
}

// Usage: cases.md A11 to A17.
func TestUsage(t *testing.T) {
	sound := Content(1*ms, "a")
	runCases(t, []streamCase{
		{name: "A11 empty choices",
			chunks: []Chunk{sound, usage(2*ms, `"prompt_tokens":10,"completion_tokens":3`), Done(3 * ms)},
			want:   map[string]string{"prompt_tokens": "10", "completion_tokens": "3", "last_output_ns": "1000000", "usage_fault": "null"}},
		{name: "A11 choices null",
			chunks: []Chunk{sound, Raw(2*ms, `{"choices":null,"usage":{"prompt_tokens":10,"completion_tokens":3}}`), Done(3 * ms)},
			want:   map[string]string{"prompt_tokens": "10", "completion_tokens": "3", "outcome": "complete"}},
		{name: "A12b usage after [DONE] is missing",
			chunks: []Chunk{sound, Finish(2*ms, "stop"), Done(3 * ms), Usage(4*ms, 10, 3)},
			want:   map[string]string{"prompt_tokens": "null", "usage_fault": "absent", "usage_chunks": "0", "events": "4", "done_ns": "3000000", "outcome": "complete"}},
		{name: "A13 running totals: the last one counts",
			chunks: []Chunk{Raw(1*ms, `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":0}}`), usage(2*ms, `"prompt_tokens":9,"completion_tokens":1`),
				Raw(3*ms, `{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`), usage(4*ms, `"prompt_tokens":9,"completion_tokens":3`), usage(5*ms, `"prompt_tokens":9,"completion_tokens":3`), Done(6 * ms)},
			want: map[string]string{"completion_tokens": "3", "usage_chunks": "5", "usage_fault": "null", "usage_ns": "5000000"}},
		{name: "A13 a total that falls",
			chunks: []Chunk{sound, usage(2*ms, `"prompt_tokens":9,"completion_tokens":5`), usage(3*ms, `"prompt_tokens":9,"completion_tokens":4`), Done(6 * ms)},
			want:   map[string]string{"completion_tokens": "4", "usage_fault": "falling"}},
		{name: "A13 increments instead of totals",
			chunks: []Chunk{Raw(1*ms, `{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`),
				Raw(2*ms, `{"choices":[{"delta":{"content":"b"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`),
				Raw(3*ms, `{"choices":[{"delta":{"content":"c"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`), Done(6 * ms)},
			want: map[string]string{"usage_fault": "below_output_events", "output_events": "3"}},
		{name: "fewer tokens than chunks in one usage is no contradiction",
			chunks: []Chunk{sound, Content(2*ms, "b"), Usage(3*ms, 9, 1), Done(6 * ms)},
			want:   map[string]string{"usage_fault": "null"}},
		{name: "A14 null usage is no report",
			chunks: []Chunk{Raw(1*ms, `{"choices":[{"delta":{"content":"a"}}],"usage":null}`), Usage(3*ms, 9, 1), Done(6 * ms)},
			want:   map[string]string{"usage_chunks": "1", "usage_fault": "null"}},
		{name: "A15 no usage at all",
			chunks: []Chunk{sound, Finish(2*ms, "stop"), Done(3 * ms)},
			want:   map[string]string{"prompt_tokens": "null", "completion_tokens": "null", "usage_fault": "absent", "ttfo_ns": "1000000", "outcome": "complete"}},
		{name: "A16 null members",
			chunks: []Chunk{sound, usage(2*ms, `"prompt_tokens":null,"completion_tokens":5,"prompt_tokens_details":null,"completion_tokens_details":null`), Done(3 * ms)},
			want:   map[string]string{"prompt_tokens": "null", "completion_tokens": "5", "cached_tokens": "null", "reasoning_tokens": "null", "usage_fault": "absent"}},
		{name: "A17 reasoning is part of completion",
			chunks: []Chunk{sound, usage(2*ms, `"prompt_tokens":1,"completion_tokens":200,"completion_tokens_details":{"reasoning_tokens":150},"prompt_tokens_details":{"cached_tokens":0}`), Done(3 * ms)},
			want:   map[string]string{"completion_tokens": "200", "reasoning_tokens": "150", "cached_tokens": "0", "usage_fault": "null"}},
		{name: "A17 reasoning beside the totals",
			chunks: []Chunk{sound, usage(2*ms, `"prompt_tokens":1,"completion_tokens":12,"prompt_tokens_details":null,"reasoning_tokens":7`), Done(3 * ms)},
			want:   map[string]string{"reasoning_tokens": "7"}},
		{name: "A17 more reasoning than completion",
			chunks: []Chunk{sound, usage(2*ms, `"prompt_tokens":1,"completion_tokens":12,"reasoning_tokens":13`), Done(3 * ms)},
			want:   map[string]string{"usage_fault": "reasoning_exceeds_completion"}},
		{name: "10.5 is not rounded",
			chunks: []Chunk{sound, usage(2*ms, `"prompt_tokens":10.5,"completion_tokens":12`), Done(3 * ms)},
			want:   map[string]string{"prompt_tokens": "null", "completion_tokens": "12", "usage_fault": "not_integer"}},
		{name: "a negative count",
			chunks: []Chunk{sound, usage(2*ms, `"prompt_tokens":10,"completion_tokens":-1`), Done(3 * ms)},
			want:   map[string]string{"completion_tokens": "null", "usage_fault": "not_integer"}},
		{name: "a count as text",
			chunks: []Chunk{sound, usage(2*ms, `"prompt_tokens":"10","completion_tokens":1`), Done(3 * ms)},
			want:   map[string]string{"prompt_tokens": "null", "usage_fault": "not_integer"}},
		{name: "a count beyond int64",
			chunks: []Chunk{sound, usage(2*ms, `"prompt_tokens":9223372036854775808,"completion_tokens":1`), Done(3 * ms)},
			want:   map[string]string{"prompt_tokens": "null", "usage_fault": "not_integer"}},
		{name: "usage that is no object",
			chunks: []Chunk{sound, Raw(2*ms, `{"choices":[],"usage":7}`), Done(3 * ms)},
			want:   map[string]string{"usage_fault": "absent", "outcome": "complete"}},
	})
}

// Ends, errors and odd payloads: cases.md A19 to A36.
func TestOutcomeOfStreams(t *testing.T) {
	text := Content(1*ms, "a")
	runCases(t, []streamCase{
		{name: "A19 finish null",
			chunks: []Chunk{text, Usage(2*ms, 1, 1), Done(3 * ms)},
			want:   map[string]string{"outcome": "complete", "finish_reasons": "[]", "finish_ns": "null"}},
		{name: "A19 an empty finish reason is none",
			chunks: []Chunk{Raw(1*ms, `{"choices":[{"delta":{"content":"a"},"finish_reason":""}]}`), Finish(2*ms, ""), Done(3 * ms)},
			want:   map[string]string{"outcome": "complete", "finish_reasons": "[]"}},
		{name: "A19 abort is kept",
			chunks: []Chunk{text, Finish(2*ms, "abort"), Done(3 * ms)},
			want:   map[string]string{"outcome": "complete", "finish_reasons": `["abort"]`}},
		{name: "A20a text, then the end",
			chunks: []Chunk{text},
			want:   map[string]string{"outcome": "truncated", "done_ns": "null", "ttfo_ns": "1000000"}},
		{name: "A20b finish and usage without [DONE]",
			chunks: []Chunk{text, Finish(2*ms, "stop"), Usage(3*ms, 1, 1)},
			want:   map[string]string{"outcome": "missing_done", "prompt_tokens": "1"}},
		{name: "A20c the usage event was never finished",
			chunks: []Chunk{text, Finish(2*ms, "stop")},
			want:   map[string]string{"outcome": "truncated", "usage_fault": "absent"}},
		{name: "A20d only reasoning",
			chunks: []Chunk{Reasoning(1*ms, "r")},
			want:   map[string]string{"outcome": "truncated"}},
		{name: "A21 an error object before [DONE]",
			chunks: []Chunk{text, Content(2*ms, "b"), Raw(3*ms, `{"error":{"message":"EngineCore encountered an issue","type":"InternalServerError","code":500}}`), Done(4 * ms)},
			want:   map[string]string{"outcome": "in_band_error", "fault_class": "engine_dead", "output_events": "2", "prompt_tokens": "null"}},
		{name: "A21 an error text",
			chunks: []Chunk{text, Raw(3*ms, `{"error":"text"}`), Done(4 * ms)},
			want:   map[string]string{"outcome": "in_band_error", "fault_class": "null"}},
		{name: "A21 an error of another type",
			chunks: []Chunk{text, Raw(3*ms, `{"error":false,"choices":[]}`), Done(4 * ms)},
			want:   map[string]string{"outcome": "in_band_error"}},
		{name: "A21 object error",
			chunks: []Chunk{text, Raw(3*ms, `{"object":"error","message":"x","code":400}`), Done(4 * ms)},
			want:   map[string]string{"outcome": "in_band_error"}},
		{name: "A21 an event named error",
			chunks: []Chunk{text, {At: 3 * ms, Name: "error", Data: `{"x":1}`}, Done(4 * ms)},
			want:   map[string]string{"outcome": "in_band_error"}},
		{name: "error null is none",
			chunks: []Chunk{Raw(1*ms, `{"error":null,"choices":[{"delta":{"content":"a"}}]}`), Done(4 * ms)},
			want:   map[string]string{"outcome": "complete"}},
		{name: "an error after [DONE] does not count",
			chunks: []Chunk{text, Done(2 * ms), Raw(3*ms, `{"error":"late"}`)},
			want:   map[string]string{"outcome": "complete"}},
		{name: "A22 only [DONE]",
			chunks: []Chunk{Done(1 * ms)},
			want:   map[string]string{"outcome": "no_output", "ttfo_ns": "null", "gap_p50_ns": "null", "visible_sha256": "null", "leading_white_chars": "null"}},
		{name: "A23 empty data moves nothing",
			chunks: []Chunk{Raw(1*ms, ""), Raw(2*ms, " "), Content(3*ms, "a"), Done(4 * ms)},
			want:   map[string]string{"ttfo_ns": "3000000", "outcome": "complete", "bad_events": "0", "events": "4"}},
		{name: "A26 data of several lines",
			chunks: []Chunk{Raw(1*ms, "{\"choices\":[{\"delta\":\n{\"content\":\"a\"}}]}"), Done(4 * ms)},
			want:   map[string]string{"visible_chars": "1", "outcome": "complete"}},
		{name: "A27 characters beyond ASCII",
			chunks: []Chunk{Content(1*ms, "汉😀"), Done(4 * ms)},
			want:   map[string]string{"visible_chars": "2", "visible_sha256": fmt.Sprintf("%x", sha256.Sum256([]byte("汉😀")))}},
		{name: "A29 a very long line",
			chunks: []Chunk{Content(1*ms, strings.Repeat("x", 5<<20)), Done(4 * ms)},
			want:   map[string]string{"visible_chars": "5242880", "outcome": "complete"}},
		{name: "A33 all tokens spent on reasoning",
			chunks: append(every(200, 1*ms, 1*ms, Reasoning, "r"), Finish(300*ms, "length"), Usage(301*ms, 10, 16384), Done(302*ms)),
			want:   map[string]string{"outcome": "complete", "ttft_ns": "null", "ttfo_ns": "1000000", "canary_state": "null", "finish_reasons": `["length"]`}},
		{name: "A36 [DONE] inside content",
			chunks: []Chunk{Content(1*ms, "[DONE]"), Content(2*ms, "b"), Done(4 * ms)},
			want:   map[string]string{"done_ns": "4000000", "visible_chars": "7", "outcome": "complete"}},
		{name: "[DONE] with blanks behind it",
			chunks: []Chunk{text, Raw(4*ms, "[DONE]  ")},
			want:   map[string]string{"done_ns": "4000000", "outcome": "complete"}},
		{name: "a payload that is not UTF-8",
			chunks: []Chunk{text, Raw(2*ms, "{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}"), Done(4 * ms)},
			want:   map[string]string{"outcome": "protocol", "bad_events": "1", "output_events": "1"}},
		{name: "a payload that is not JSON",
			chunks: []Chunk{text, Raw(2*ms, "{oops"), Done(4 * ms)},
			want:   map[string]string{"outcome": "protocol", "bad_events": "1"}},
		{name: "two objects in one payload",
			chunks: []Chunk{text, Raw(2*ms, `{"a":1}{"b":2}`), Done(4 * ms)},
			want:   map[string]string{"outcome": "protocol", "bad_events": "1"}},
		{name: "a payload that is JSON but no object",
			chunks: []Chunk{text, Raw(2*ms, `[1]`), Raw(3*ms, `"x"`), Raw(3*ms, `5`), Done(4 * ms)},
			want:   map[string]string{"outcome": "protocol", "bad_events": "3"}},
		{name: "rubbish after [DONE] does not count",
			chunks: []Chunk{text, Done(2 * ms), Raw(3*ms, "{oops")},
			want:   map[string]string{"outcome": "complete", "bad_events": "0"}},
		{name: "members of another type than expected",
			chunks: []Chunk{Raw(1*ms, `{"choices":{"a":1}}`), Raw(2*ms, `{"choices":[5,null,{"delta":7}]}`), text, Done(4 * ms)},
			want:   map[string]string{"outcome": "complete", "output_events": "1"}},
	})
}

// Stamps: measurement.md section 3 and the contract of event times.
func TestEventTimes(t *testing.T) {
	runCases(t, []streamCase{
		{name: "the kernel's stamp is used",
			chunks: []Chunk{{At: 10*ms + 7, Lag: 3 * ms, Data: Content(0, "a").Data}, Done(20 * ms)},
			want:   map[string]string{"ttfo_ns": "10000007", "lag_p99_ns": "3000000", "kernel_stamped_events": "2", "output_read_stamped": "0"}},
		{name: "without a stamp the read counts",
			chunks: []Chunk{{At: 10 * ms, Lag: 3 * ms, NoStamp: true, Data: Content(0, "a").Data}, Done(20 * ms)},
			want:   map[string]string{"ttfo_ns": "13000000", "kernel_stamped_events": "1", "output_read_stamped": "1", "lag_p99_ns": "0"}},
		{name: "a lag of a second is none",
			chunks: []Chunk{{At: 10 * ms, Lag: time.Second, Data: Content(0, "a").Data}, Done(1020 * ms)},
			want:   map[string]string{"ttfo_ns": "1010000000", "output_read_stamped": "1"}},
		{name: "a stamp after the read is none",
			chunks: []Chunk{{At: 10 * ms, Lag: -1, Data: Content(0, "a").Data}, Done(20 * ms)},
			want:   map[string]string{"ttfo_ns": "9999999", "output_read_stamped": "1"}},
		{name: "times never fall",
			chunks: []Chunk{Content(10*ms, "a"), Content(9*ms, "b"), Content(12*ms, "c"), Done(20 * ms)},
			want:   map[string]string{"raised_stamps": "1", "gap_min_ns": "0", "gap_max_ns": "2000000", "last_output_ns": "12000000"}},
	})
}

// Markers and controlled words: cases.md B17, measurement.md sections 2 and 6.
func TestCanariesAndWords(t *testing.T) {
	words := CellSpec{ResponseWords: 3}
	say := func(texts ...string) []Chunk {
		var chunks []Chunk
		for i, text := range texts {
			chunks = append(chunks, Content(time.Duration(i+1)*ms, text))
		}
		return append(chunks, Done(time.Second))
	}
	runCases(t, []streamCase{
		{name: "own marker first", chunks: say(own + " hello"), want: map[string]string{"canary_state": "own_first", "foreign_markers": "[]", "words_exact": "null"}},
		{name: "own marker alone", chunks: say(own), want: map[string]string{"canary_state": "own_first"}},
		{name: "own marker split over chunks", chunks: say("ASSAY_", "REQ_1000", "_00000", " x"), want: map[string]string{"canary_state": "own_first", "foreign_markers": "[]"}},
		{name: "own marker glued to a word", chunks: say(own + "x"), want: map[string]string{"canary_state": "own_late"}},
		{name: "own marker late", chunks: say("Well, " + own), want: map[string]string{"canary_state": "own_late"}},
		{name: "no marker", chunks: say("Well"), want: map[string]string{"canary_state": "absent"}},
		{name: "another's marker first", chunks: say(foreign + " x"), want: map[string]string{"canary_state": "foreign", "foreign_markers": `["` + foreign + `"]`}},
		{name: "another's marker in the middle, split", chunks: say(own+" a ASSAY_RE", "Q_1000_00002 b"), want: map[string]string{"canary_state": "own_first", "foreign_markers": `["` + foreign + `"]`}},
		{name: "another's marker in reasoning, split",
			chunks: []Chunk{Reasoning(1*ms, "ASSAY_REQ_1000_"), Reasoning(2*ms, "00002"), Content(3*ms, own), Done(4 * ms)},
			want:   map[string]string{"canary_state": "own_first", "foreign_markers": `["` + foreign + `"]`}},
		{name: "markers of other cells, sorted and single",
			chunks: say(own + " ASSAY_REQ_7_00001 " + foreign + " ASSAY_REQ_7_00001"),
			want:   map[string]string{"foreign_markers": `["` + foreign + `","ASSAY_REQ_7_00001"]`}},
		{name: "a cell without canaries", spec: CellSpec{NoCanaries: true}, chunks: say("hello"), want: map[string]string{"canary_state": "null"}},
		{name: "the asked-for words", spec: words, chunks: say(own+" code", " code", "\ncode "), want: map[string]string{"words_observed": "3", "words_exact": "true"}},
		{name: "a word too few", spec: words, chunks: say(own + " code code"), want: map[string]string{"words_observed": "2", "words_exact": "false"}},
		{name: "a word too many", spec: words, chunks: say(own + " code code code code"), want: map[string]string{"words_observed": "4", "words_exact": "false"}},
		{name: "another word", spec: words, chunks: say(own + " code Code code"), want: map[string]string{"words_observed": "3", "words_exact": "false"}},
		{name: "words without the marker", spec: words, chunks: say("code code code"), want: map[string]string{"words_observed": "3", "words_exact": "false"}},
		{name: "a replacement character", spec: words, chunks: say(own + " code code cod\ufffd"), want: map[string]string{"words_exact": "false"}},
		{name: "no visible text", spec: words, chunks: []Chunk{Reasoning(1*ms, "r"), Done(2 * ms)}, want: map[string]string{"words_observed": "0", "words_exact": "false", "canary_state": "null"}},
	})
}

// Answers that are no event stream, and connections that end: part B.
func TestOutcomeOfExchanges(t *testing.T) {
	stream := []Chunk{Content(1*ms, "a")}
	cases := []struct {
		name string
		give func(*Attempt)
		want string // outcome|fault_class|event_stream
	}{
		{"not dispatched", func(a *Attempt) { a.Row(0) }, "not_dispatched|null|null"},
		{"connect failed", func(a *Attempt) { a.Sent(0, 0, "").HTTPStatus = nil; a.Row(0).End = "connect_failed" }, "connect_failed|null|null"},
		{"TLS failed", func(a *Attempt) { a.Sent(0, 0, "").HTTPStatus = nil; a.Row(0).End = "tls_failed" }, "connect_failed|null|null"},
		{"B02 closed without an answer", func(a *Attempt) { a.Sent(0, 0, "").HTTPStatus = nil; a.Row(0).End = "eof" }, "connection_reset|null|null"},
		{"B04 silence before the first byte", func(a *Attempt) { a.Sent(0, 0, "").HTTPStatus = nil; a.Row(0).End = "idle_timeout" }, "idle_timeout|null|null"},
		{"B04 silence in the stream", func(a *Attempt) { a.Stream(0, stream...); a.Row(0).End = "idle_timeout" }, "idle_timeout|null|true"},
		{"B05 the cell's time is over", func(a *Attempt) { a.Stream(0, stream...); a.Row(0).End = "outer_timeout" }, "outer_timeout|null|true"},
		{"B19 reset in the stream", func(a *Attempt) { a.Stream(0, stream...); a.Row(0).End = "connection_reset" }, "connection_reset|null|true"},
		{"interrupted", func(a *Attempt) { a.Stream(0, stream...); a.Row(0).End = "interrupted" }, "interrupted|null|true"},
		{"A29 a line over the bound", func(a *Attempt) { a.Stream(0, stream...); a.Row(0).End = "protocol" }, "protocol|null|true"},
		{"A36b done counts, whatever follows", func(a *Attempt) { a.Stream(0, append(stream, Done(2*ms))...); a.Row(0).End = "connection_reset" }, "complete|null|true"},
		{"A32 plain JSON", func(a *Attempt) { a.Refuse(0, 200, `{"choices":[{"message":{"content":"x"}}]}`) }, "protocol|null|false"},
		{"an error object with status 200", func(a *Attempt) { a.Refuse(0, 200, `{"error":{"message":"boom"}}`) }, "in_band_error|null|false"},
		{"B01 too many requests", func(a *Attempt) { a.Refuse(0, 429, `slow down`) }, "refused_rate_limited|null|false"},
		{"B08 context refused", func(a *Attempt) {
			a.Refuse(0, 400, `{"error":{"message":"This model's maximum context length is 327680 tokens. However, you requested 327681 tokens (311297 in the messages, 16384 in the completion).","type":"BadRequestError","code":400}}`)
		}, "refused_context|null|false"},
		{"B09 the KV pool is too small", func(a *Attempt) {
			a.Refuse(0, 400, `{"object":"error","message":"Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens)"}`)
		}, "refused_kv_pool|null|false"},
		{"B10 a refusal inside a stream", func(a *Attempt) {
			a.Stream(0, Role(1*ms), Raw(2*ms, `{"error":{"code":400,"message":"request (40000 tokens) exceeds the available context size (32768 tokens)","type":"exceed_context_size_error","n_prompt_tokens":40000,"n_ctx":32768}}`), Done(3*ms))
		}, "refused_context|null|true"},
		{"the same after output", func(a *Attempt) {
			a.Stream(0, Content(1*ms, "a"), Raw(2*ms, `{"error":{"message":"request (40000 tokens) exceeds the available context size (32768 tokens)","type":"exceed_context_size_error"}}`), Done(3*ms))
		}, "in_band_error|null|true"},
		{"B15 no token", func(a *Attempt) { a.Refuse(0, 401, `{"error":"Unauthorized"}`) }, "refused_auth|null|false"},
		{"out of memory", func(a *Attempt) { a.Refuse(0, 500, `{"error":{"message":"CUDA out of memory. Tried to allocate"}}`) }, "refused_unclassified|gpu_oom|false"},
		{"a redirect", func(a *Attempt) { a.Refuse(0, 302, ``) }, "protocol|null|false"},
	}
	var specs []CellSpec
	for i := range cases {
		specs = append(specs, CellSpec{ID: fmt.Sprintf("c%d", i), Arm: "a"})
	}
	run := NewRun(t, Plan(t, specs...))
	for i, c := range cases {
		c.give(run.Cell(specs[i].ID))
	}
	db := openDB(t)
	load(t, db, run.Write())
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := facts(t, db, specs[i].ID, "outcome", "fault_class", "event_stream")
			if text := fmt.Sprintf("%s|%s|%s", got["outcome"], got["fault_class"], got["event_stream"]); text != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
		})
	}
}
