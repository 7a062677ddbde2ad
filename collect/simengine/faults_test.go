package simengine

import (
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// faulty starts an engine with one fault.
func faulty(t *testing.T, spec string) started {
	cfg := quick(t, "glm53-baseline")
	cfg.Faults = []string{spec}
	return start(t, cfg)
}

func TestStreamFaultsHitTheirRequestsOnly(t *testing.T) {
	own := "ASSAY_REQ_9_00002"
	cases := []struct {
		spec string
		hit  func(r reply, s story) bool
		// reason is what the engine counts the hit request under.
		reason string
	}{
		{"foreign_marker", func(r reply, s story) bool {
			return r.clean && strings.HasPrefix(s.Visible, own+" ") && strings.Contains(s.Visible, "ASSAY_REQ_9_00003") && s.Finish == "stop"
		}, "stop"},
		{"no_usage", func(r reply, s story) bool { return r.clean && strings.HasSuffix(s.Kinds, "ofd") }, "stop"},
		{"missing_done", func(r reply, s story) bool { return r.clean && strings.HasSuffix(s.Kinds, "ofu") }, "stop"},
		{"finish_length", func(r reply, s story) bool { return r.clean && s.Finish == "length" }, "length"},
		{"in_band_error=3", func(r reply, s story) bool { return r.clean && s.Kinds == "rooed" }, "error"},
		{"cut=5", func(r reply, s story) bool { return !r.clean && s.Kinds == "roooo" }, "abort"},
		{"truncated=3", func(r reply, s story) bool { return r.clean && s.Kinds == "roo" }, "abort"},
		{"reset=5", func(r reply, s story) bool { return !r.clean }, "abort"},
		{"only_done", func(r reply, s story) bool { return r.clean && s.Kinds == "d" }, "abort"},
		{"usage_after_done", func(r reply, s story) bool { return r.clean && strings.HasSuffix(s.Kinds, "ofdu") }, "stop"},
		{"one_token", func(r reply, s story) bool {
			return r.clean && s.Kinds == "rofud" && s.Visible == own && s.Completion == 1
		}, "stop"},
		{"reasoning_only", func(r reply, s story) bool {
			return r.clean && s.Visible == "" && s.Finish == "length" && s.Thought == s.Completion
		}, "length"},
		{"byte_by_byte", func(r reply, s story) bool {
			return r.clean && strings.HasPrefix(s.Visible, own+" ") && s.Finish == "stop"
		}, "stop"},
		{"burst", func(r reply, s story) bool {
			return r.clean && strings.HasSuffix(s.Kinds, "ofud") && s.Finish == "stop"
		}, "stop"},
		{"cut=100000", func(r reply, s story) bool { return !r.clean && strings.HasSuffix(s.Kinds, "oo") }, "abort"},
		{"role_only_delay", func(r reply, s story) bool { return r.clean && strings.HasSuffix(s.Kinds, "ofud") }, "stop"},
	}
	for _, c := range cases {
		t.Run(c.spec, func(t *testing.T) {
			e := faulty(t, c.spec+"@index=2,seed=9")
			for _, other := range []string{prompt(9, 1, 0), prompt(8, 2, 0), "no marker"} {
				r := e.ask(t, other)
				if s := r.tell(t); !r.clean || !strings.HasSuffix(s.Kinds, "ofud") || s.Finish != "stop" {
					t.Errorf("another request was hit: %s", s.Kinds)
				}
			}
			r := e.ask(t, prompt(9, 2, 0))
			if s := r.tell(t); r.status != "HTTP/1.1 200 OK" || !c.hit(r, s) {
				t.Errorf("clean %v, events %s, finish %s, visible %q", r.clean, s.Kinds, s.Finish, s.Visible)
			}
			want := map[string]float64{"stop": 3}
			want[c.reason]++
			eventually(t, "the request is counted as "+c.reason, func() bool {
				return e.scrape(t).value(t, "vllm:request_success_total", "finished_reason", c.reason) == want[c.reason]
			})
			if got := e.scrape(t).value(t, "vllm:request_success_total"); got != 4 {
				t.Errorf("%g requests ended", got)
			}
		})
	}
}

func TestRoleOnlyDelaySendsTheRoleBeforeThePrefill(t *testing.T) {
	cfg := slow(t)
	cfg.Profile.MaxRunning = 1
	cfg.Faults = []string{"role_only_delay"}
	e := start(t, cfg)
	e.dial(t, chatBody(prompt(1, 0, 0), 200_000)).streaming(t, 2)
	// The second request cannot be scheduled, yet its role chunk comes.
	e.dial(t, chatBody(prompt(1, 1, 0), 1000)).streaming(t, 1)
	if got := e.gauges(t); got[1] != 1 {
		t.Errorf("%g requests wait", got[1])
	}
}

func TestKVRefusalAnswersBeforeTheStream(t *testing.T) {
	e := faulty(t, "kv_refusal@nth=2")
	if r := e.ask(t, prompt(1, 0, 0)); !r.clean {
		t.Error("the first request was hit")
	}
	status, body := e.send(t, "POST", "/v1/chat/completions", chatBody(prompt(1, 1, 0), 100))
	if status != 400 || !strings.Contains(body, "exceeds the maximum allowed length (") {
		t.Errorf("status %d, body %s", status, body)
	}
}

func TestRestartBeginsANewProcess(t *testing.T) {
	cfg := slow(t)
	cfg.Faults = []string{"restart=2"}
	e := start(t, cfg)
	first := e.dial(t, chatBody(prompt(1, 0, 0), 1000))
	first.streaming(t, 3)
	e.dial(t, chatBody(prompt(1, 1, 0), 1000)).streaming(t, 1)
	before := e.scrape(t)
	e.dial(t, chatBody(prompt(1, 2, 0), 1000)).streaming(t, 2)
	if r := first.read(t); r.clean {
		t.Error("a stream outlived its process")
	}
	after := e.scrape(t)
	for _, name := range []string{"process_start_time_seconds", "vllm:generation_tokens_created"} {
		if after.value(t, name) <= before.value(t, name) {
			t.Errorf("%s did not rise", name)
		}
	}
	if got := after.value(t, "vllm:num_requests_running"); got != 1 {
		t.Errorf("%g requests run", got)
	}
	if got := after.value(t, "vllm:prompt_tokens_total"); got != float64(promptTokens(prompt(1, 2, 0))) {
		t.Errorf("counters did not begin again: %g prompt tokens", got)
	}
}

func TestEngineDiesAndNothingListens(t *testing.T) {
	cfg := slow(t)
	cfg.Faults = []string{"engine_dies=1"}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- e.Serve(context.Background(), listener) }()
	s := started{Engine: e, addr: listener.Addr().String()}
	first := s.dial(t, chatBody(prompt(1, 0, 0), 1000))
	first.streaming(t, 2)
	if r := s.ask(t, prompt(1, 1, 0)); r.status != "" {
		t.Errorf("the killing request got %q", r.status)
	}
	for {
		if _, err := first.chunk(); err != nil {
			break
		}
	}
	if err := <-ended; !errors.Is(err, ErrDied) {
		t.Errorf("Serve returned %v", err)
	}
	if conn, err := net.Dial("tcp", s.addr); err == nil {
		_ = conn.Close()
		t.Error("something still listens")
	}
}

// fieldCases are the ids of the field cases that a stream or a server shows.
var fieldCases = strings.Fields(`A01 A02 A03 A04 A06 A07 A09 A11 A12 A13 A14 A15 A16 A17 A18 A19 A20 A21 A22 A23 A25 A26 A27 A29 A30 A31 A32 A33 A34 A36
	B01 B02 B04 B05 B07 B08 B09 B10 B11 B12 B14 B15 B16 B17 B19`)

func TestEveryFieldCaseHasAFault(t *testing.T) {
	played, names := map[string]bool{}, map[string]bool{}
	for _, kind := range FaultKinds() {
		if names[kind.Name] {
			t.Errorf("two faults are called %s", kind.Name)
		}
		names[kind.Name] = true
		for id := range strings.FieldsSeq(kind.Cases) {
			played[id] = true
		}
		if !strings.Contains(FaultList(), "\n  "+kind.Name) && !strings.HasPrefix(FaultList(), "  "+kind.Name) {
			t.Errorf("the list lacks %s", kind.Name)
		}
	}
	if diff := cmp.Diff(fieldCases, slices.Sorted(maps.Keys(played))); diff != "" {
		t.Errorf("cases and faults (-cases +faults):\n%s", diff)
	}
	text, err := os.ReadFile("../../../shared/cases.md")
	if err != nil {
		t.Skip("the field cases are not beside the repository")
	}
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^### ([AB][0-9]{2}) `).FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, m[1])
	}
	if diff := cmp.Diff(listed, fieldCases); diff != "" {
		t.Errorf("cases.md and fieldCases (-cases.md +fieldCases):\n%s", diff)
	}
}

func TestGoesOnHoldsTheRequestAfterItsClientHasLeft(t *testing.T) {
	cfg := slow(t)
	cfg.Faults = []string{"goes_on=300"}
	e := start(t, cfg)
	leaving := e.dial(t, chatBody(prompt(1, 0, 0), 200_000))
	leaving.streaming(t, 2)
	left := time.Now()
	_ = leaving.conn.Close()
	eventually(t, "the request is over", func() bool { return e.gauges(t)[0] == 0 })
	if took := time.Since(left); took < 300*time.Millisecond {
		t.Errorf("the engine went on for %s only", took)
	}
}

func TestSickEngineFailsItsHealthCheckOnly(t *testing.T) {
	e := faulty(t, "health_fails=1")
	for i, want := range []int{200, 503} {
		e.ask(t, prompt(1, i, 0))
		if status, _, _ := e.get(t, "/health"); status != want {
			t.Errorf("after request %d: status %d, want %d", i, status, want)
		}
	}
	if status, _, _ := e.get(t, "/metrics"); status != 200 {
		t.Errorf("the metrics page answers %d", status)
	}
}

func TestFaultSpecificationsAreChecked(t *testing.T) {
	for _, kind := range FaultKinds() {
		set := 0
		for _, hook := range []bool{kind.edit != nil, kind.reply != nil, kind.seize != nil, kind.early != "", kind.whole != nil} {
			if hook {
				set++
			}
		}
		if set != 1 || kind.Description == "" || ParseFault(kind.Name) != nil {
			t.Errorf("fault %s has %d hooks: %v", kind.Name, set, ParseFault(kind.Name))
		}
	}
	for spec, want := range map[string]string{
		"nope":             "take one of\n  foreign_marker",
		"no_usage=3":       "no number this fault takes",
		"cut=x":            "no number this fault takes",
		"cut=-1":           "no number this fault takes",
		"cut@index":        "not a whole number",
		"cut@index=1,b=2":  "not seed, index or nth",
		"cut@":             "not a whole number",
		"restart@index=1":  "takes no selector",
		"engine_dies@nth=": "takes no selector",
	} {
		if err := ParseFault(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

func TestTwoEnginesShareNothing(t *testing.T) {
	a, b := start(t, quick(t, "glm53-baseline")), start(t, quick(t, "glm53-candidate"))
	a.ask(t, prompt(1, 0, 0))
	a.ask(t, prompt(1, 1, 0))
	b.ask(t, prompt(1, 0, 0))
	for e, want := range map[*started]float64{&a: 2, &b: 1} {
		if got := e.scrape(t).value(t, "vllm:request_success_total"); got != want {
			t.Errorf("%g finished, want %g", got, want)
		}
		if got := len(e.Arrivals()); got != int(want)+1 {
			t.Errorf("%d arrivals, want %g", got, want+1)
		}
	}
}

func TestStopLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	cfg := slow(t)
	cfg.Profile.MaxRunning = 1
	e := start(t, cfg)
	streaming := e.dial(t, chatBody(prompt(1, 0, 0), 200_000))
	streaming.streaming(t, 2)
	waiting := e.dial(t, chatBody(prompt(1, 1, 0), 1000))
	if _, _, err := waiting.head(); err != nil {
		t.Fatal(err)
	}
	idle, err := net.Dial("tcp", e.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	e.stop()
	e.stop()
	if r := waiting.read(t); r.clean {
		t.Error("a waiting request ended in order")
	}
	eventually(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
	if err := e.Serve(context.Background(), mustListen(t)); err == nil || !strings.Contains(err.Error(), "make a new one") {
		t.Errorf("a second Serve returned %v", err)
	}
}

// mustListen opens a free port.
func mustListen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestPauseIsNeverEarlyAndCanBeInterrupted(t *testing.T) {
	p, err := newPause()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for range 20 {
		due := monoNow() + int64(300*time.Microsecond)
		if err := p.until(due); err != nil || monoNow() < due {
			t.Fatalf("woke %d ns early: %v", due-monoNow(), err)
		}
	}
	time.AfterFunc(5*time.Millisecond, p.interrupt)
	if err := p.until(monoNow() + int64(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted wait returned %v", err)
	}
	if err := p.until(0); !errors.Is(err, context.Canceled) {
		t.Errorf("wait after the interrupt returned %v", err)
	}
}
