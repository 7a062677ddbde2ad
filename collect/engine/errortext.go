package engine

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Bounds of what is looked at of an error body, in bytes. Engines put the reason
// first; a longer text is mostly the echoed request, which can be a prompt of a
// megabyte.
const (
	maxErrorText = 64 << 10 // the text the patterns see
	maxErrorWord = 8 << 10  // a type, a code, one reason of a list
)

// errorText is an error body brought to one shape.
type errorText struct {
	kind   string // type or error_type
	text   string // message, code and param; the body itself when it is not JSON
	status int64  // numeric code in the body; 0 without one
	prompt *int64 // n_prompt_tokens
	limit  *int64 // n_ctx
}

// readError accepts the envelopes of engines.md section 4.1: an object at error,
// a string at error, or the members at the top; and FastAPI's detail. It holds
// less than twice the body, whatever the body is.
func readError(body []byte) errorText {
	var top envelope
	if json.Unmarshal(body, &top) != nil || !isObject(body) {
		return errorText{text: string(body[:min(len(body), maxErrorText)])}
	}
	m := top.members
	if inner := top.Error.members; inner != nil {
		m = *inner
	} else if top.Error.text != "" {
		m.Message.text = strings.TrimPrefix(m.Message.text+"\n"+top.Error.text, "\n")
	}
	e := errorText{kind: m.Type.text, prompt: m.Prompt.count(), limit: m.Context.count()}
	if e.kind == "" {
		e.kind = m.ErrorType.text
	}
	parts := []string{m.Message.text, m.Code.text, m.Param.text, m.Detail.text}
	for _, entry := range m.Detail.entries {
		parts = append(parts, entry.Message.text)
	}
	var text strings.Builder
	for _, part := range parts {
		if part != "" && text.Len() < maxErrorText {
			text.WriteString(part + "\n")
		}
	}
	e.text = strings.TrimSuffix(text.String(), "\n")
	for _, status := range []scalar{m.HTTPStatus, m.Code} {
		if n := status.count(); n != nil && e.status == 0 {
			e.status = *n
		}
	}
	return e
}

// envelope is an error body as a JSON object.
type envelope struct {
	members
	Error failure `json:"error"`
}

// members are the members of an error object that mean something. Their names
// are matched without regard to case, which no engine's names are told by.
type members struct {
	Type       scalar `json:"type"`
	ErrorType  scalar `json:"error_type"`
	Message    prose  `json:"message"`
	Code       scalar `json:"code"`
	Param      scalar `json:"param"`
	HTTPStatus scalar `json:"http_status_code"`
	Prompt     scalar `json:"n_prompt_tokens"`
	Context    scalar `json:"n_ctx"`
	Detail     detail `json:"detail"`
}

// The types below read a member where it stands: encoding/json would copy it
// first. A value of another type than theirs is left alone, never an error; of a
// member that stands there several times the first counts, so that repeating it
// costs nothing.

// once says whether a member stands there for the first time.
type once bool

func (o *once) first() bool {
	was := *o
	*o = true
	return !bool(was)
}

// failure is the member error: an object, or a text.
type failure struct {
	once
	members *members
	text    string
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *failure) UnmarshalJSON(raw []byte) error {
	if !f.first() {
		return nil
	}
	f.text = text(raw, maxErrorText)
	var inner members
	if isObject(raw) && json.Unmarshal(raw, &inner) == nil {
		f.members = &inner
	}
	return nil
}

// prose is a text of some length.
type prose struct {
	once
	text string
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *prose) UnmarshalJSON(raw []byte) error {
	if p.first() {
		p.text = text(raw, maxErrorText)
	}
	return nil
}

// scalar is a short text or a number.
type scalar struct {
	once
	text, number string
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *scalar) UnmarshalJSON(raw []byte) error {
	if !s.first() {
		return nil
	}
	s.text = text(raw, maxErrorWord)
	if s.text == "" && len(raw) < 32 {
		s.number = string(raw)
	}
	return nil
}

// count is a positive whole number, written as such or as a text.
func (s scalar) count() *int64 {
	for _, written := range []string{s.number, s.text} {
		if n := wholeNumber(written); n != nil && *n > 0 {
			return n
		}
	}
	return nil
}

// detail is FastAPI's detail: a text, or a list whose entries have a msg. The
// rest of an entry echoes the request and must not be classified. Entries beyond
// the array are skipped.
type detail struct {
	once
	text    string
	entries [16]struct {
		Message reason `json:"msg"`
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *detail) UnmarshalJSON(raw []byte) error {
	if d.first() {
		d.text = text(raw, maxErrorText)
		_ = json.Unmarshal(raw, &d.entries) // a detail of another shape has no entries
	}
	return nil
}

// reason is the msg of one entry.
type reason struct {
	once
	text string
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *reason) UnmarshalJSON(raw []byte) error {
	if r.first() {
		r.text = text(raw, maxErrorWord)
	}
	return nil
}

// isObject tells an object from every other JSON value.
func isObject(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{'
}

// text is a JSON string up to limit bytes of its written form, or empty for any
// other value. Bytes that are no UTF-8 read as "?": encoding/json would make
// three of each.
func text(raw []byte, limit int) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	written := bytes.ToValidUTF8(raw[:min(len(raw), limit)], []byte("?"))
	if len(raw) > limit {
		written = closeString(written)
	}
	var s string
	if json.Unmarshal(written, &s) != nil {
		return ""
	}
	return s
}

// closeString ends a JSON string that was cut anywhere, before the escape that
// the cut may have split.
func closeString(cut []byte) []byte {
	const longestEscape = len(`\u0000`)
	whole := append(cut, '"')
	for n := len(cut); n > max(0, len(cut)-longestEscape); n-- {
		whole[n] = '"'
		if json.Valid(whole[:n+1]) {
			return whole[:n+1]
		}
	}
	return nil
}

// addNumbers fills in what the body states in members of its own.
func (e errorText) addNumbers(n *Numbers) {
	if n.Prompt == nil {
		n.Prompt = e.prompt
	}
	if n.Limit == nil {
		n.Limit = e.limit
	}
}
