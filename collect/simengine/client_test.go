package simengine

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// quick is a configuration whose requests take milliseconds.
func quick(t *testing.T, name string) Config {
	t.Helper()
	p, ok := LookupProfile(name)
	if !ok {
		t.Fatalf("no profile %s", name)
	}
	return Config{Profile: p, Model: "sim-model", TimeScale: 1000, OutputScale: 0.02, Seed: 7}
}

// started is an engine under test.
type started struct {
	*Engine
	addr string
	stop func()
}

// start serves cfg until the test ends.
func start(t *testing.T, cfg Config) started {
	t.Helper()
	e, base, stop, err := Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return started{e, strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/v1"), stop}
}

// prompt is a prompt with a marker; words 0 asks for a summary.
func prompt(seed, index, words int) string {
	task := "Sum up the list in one line."
	if words > 0 {
		task = fmt.Sprintf("Write the lowercase word code exactly %d times.", words)
	}
	filler := strings.Repeat("exactly as water meets stone ", 40)
	return fmt.Sprintf("ASSAY_REQ_%d_%05d\n%s\n%s\n%s", seed, index, task, filler, task)
}

// chatBody is a streaming request body.
func chatBody(text string, maxTokens int) string {
	return fmt.Sprintf(`{"model":"sim-model","messages":[{"role":"user","content":%s}],"stream":true,`+
		`"stream_options":{"include_usage":true},"max_tokens":%d,"temperature":0.6,"top_p":0.95,"reasoning_effort":"max"}`,
		quoted(text), maxTokens)
}

// wire is a raw connection that has sent a request.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
}

// dial sends one chat request on a connection of its own.
func (s started) dial(t *testing.T, body string) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: sim\r\nConnection: close\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	return &wire{conn, bufio.NewReader(conn)}
}

// head reads the status line and the headers.
func (w *wire) head() (status string, header map[string]string, err error) {
	header = map[string]string{}
	status, err = w.in.ReadString('\n')
	for err == nil {
		var line string
		line, err = w.in.ReadString('\n')
		if line == "\r\n" {
			break
		}
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		header[key] = value
	}
	return strings.TrimSpace(status), header, err
}

// chunk reads one HTTP chunk; the last one is "".
func (w *wire) chunk() (string, error) {
	line, err := w.in.ReadString('\n')
	if err != nil {
		return "", io.ErrUnexpectedEOF
	}
	size, err := strconv.ParseInt(strings.TrimSuffix(line, "\r\n"), 16, 64)
	if err != nil {
		return "", err
	}
	data := make([]byte, size+2)
	if _, err := io.ReadFull(w.in, data); err != nil {
		return "", io.ErrUnexpectedEOF
	}
	return string(data[:size]), nil
}

// reply is a stream as it was on the wire.
type reply struct {
	status   string
	header   map[string]string
	events   []string // payloads
	clean    bool     // the last HTTP chunk came
	trailing int      // bytes after it
}

// read reads a whole stream.
func (w *wire) read(t *testing.T) reply {
	t.Helper()
	var r reply
	var err error
	if r.status, r.header, err = w.head(); err != nil {
		return r
	}
	for {
		data, err := w.chunk()
		if err != nil {
			return r
		}
		if data == "" {
			r.clean = true
			rest, _ := io.ReadAll(w.in)
			r.trailing = len(rest)
			return r
		}
		payload, ok := strings.CutPrefix(data, "data: ")
		if !ok || strings.Count(payload, "\n") != 2 || !strings.HasSuffix(payload, "\n\n") {
			t.Fatalf("chunk %q is not exactly one event", data)
		}
		r.events = append(r.events, strings.TrimSuffix(payload, "\n\n"))
	}
}

// payload is one decoded event.
type payload struct {
	Choices []struct {
		Delta struct {
			Role             string
			Reasoning        string
			ReasoningContent string `json:"reasoning_content"`
			Content          string
		}
		FinishReason *string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Total      int64 `json:"total_tokens"`
		Details    struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	Error any
}

// story is a stream told in short.
type story struct {
	Kinds              string // r o f u e d: role, output, finish, usage, error, done
	Reasoning, Visible string
	Outputs            int
	Finish             string
	Prompt, Completion int64
	Total, Thought     int64
}

// tell decodes a stream.
func (r reply) tell(t *testing.T) story {
	t.Helper()
	var s story
	for _, text := range r.events {
		if text == "[DONE]" {
			s.Kinds += "d"
			continue
		}
		var p payload
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatalf("event %q: %v", text, err)
		}
		switch {
		case p.Error != nil:
			s.Kinds += "e"
		case p.Usage != nil:
			s.Kinds += "u"
			s.Prompt, s.Completion, s.Total, s.Thought = p.Usage.Prompt, p.Usage.Completion, p.Usage.Total, p.Usage.Details.Reasoning
		case p.Choices[0].FinishReason != nil:
			s.Kinds += "f"
			s.Finish = *p.Choices[0].FinishReason
		case p.Choices[0].Delta.Role != "":
			s.Kinds += "r"
		default:
			s.Kinds += "o"
			s.Outputs++
			s.Reasoning += p.Choices[0].Delta.Reasoning + p.Choices[0].Delta.ReasoningContent
			s.Visible += p.Choices[0].Delta.Content
		}
	}
	return s
}

// ask sends a prompt and reads the whole answer.
func (s started) ask(t *testing.T, text string) reply {
	t.Helper()
	return s.dial(t, chatBody(text, 16384)).read(t)
}

// get fetches a path.
func (s started) get(t *testing.T, path string) (int, http.Header, string) {
	t.Helper()
	response, err := http.Get("http://" + s.addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(body)
}

// scrape parses /metrics.
func (s started) scrape(t *testing.T) families {
	t.Helper()
	_, _, text := s.get(t, "/metrics")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	found, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// families is a parsed page.
type families map[string]*dto.MetricFamily

// value sums the series of a counter or gauge whose labels include the pair
// given, if any.
func (f families) value(t *testing.T, name string, pair ...string) float64 {
	t.Helper()
	family, ok := f[name]
	if !ok {
		t.Fatalf("no family %s", name)
	}
	var sum float64
	for _, m := range family.Metric {
		match := len(pair) == 0
		for _, l := range m.Label {
			match = match || l.GetName() == pair[0] && l.GetValue() == pair[1]
		}
		if match {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

// histogram is the one series of a histogram.
func (f families) histogram(t *testing.T, name string) *dto.Histogram {
	t.Helper()
	family, ok := f[name]
	if !ok || len(family.Metric) != 1 {
		t.Fatalf("no single histogram %s", name)
	}
	return family.Metric[0].Histogram
}

// eventually polls until the condition holds; it fails only when that never
// happens.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 2000 {
		if holds() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}
