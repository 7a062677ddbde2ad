package ingest

import (
	"bytes"
	"encoding/json"

	"assay/collect/engine"
)

// Outcomes ingest itself gives an error answer (measurement.md section 6).
const (
	outcomeInBandError = "in_band_error"
	outcomeProtocol    = "protocol"
)

// evidence is what decides the outcome of a request whose answer is an error
// or no event stream.
type evidence struct {
	request     int64
	status      int64
	eventStream bool
	body        []byte // of an answer that is no event stream
	errorEvent  []byte // payload of the first error event; nil without one
	outputFirst bool   // output came before that event
}

// classified is the outcome and what the text says about the engine.
type classified struct {
	outcome    string // "" leaves the decision to the stream's events
	faultClass string
	pattern    string
	numbers    engine.Numbers
}

// atLeast says whether the numbers are lower bounds; nil when the text names no
// limit.
func (c classified) atLeast() *bool {
	if c.numbers.LimitOf == "" {
		return nil
	}
	return &c.numbers.AtLeast
}

// classify decides by the error text. A refusal inside a stream of status 200
// counts as the refusal it is as long as nothing was generated (cases.md B10);
// after output it is an error in the stream. An answer of status 200 that is
// no event stream is a protocol error, unless its body is an error object.
func classify(e evidence) classified {
	text := e.body
	if e.errorEvent != nil {
		text = e.errorEvent
	}
	switch {
	case e.status >= 400:
		r := engine.Classify(e.status, text)
		return classified{outcome: r.Outcome, faultClass: r.FaultClass, pattern: r.PatternID, numbers: r.Numbers}
	case e.errorEvent == nil && (e.eventStream || !isErrorObject(e.body)):
		return classified{outcome: outcomeProtocol}
	}
	r := engine.Classify(e.status, text)
	c := classified{outcome: outcomeInBandError, faultClass: r.FaultClass, pattern: r.PatternID, numbers: r.Numbers}
	if !e.outputFirst && r.FaultClass == "" && r.PatternID != "" && r.Outcome != engine.RefusedUnclassified {
		c.outcome = r.Outcome
	}
	return c
}

// isErrorObject reports whether a body is a JSON object with a non-null error
// member, or one that calls itself an error.
func isErrorObject(body []byte) bool {
	var top map[string]json.RawMessage
	if json.Unmarshal(body, &top) != nil {
		return false
	}
	if e := bytes.TrimSpace(top["error"]); len(e) > 0 && !bytes.Equal(e, []byte("null")) {
		return true
	}
	return string(bytes.TrimSpace(top["object"])) == `"error"`
}
