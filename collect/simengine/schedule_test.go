package simengine

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// slow is a configuration whose requests go on until the client leaves.
func slow(t *testing.T) Config {
	cfg := quick(t, "glm53-baseline")
	cfg.TimeScale, cfg.ChunkInterval, cfg.Chunks = 1, 5*time.Millisecond, 20_000
	cfg.Profile.BaseLatency = 0
	cfg.PrefillScale = 1000
	return cfg
}

// streaming waits until n events of the stream are in.
func (w *wire) streaming(t *testing.T, n int) {
	t.Helper()
	if _, _, err := w.head(); err != nil {
		t.Fatal(err)
	}
	for range n {
		if _, err := w.chunk(); err != nil {
			t.Fatal(err)
		}
	}
}

// gauges reads running, waiting and aborted.
func (s started) gauges(t *testing.T) [3]float64 {
	t.Helper()
	page := s.scrape(t)
	return [3]float64{
		page.value(t, "vllm:num_requests_running"), page.value(t, "vllm:num_requests_waiting"),
		page.value(t, "vllm:request_success_total", "finished_reason", "abort"),
	}
}

func TestAbortFreesTheEngine(t *testing.T) {
	e := start(t, slow(t))
	w := e.dial(t, chatBody(prompt(1, 0, 0), 200_000))
	w.streaming(t, 3)
	page := e.scrape(t)
	if page.value(t, "vllm:num_requests_running") != 1 || page.value(t, "vllm:kv_cache_usage_perc") <= 0 {
		t.Error("a streaming request is not running or holds no KV")
	}
	_ = w.conn.Close()
	eventually(t, "the request is aborted", func() bool { return e.gauges(t) == [3]float64{0, 0, 1} })
	page = e.scrape(t)
	if page.histogram(t, "vllm:e2e_request_latency_seconds").GetSampleCount() != 0 || page.value(t, "vllm:kv_cache_usage_perc") != 0 {
		t.Error("an aborted request is in the histograms or still holds KV")
	}
}

func TestRequestsBeyondMaxRunningWaitInOrder(t *testing.T) {
	cfg := slow(t)
	cfg.Profile.MaxRunning = 1
	e := start(t, cfg)
	first := e.dial(t, chatBody(prompt(1, 0, 0), 200_000))
	first.streaming(t, 1)
	second := e.dial(t, chatBody(prompt(1, 1, 0), 1000))
	eventually(t, "the second waits", func() bool { return e.gauges(t) == [3]float64{1, 1, 0} })
	third := e.dial(t, chatBody(prompt(1, 2, 0), 1000))
	eventually(t, "the third waits", func() bool { return e.gauges(t) == [3]float64{1, 2, 0} })
	if got := e.scrape(t).value(t, "vllm:num_requests_waiting_by_reason", "reason", "capacity"); got != 2 {
		t.Errorf("%g wait for capacity", got)
	}
	_ = first.conn.Close()
	second.streaming(t, 2)
	if got := e.gauges(t); got != [3]float64{1, 1, 1} {
		t.Errorf("running, waiting, aborted are %v", got)
	}
	_ = second.conn.Close()
	third.streaming(t, 2)
	// A client that leaves the queue is aborted too.
	fourth := e.dial(t, chatBody(prompt(1, 3, 0), 1000))
	eventually(t, "the fourth waits", func() bool { return e.gauges(t) == [3]float64{1, 1, 2} })
	_ = fourth.conn.Close()
	eventually(t, "the fourth has left", func() bool { return e.gauges(t) == [3]float64{1, 0, 3} })
}

func TestRequestThatNeverFitsThePoolWaitsForEver(t *testing.T) {
	cfg := slow(t)
	cfg.Profile.KVPoolTokens = 50_000
	e := start(t, cfg)
	w := e.dial(t, chatBody(prompt(1, 0, 0), 60_000))
	eventually(t, "the request waits", func() bool { return e.gauges(t) == [3]float64{0, 1, 0} })
	if got := e.scrape(t).value(t, "vllm:kv_cache_usage_perc"); got != 0 {
		t.Errorf("KV usage %g", got)
	}
	_ = w.conn.Close()
	eventually(t, "the request is gone", func() bool { return e.gauges(t) == [3]float64{0, 0, 1} })
	if small := e.dial(t, chatBody(prompt(1, 1, 0), 1000)); small != nil {
		small.streaming(t, 2)
	}
}

// queued makes a job for scheduler tests.
func queued(prompt, limit int64) *job {
	return &job{ready: make(chan struct{}), promptTokens: prompt, maxTokens: limit}
}

// scheduled says whether a job has been let in.
func scheduled(j *job) bool {
	select {
	case <-j.ready:
		return true
	default:
		return false
	}
}

func TestSchedulerPrefillsOneAtATimeAndKeepsOrder(t *testing.T) {
	cfg := quick(t, "glm53-baseline")
	cfg.TimeScale, cfg.PrefillScale = 1, 1
	cfg.Profile.MaxRunning, cfg.Profile.KVPoolTokens = 2, 1000
	s := newScheduler(cfg)
	a, b, big, d := queued(78, 100), queued(78, 100), queued(800, 100), queued(1, 1)
	for i, j := range []*job{a, b, big, d} {
		s.enter(j, int64(10+i))
	}
	state := func() [4]bool { return [4]bool{scheduled(a), scheduled(b), scheduled(big), scheduled(d)} }
	if state() != [4]bool{true, false, false, false} || a.scheduledNs != 10 || a.prefillEndNs != 10+70_000_000 {
		t.Fatalf("after entering: %v, a from %d to %d", state(), a.scheduledNs, a.prefillEndNs)
	}
	s.prefilled(a, a.prefillEndNs)
	if state() != [4]bool{true, true, false, false} || b.scheduledNs != a.prefillEndNs {
		t.Fatalf("after a's prefill: %v, b at %d", state(), b.scheduledNs)
	}
	s.prefilled(b, b.prefillEndNs)
	s.leave(a, 500_000_000)
	if state() != [4]bool{true, true, false, false} {
		t.Fatalf("big ran beside b, or d overtook it: %v", state())
	}
	s.leave(b, 600_000_000)
	s.leave(b, 700_000_000)
	if state() != [4]bool{true, true, true, false} || big.scheduledNs != 600_000_000 || s.kvReserved != 900 {
		t.Fatalf("after b left: %v, big at %d, reserved %d", state(), big.scheduledNs, s.kvReserved)
	}
	half := big.scheduledNs + (big.prefillEndNs-big.scheduledNs)/2
	if got := s.gauges(half); got.kvUsage != 0.448 || got.running != 1 || got.waiting != 1 {
		t.Errorf("in the middle of big's prefill: %+v", got)
	}
}

func TestSchedulerAwaitEndsWithTheContext(t *testing.T) {
	cfg := quick(t, "glm53-baseline")
	s := newScheduler(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.await(ctx, queued(1, 1)); err == nil {
		t.Error("a job that was never let in was awaited")
	}
}

func TestErrorsHaveVLLMsShape(t *testing.T) {
	cfg := quick(t, "glm53-baseline")
	cfg.MaxModelLen = 1000
	e := start(t, cfg)
	text := strings.Repeat("a", 3000) // 800 tokens and 12 of the template
	chat := "/v1/chat/completions"
	cases := []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"unknown model", "POST", chat, `{"model":"other","messages":[{"role":"user","content":"x"}]}`, 404, "The model `other` does not exist."},
		{"too long", "POST", chat, chatBody(text, 189), 400, "maximum context length is 1000 tokens. However, you requested 189 output tokens " +
			"and your prompt contains at least 812 input tokens, for a total of at least 1001 tokens"},
		{"overflowing limit", "POST", chat, `{"messages":[{"role":"user","content":"x"}],"max_tokens":9223372036854775807}`, 400, "maximum context length"},
		{"no tokens", "POST", chat, chatBody("x", 0), 400, "max_tokens must be at least 1, got 0."},
		{"not JSON", "POST", chat, `{"model":`, 400, "not JSON at byte 9"},
		{"wrong type", "POST", chat, `{"messages":7}`, 400, `wrong type for \"messages\"`},
		{"no messages", "POST", chat, `{}`, 400, "at least one message"},
		{"wrong path", "GET", "/v1/nothing", "", 404, `{"detail":"Not Found"}`},
		{"wrong method", "GET", chat, "", 405, `{"detail":"Method Not Allowed"}`},
		{"tokenize nothing", "POST", "/tokenize", `{}`, 400, "either prompt or messages"},
		{"tokenize for another", "POST", "/tokenize", `{"model":"other","prompt":"x"}`, 404, "does not exist"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, body := e.send(t, c.method, c.path, c.body)
			if status != c.status || !strings.Contains(body, c.want) {
				t.Errorf("status %d, body %s", status, body)
			}
			if envelope := fmt.Sprintf(`"code":%d`, c.status); c.path == chat && c.method == "POST" && !strings.Contains(body, envelope) {
				t.Errorf("no %s in %s", envelope, body)
			}
		})
	}
	if got := e.scrape(t).value(t, "vllm:request_success_total"); got != 0 {
		t.Errorf("%g requests finished", got)
	}
}

// send sends a request of any kind.
func (s started) send(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, "http://"+s.addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var text strings.Builder
	if err := response.Write(&text); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, text.String()
}

func TestIdentityEndpoints(t *testing.T) {
	e := start(t, quick(t, "glm53-candidate"))
	text := prompt(482001, 0, 0)
	stream := e.ask(t, text).tell(t)
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/v1/models", "", `"id":"sim-model","max_model_len":327680`},
		{"GET", "/v1/models", "", `"owned_by":"vllm"`},
		{"GET", "/version", "", `{"version":"0.30.0.dev2+sim.candidate"}`},
		{"GET", "/health", "", ""},
		{"POST", "/tokenize", `{"prompt":"aaaaaaaaaaaaaaa"}`, `{"count":4,"max_model_len":327680,"tokens":[0,1,2,3]}`},
		{"POST", "/tokenize", `{"messages":[{"role":"user","content":[{"type":"text","text":` + quoted(text) + `}]}]}`, fmt.Sprintf(`"count":%d`, stream.Prompt)},
	} {
		if status, body := e.send(t, c.method, c.path, c.body); status != 200 || !strings.Contains(body, c.want) {
			t.Errorf("%s: status %d, body lacks %s", c.path, status, c.want)
		}
	}
	var paths []string
	for i, a := range e.Arrivals() {
		paths = append(paths, a.Path)
		if a.Ordinal != int64(i+1) || a.MonoNs == 0 || a.UnixNs == 0 || a.Conn == "" {
			t.Errorf("arrival %+v", a)
		}
	}
	want := []string{"/v1/chat/completions", "/v1/models", "/v1/models", "/version", "/health", "/tokenize", "/tokenize"}
	if !slices.Equal(paths, want) {
		t.Errorf("arrivals %v", paths)
	}
	if a := e.Arrivals()[0]; a.Marker != "ASSAY_REQ_482001_00000" || a.Seed != 482001 || a.Index != 0 {
		t.Errorf("arrival %+v", a)
	}
}
