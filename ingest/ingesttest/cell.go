package ingesttest

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"assay/collect/plan"
	"assay/collect/record"
)

// Attempt is one attempt at a cell under construction.
type Attempt struct {
	Plan   plan.Cell
	Number int
	State  string // run state in the journal; "complete" unless set
	// Killed leaves the spool in place and writes no attempt_end.
	Killed bool
	// StartNs is the attempt's start on the run's clock.
	StartNs int64
	// Figures are added to those of the attempt_end entry.
	Figures map[string]int64

	Requests []record.Request
	Events   []record.Event
	Pages    []record.Page
	Answers  []record.Answer
	GPU      []record.GPUSample
	Cgroup   []record.CgroupSample
	Host     []record.HostSample
	Problems []record.Problem
}

// Row returns the row of a request, to be changed in place. A request that
// was given nothing is not dispatched.
func (a *Attempt) Row(index int64) *record.Request {
	for i := range a.Requests {
		if a.Requests[i].Index == index {
			return &a.Requests[i]
		}
	}
	a.Requests = append(a.Requests, record.Request{
		Index: index, Marker: Marker(a.Plan, index), TemplateVersion: "test/v1", PromptSHA256: strings.Repeat("a", 64), PromptChars: 3072, BodyBytes: 3200,
		End: "not_dispatched", EndDetail: "cutoff",
	})
	return &a.Requests[len(a.Requests)-1]
}

// T0Ns is when a request starts unless the test moves it: one second after
// the attempt's start for each round of its concurrency.
func (a *Attempt) T0Ns(index int64) int64 {
	return a.StartNs + int64(time.Second)*(1+index/a.Plan.Concurrency)
}

// Sent marks a request as dispatched with a response head of this status.
func (a *Attempt) Sent(index, status int64, contentType string) *record.Request {
	row := a.Row(index)
	worker, t0, zero := index%a.Plan.Concurrency, a.T0Ns(index), int64(0)
	unix := AnchorUnixNs + t0
	row.Worker, row.T0Ns, row.T0UnixNs = &worker, &t0, &unix
	row.ConnectNs, row.WroteNs, row.FirstByteNs, row.HeadNs = &zero, &zero, &zero, &zero
	row.HTTPStatus, row.HTTPVersion, row.ContentType = &status, "HTTP/1.1", contentType
	row.End, row.EndDetail = "done", ""
	return row
}

// Stream gives a request an event stream over HTTP 200. Its end is done when a
// chunk is [DONE], else eof. A read is numbered by its order.
func (a *Attempt) Stream(index int64, chunks ...Chunk) *Attempt {
	row := a.Sent(index, 200, "text/event-stream; charset=utf-8")
	row.End = "eof"
	read, last := int64(0), int64(0)
	for seq, c := range chunks {
		if !c.SameAs || seq == 0 {
			read++
		}
		at := int64(c.At + c.Lag)
		event := record.Event{
			Request: index, Seq: int64(seq), ReadSeq: read, ReadNs: at, ReadUnixNs: *row.T0UnixNs + at,
			ReadBytes: int64(len(c.Data) + 8), Name: c.Name, Payload: []byte(c.Data),
		}
		if !c.NoStamp {
			kernel := *row.T0UnixNs + int64(c.At)
			event.KernelUnixNs = &kernel
		}
		if c.Data == "[DONE]" {
			row.End = "done"
		}
		last = max(last, at)
		a.Events = append(a.Events, event)
	}
	row.EventsSeen = int64(len(chunks))
	row.LastByteNs, row.CloseNs, row.EndNs = &last, &last, &last
	return a
}

// Refuse answers a request with an error status and a JSON body.
func (a *Attempt) Refuse(index, status int64, body string) *Attempt {
	row := a.Sent(index, status, "application/json")
	end := int64(time.Millisecond)
	row.End, row.Body, row.EndNs, row.CloseNs = "eof", []byte(body), &end, &end
	return a
}

// Fill answers every planned request that has no row yet with a sound stream:
// its marker and, in controlled cells, the asked-for words.
func (a *Attempt) Fill() *Attempt {
	for index := range a.Plan.Requests {
		if a.has(index) {
			continue
		}
		text := Marker(a.Plan, index) + " a short summary"
		if n := a.Plan.Request.ResponseWords; n > 0 {
			text = Marker(a.Plan, index) + strings.Repeat(" code", int(n))
		}
		a.Stream(index, Answer(200*time.Millisecond, text)...)
	}
	return a
}

func (a *Attempt) has(index int64) bool {
	for i := range a.Requests {
		if a.Requests[i].Index == index {
			return true
		}
	}
	return false
}

// Page adds a scrape of the metrics page, answered 1 ms after at.
func (a *Attempt) Page(phase string, at time.Duration, body string) *Attempt {
	ok := int64(200)
	sum := sha256.Sum256([]byte(body))
	start := a.StartNs + int64(at)
	a.Pages = append(a.Pages, record.Page{
		Seq: int64(len(a.Pages)), Phase: phase, StartNs: start, EndNs: start + int64(time.Millisecond), StartUnixNs: AnchorUnixNs + start,
		HTTPStatus: &ok, ContentType: "text/plain", BodySHA256: hex.EncodeToString(sum[:]), Body: []byte(body),
	})
	return a
}

// Identity adds the answers to the identity questions of one phase.
func (a *Attempt) Identity(phase, servedID, version string, maxModelLen int64) *Attempt {
	ok := int64(200)
	add := func(path, body string) {
		a.Answers = append(a.Answers, record.Answer{Phase: phase, Path: path, AtNs: a.StartNs, AtUnixNs: AnchorUnixNs + a.StartNs, HTTPStatus: &ok, Body: []byte(body)})
	}
	add("/v1/models", modelsBody(servedID, maxModelLen))
	add("/version", `{"version":`+quote(version)+`}`)
	return a
}
