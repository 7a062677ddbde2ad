package simengine

import (
	"strings"
	"time"
)

// eventFaults change how events are written, not what they say.
var eventFaults = []FaultKind{
	{Name: "no_space", Cases: "A26 A36", edit: func(s *script, _ int64) { s.form.event = func(p string) string { return "data:" + p + "\n\n" } },
		Description: "there is no space after data:, nor before [DONE]"},
	{Name: "multi_line_data", Cases: "A26", edit: func(s *script, _ int64) {
		s.form.event = func(p string) string { return dataEvent(strings.Replace(p, ",", ",\ndata: ", 1)) }
	}, Description: "the data of an event stands on two lines"},
	{Name: "crlf", Cases: "A25", edit: func(s *script, _ int64) { s.lineEnds("\r\n") },
		Description: "lines end with CR LF"},
	{Name: "cr", Cases: "A25", edit: func(s *script, _ int64) { s.lineEnds("\r") },
		Description: "lines end with CR alone"},
	{Name: "crlf_cut", Cases: "A25", edit: func(s *script, _ int64) { s.lineEnds("\r\n"); s.form.piece = 1 },
		Description: "lines end with CR LF, every byte is a write of its own"},
	{Name: "byte_by_byte", Cases: "A27", edit: func(s *script, _ int64) { s.form.piece = 1 },
		Description: "every byte is a write of its own: characters, line ends and chunk sizes are split"},
	{Name: "bom", Cases: "A25", edit: func(s *script, _ int64) { s.first(frame{kind: frameOther, raw: "\uFEFF"}) },
		Description: "the stream begins with a byte order mark"},
	{Name: "comments", Cases: "A23", edit: func(s *script, _ int64) {
		s.first(frame{kind: frameOther, raw: ":\n\n: ping\n\n: keepalive\ndata:\n\n"})
		s.form.event = func(p string) string { return ": keepalive\n" + dataEvent(p) }
	}, Description: "comments of every form and an empty data field stand before and between the events"},
	{Name: "comments_while_waiting", Cases: "A23", Default: 200, edit: commentsWhileWaiting,
		Description: "for ten times N ms only a comment comes, then the stream"},
	{Name: "role_everywhere", edit: func(s *script, _ int64) {
		for i, f := range s.frames {
			s.frames[i].payload = strings.Replace(f.payload, `"delta":{"`+s.chunk.field, `"delta":{"role":"assistant","`+s.chunk.field, 1)
			s.frames[i].payload = strings.Replace(s.frames[i].payload, `"delta":{"content`, `"delta":{"role":"assistant","content`, 1)
		}
	}, Description: "every delta names the role"},
	{Name: "done_blank", edit: func(s *script, _ int64) {
		for i, f := range s.frames {
			if f.kind == frameDone {
				s.frames[i].payload = donePayload + " "
			}
		}
	}, Description: "a blank follows [DONE]"},
	{Name: "bad_json", edit: func(s *script, _ int64) { s.insert(len(s.frames)-1, frame{kind: frameOther, payload: `{"choices":[`}) },
		Description: "one event before [DONE] is no whole JSON"},
	{Name: "bad_utf8", edit: func(s *script, _ int64) {
		s.insert(len(s.frames)-1, frame{kind: frameOther, payload: "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xff\"}}]}"})
	}, Description: "one event before [DONE] holds a byte that is no UTF-8"},
	{Name: "joined_events", edit: joinEvents,
		Description: "every two events come in one HTTP chunk, written in three pieces"},
}

// lineEnds ends lines otherwise.
func (s *script) lineEnds(end string) {
	s.form.event = func(p string) string { return "data: " + p + end + end }
}

// first puts a frame before all others.
func (s *script) first(f frame) { s.insert(0, f) }

// commentsWhileWaiting keeps the connection busy before the first event.
func commentsWhileWaiting(s *script, n int64) {
	comments := make([]frame, 10)
	for i := range comments {
		comments[i] = frame{kind: frameOther, raw: ": waiting\n\n", wait: time.Duration(n) * time.Millisecond}
	}
	s.insert(0, comments...)
}

// joinEvents puts pairs of events that follow each other into one frame: the
// second one's time is that of the first, as with a server that buffers a little.
func joinEvents(s *script, _ int64) {
	event := s.form.event
	for i := 1; i+1 < len(s.frames); i += 2 {
		second := s.frames[i+1]
		if second.last || s.frames[i].last || second.kind != frameOutput {
			continue
		}
		s.frames[i+1].raw = event(s.frames[i].payload) + event(second.payload)
		s.frames[i].silent = true
	}
	s.form.piece = 160
}
