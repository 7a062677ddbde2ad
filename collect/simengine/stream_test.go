package simengine

import (
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStreamHoldsOneEventAChunkInOrder(t *testing.T) {
	for _, name := range ProfileNames() {
		t.Run(name, func(t *testing.T) {
			e := start(t, quick(t, name))
			r := e.ask(t, prompt(482001, 3, 0))
			if r.status != "HTTP/1.1 200 OK" || r.header["Content-Type"] != "text/event-stream; charset=utf-8" {
				t.Errorf("status %q, headers %v", r.status, r.header)
			}
			if !r.clean || r.trailing != 0 {
				t.Errorf("clean %v, %d bytes after the last chunk", r.clean, r.trailing)
			}
			s := r.tell(t)
			if !regexp.MustCompile(`^ro+fud$`).MatchString(s.Kinds) {
				t.Errorf("order of events is %s", s.Kinds)
			}
			if s.Finish != "stop" || s.Reasoning == "" || strings.Contains(s.Reasoning, "ASSAY") {
				t.Errorf("finish %q, reasoning of %d bytes", s.Finish, len(s.Reasoning))
			}
			if !regexp.MustCompile(`^ASSAY_REQ_482001_00003( [a-z]+)+$`).MatchString(s.Visible) {
				t.Errorf("visible text is %q", s.Visible)
			}
		})
	}
}

func TestControlledAnswerIsExact(t *testing.T) {
	e := start(t, quick(t, "glm53-candidate"))
	s := e.ask(t, prompt(483001, 0, 128)).tell(t)
	want := "ASSAY_REQ_483001_00000" + strings.Repeat(" code", 128)
	if diff := cmp.Diff(want, s.Visible); diff != "" {
		t.Error(diff)
	}
}

func TestUsageAgreesWithTheText(t *testing.T) {
	for _, name := range ProfileNames() {
		text := prompt(482001, 5, 0)
		s := start(t, quick(t, name)).ask(t, text).tell(t)
		// Reasoning and summary are one token a word, the marker of 22 characters
		// is four tokens, the end of sequence is one.
		want := int64(len(strings.Fields(s.Reasoning)) + len(strings.Fields(s.Visible)) - 1 + 4 + 1)
		if s.Completion != want || s.Thought != int64(len(strings.Fields(s.Reasoning))) {
			t.Errorf("%s: completion %d with %d reasoning, the text has %d", name, s.Completion, s.Thought, want)
		}
		if s.Prompt != promptTokens(text) || s.Total != s.Prompt+s.Completion {
			t.Errorf("%s: prompt %d, total %d", name, s.Prompt, s.Total)
		}
		if int64(s.Outputs) > s.Completion {
			t.Errorf("%s: %d outputs for %d tokens", name, s.Outputs, s.Completion)
		}
		if spec := name == "glm53-candidate"; spec != (int64(s.Outputs) < s.Completion*3/4) {
			t.Errorf("%s: %d outputs for %d tokens", name, s.Outputs, s.Completion)
		}
	}
}

func TestUsageOnlyWhenAskedFor(t *testing.T) {
	e := start(t, quick(t, "glm53-baseline"))
	body := strings.Replace(chatBody(prompt(1, 1, 0), 64), `"include_usage":true`, `"include_usage":false`, 1)
	if s := e.dial(t, body).read(t).tell(t); strings.Contains(s.Kinds, "u") {
		t.Errorf("events %s", s.Kinds)
	}
}

func TestMaxTokensCutsTheAnswer(t *testing.T) {
	e := start(t, quick(t, "glm53-candidate"))
	for _, limit := range []int{1, 9, 200} {
		s := e.dial(t, chatBody(prompt(5, 1, 500), limit)).read(t).tell(t)
		if s.Finish != "length" || s.Completion != int64(limit) {
			t.Errorf("limit %d: finish %s with %d tokens", limit, s.Finish, s.Completion)
		}
	}
}

func TestTextDependsOnSeedAndMarkerOnly(t *testing.T) {
	ask := func(e started, indexes []int) map[int]story {
		var mu sync.Mutex
		var wg sync.WaitGroup
		out := map[int]story{}
		for _, i := range indexes {
			wg.Go(func() {
				s := e.ask(t, prompt(482004, i, 0)).tell(t)
				mu.Lock()
				out[i] = s
				mu.Unlock()
			})
		}
		wg.Wait()
		return out
	}
	cfg := quick(t, "glm53-candidate")
	order := []int{0, 1, 2, 3, 4, 5, 6, 7}
	first := ask(start(t, cfg), order)
	slices.Reverse(order)
	if diff := cmp.Diff(first, ask(start(t, cfg), order)); diff != "" {
		t.Errorf("another order, other text: %s", diff)
	}
	cfg.Seed++
	if cmp.Equal(first, ask(start(t, cfg), order)) {
		t.Error("another seed, same text")
	}
	if first[0].Reasoning == first[1].Reasoning {
		t.Error("two requests reason alike")
	}
}

func TestSendLogHasEveryEventAndIsNeverEarly(t *testing.T) {
	cfg := quick(t, "glm53-baseline")
	cfg.TimeScale = 10
	cfg.ChunkInterval = 20 * time.Millisecond
	cfg.Chunks = 40
	var mu sync.Mutex
	var called []Send
	cfg.SendLog = func(s Send) {
		mu.Lock()
		called = append(called, s)
		mu.Unlock()
	}
	e := start(t, cfg)
	r := e.ask(t, prompt(9, 4, 0))
	read := readClocks()
	sends := e.Sends()
	if s := r.tell(t); s.Outputs != 40 || len(sends) != len(r.events) {
		t.Fatalf("%d outputs, %d events, %d sends", s.Outputs, len(r.events), len(sends))
	}
	arrival := e.Arrivals()[0]
	prefillEnd := arrival.MonoNs + cfg.scaled(float64(cfg.Profile.BaseLatency))
	for i, s := range sends {
		if s.Seq != i || s.RequestOrdinal != arrival.Ordinal || s.Marker != "ASSAY_REQ_9_00004" {
			t.Errorf("send %d is %+v", i, s)
		}
		// Event 0 is the role chunk; event k is output k-1.
		due := prefillEnd + int64(min(max(i-1, 0), 39))*2_000_000
		if s.MonoNs < due || s.MonoNs > read.monoNs || s.UnixNs > read.unixNs {
			t.Errorf("send %d at %d, due %d, read by %d", i, s.MonoNs, due, read.monoNs)
		}
	}
	eventually(t, "the send function has every event", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(called) == len(sends)
	})
	if diff := cmp.Diff(sends, called); diff != "" {
		t.Error(diff)
	}
}

func TestFixedChunksHoldForAnyNumber(t *testing.T) {
	cfg := quick(t, "glm53-candidate")
	for _, chunks := range []int{1, 2, 7, 131, 132, 133, 400} {
		cfg.Chunks = chunks
		full, err := cfg.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		a := answerer{full}.answer(readPrompt(prompt(3, 1, 128)), "", "", 16384)
		if len(a.steps) != chunks || a.visible != "ASSAY_REQ_3_00001"+strings.Repeat(" code", 128) || a.finish != "stop" {
			t.Errorf("%d chunks wanted, %d made, finish %s", chunks, len(a.steps), a.finish)
		}
	}
}

func TestWholeAnswerEqualsTheStream(t *testing.T) {
	e := start(t, quick(t, "glm53-candidate"))
	text := prompt(482001, 1, 0)
	streamed := e.ask(t, text).tell(t)
	body := strings.Replace(chatBody(text, 16384), `"stream":true`, `"stream":false`, 1)
	response, err := http.Post("http://"+e.addr+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	whole, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{quoted(streamed.Visible), quoted(streamed.Reasoning), `"finish_reason":"stop"`} {
		if !strings.Contains(string(whole), part) {
			t.Errorf("the answer lacks %s", part)
		}
	}
}

func TestFirstByteStampIsTakenOnceARequest(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	c := &stampedConn{Conn: server, armed: true}
	step := func() instant {
		go func() { _, _ = client.Write([]byte("x")) }()
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return c.firstByte()
	}
	before := readClocks()
	first := step()
	if first.monoNs < before.monoNs || first.unixNs == 0 {
		t.Errorf("stamp %+v, before %+v", first, before)
	}
	if second := step(); second != first {
		t.Error("the second byte moved the stamp")
	}
	c.rearm()
	if third := step(); third.monoNs <= first.monoNs {
		t.Error("a new request kept the old stamp")
	}
}
