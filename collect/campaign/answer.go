package campaign

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"assay/collect/engine"
	"assay/collect/record"
	"assay/collect/stream"
)

// answer is what the stop rules look at in one request that is over. It is read
// from the stored rows, never from the connection. The database judges the same
// rows again, by its own SQL; what is decided here only ends dispatch.
type answer struct {
	index      int64
	dispatched bool
	end        string // end kind of the exchange
	atNs       int64  // when it was over, on the run's clock; 0 when not dispatched
	terminal   bool   // [DONE] over HTTP 200 and an event stream, without an error
	wrongFirst bool   // visible text does not begin with the own marker
	foreign    string // marker of another request found in it, "" for none
	refusal    string // outcome of a refusal, one of engine.Refused..., "" for none
	pattern    string // what told the refusal or the fault
	fault      string // fault class an error text names, "" for none
	http       string // HTTP version, "" without a head
	reasoning  string // names of the reasoning field on the wire joined by +, "" when there was no reasoning
	usage      string // present or absent at a terminal stream, "" otherwise
}

// lost says whether a planned request was dispatched and has no terminal
// stream, timeouts included (measurement.md section 12). An explicit capacity
// refusal is an answer and has a rule of its own; what the operator cut off was
// not lost by the engine.
func (a answer) lost() bool {
	return a.dispatched && !a.terminal && !slices.Contains(capacityRefusals, a.refusal) && a.end != string(stream.EndInterrupted)
}

// markerShape is a request marker anywhere in a text (measurement.md section 2).
var markerShape = regexp.MustCompile(`ASSAY_REQ_[0-9]+_[0-9]{5}`)

// readAnswer judges one stored request by its row and its events. canaries says
// whether the cell asks for markers.
func readAnswer(row record.Request, events []record.Event, canaries bool) answer {
	a := answer{index: row.Index, dispatched: row.T0Ns != nil, end: row.End, http: row.HTTPVersion}
	if !a.dispatched {
		return a
	}
	a.atNs = *row.T0Ns
	if row.EndNs != nil {
		a.atNs += *row.EndNs
	}
	stream200 := isStream200(row)
	var read chunks
	for i := range events {
		read.add(events[i])
	}
	a.readError(row, stream200, read)
	a.terminal = stream200 && row.End == string(stream.EndDone) && read.failure == nil
	a.reasoning = read.fields()
	if a.terminal {
		a.usage = "absent"
		if read.usage {
			a.usage = "present"
		}
	}
	if canaries {
		a.readMarkers(row.Marker, read)
	}
	return a
}

// faultOf is the fault class that an answer names, "" for none. It looks at
// errors only, and costs little for an answer that has none.
func faultOf(row record.Request, events []record.Event) string {
	var a answer
	var read chunks
	for i := range events {
		if isFailure(events[i]) {
			read.failure = events[i].Payload
			break
		}
	}
	a.readError(row, isStream200(row), read)
	return a.fault
}

func isStream200(row record.Request) bool {
	return row.HTTPStatus != nil && *row.HTTPStatus == 200 && isEventStream(row.ContentType)
}

func isEventStream(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}

// readError classifies an error answer, or an error event. A refusal inside a
// stream counts as one as long as nothing was generated (cases.md B10).
func (a *answer) readError(row record.Request, stream200 bool, read chunks) {
	if row.HTTPStatus == nil {
		return
	}
	text := row.Body
	if read.failure != nil {
		text = read.failure
	}
	inAnswer := *row.HTTPStatus >= 400 || !stream200 && isErrorObject(row.Body)
	if !inAnswer && read.failure == nil {
		return
	}
	r := engine.Classify(*row.HTTPStatus, text)
	a.fault, a.pattern = r.FaultClass, r.PatternID
	if r.FaultClass == "" && (inAnswer || !read.output) && r.PatternID != "" && r.Outcome != engine.RefusedUnclassified {
		a.refusal = r.Outcome
	}
}

// readMarkers looks for the own marker first and for no other anywhere. Only a
// terminal answer can fail to begin with it: one cut off may have been about to.
func (a *answer) readMarkers(own string, read chunks) {
	for _, text := range []string{read.visible.String(), read.hidden.String()} {
		for _, found := range markerShape.FindAllString(text, -1) {
			if found != own && a.foreign == "" {
				a.foreign = found
			}
		}
	}
	first := strings.TrimLeftFunc(read.visible.String(), unicode.IsSpace)
	if !a.terminal || first == "" {
		return
	}
	rest, has := strings.CutPrefix(first, own)
	a.wrongFirst = !has || rest != "" && !unicode.IsSpace([]rune(rest)[0])
}

// chunks adds up the events of one stream.
type chunks struct {
	visible, hidden strings.Builder
	names           []string
	usage, output   bool
	failure         []byte // payload of the first error event
}

// chunk is the part of an event's payload that is looked at.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content          string            `json:"content"`
			Reasoning        string            `json:"reasoning"`
			ReasoningContent string            `json:"reasoning_content"`
			ToolCalls        []json.RawMessage `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
}

// add reads one event. A payload of another shape is passed over: ingest
// reports it.
func (c *chunks) add(e record.Event) {
	if isFailure(e) {
		if c.failure == nil {
			c.failure = e.Payload
		}
		return
	}
	var read chunk
	if json.Unmarshal(e.Payload, &read) != nil {
		return
	}
	c.usage = c.usage || len(read.Usage) > 0 && !bytes.Equal(read.Usage, []byte("null"))
	for _, choice := range read.Choices {
		d := choice.Delta
		c.visible.WriteString(d.Content)
		hidden := d.Reasoning
		if hidden == "" {
			hidden = d.ReasoningContent // the same text under both names counts once
		}
		c.hidden.WriteString(hidden)
		c.name("reasoning", d.Reasoning)
		c.name("reasoning_content", d.ReasoningContent)
		c.output = c.output || d.Content != "" || hidden != "" || len(d.ToolCalls) > 0
	}
}

func (c *chunks) name(field, text string) {
	if text != "" && !slices.Contains(c.names, field) {
		c.names = append(c.names, field)
	}
}

func (c *chunks) fields() string {
	slices.Sort(c.names)
	return strings.Join(c.names, "+")
}

// isFailure reports whether an event says that the request has failed.
func isFailure(e record.Event) bool { return e.Name == "error" || isErrorObject(e.Payload) }

// isErrorObject reports whether a payload is a JSON object with a non-null
// error member, or one that calls itself an error (measurement.md section 3).
func isErrorObject(payload []byte) bool {
	var top struct {
		Error  json.RawMessage `json:"error"`
		Object json.RawMessage `json:"object"`
	}
	if !bytes.Contains(payload, []byte("error")) || json.Unmarshal(payload, &top) != nil {
		return false
	}
	return len(top.Error) > 0 && !bytes.Equal(top.Error, []byte("null")) || string(top.Object) == `"error"`
}
