package workload

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/collect/plan"

	"github.com/google/go-cmp/cmp"
)

// example is the expanded example plan.
func example(t testing.TB) *plan.Plan {
	t.Helper()
	spec, err := os.ReadFile("../../examples/glm53-serving.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data, problems := plan.Expand(spec, time.Unix(0, 0))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, problems := plan.Decode(data)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return p
}

func mustBuild(t testing.TB, c plan.Cell, index int64) Prompt {
	t.Helper()
	p, err := Build(c, index)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// testCell is a small cell with canaries.
func testCell(ctx, words int64) plan.Cell {
	return plan.Cell{ID: "test", Request: plan.RequestControls{
		Model: "m", Requests: 100_000, Seed: 482001, CtxTokens: ctx, MaxModelLen: 1 << 20,
		ResponseWords: words, PromptCacheMode: plan.CacheUnique, RequestCanaries: true,
	}}
}

var wholePrompt = regexp.MustCompile(`^` + MarkerPattern + `\n[\x20-\x7e]+\n\nWords:\n[a-z]{2,10}( [a-z]{2,10})*\n\n[\x20-\x7e]+$`)

// someIndices are the first, second and last request of a cell; the long prompts
// of all 534 requests would take a minute under the race detector.
func someIndices(c plan.Cell) []int64 {
	list := []int64{0, 1, c.Requests - 1}
	if c.PlannedContextTokens > 20_000 {
		list = list[2:]
	}
	list = slices.DeleteFunc(list, func(i int64) bool { return i >= c.Requests })
	slices.Sort(list)
	return slices.Compact(list)
}

func TestPromptsOfTheExampleHaveTheirExactLengthAndShape(t *testing.T) {
	for _, c := range example(t).Cells[:24] {
		want := c.PlannedContextTokens * 3
		for _, index := range someIndices(c) {
			p := mustBuild(t, c, index)
			if int64(len(p.Text)) != want {
				t.Errorf("%s %d: %d characters, want %d", c.ID, index, len(p.Text), want)
			}
			if want < 100_000 && !wholePrompt.MatchString(p.Text) {
				t.Errorf("%s %d: not the shape of a prompt", c.ID, index)
			}
			if p.Marker != Marker(c.Seed, index) || !strings.HasPrefix(p.Text, p.Marker+"\n") {
				t.Errorf("%s %d: marker %q, prompt starts %q", c.ID, index, p.Marker, p.Text[:40])
			}
		}
	}
}

func TestMatchedCellsGetEqualPrompts(t *testing.T) {
	p := example(t)
	for i := range 24 {
		a, b := p.Cells[i], p.Cells[i+24]
		for _, index := range someIndices(a) {
			if x, y := mustBuild(t, a, index), mustBuild(t, b, index); x != y {
				t.Errorf("%s and %s differ at index %d", a.ID, b.ID, index)
			}
		}
	}
}

func TestPromptsOfAnArmShareNoMoreThanTheStartOfAMarker(t *testing.T) {
	var texts []string
	for _, c := range example(t).Cells[:24] {
		c.Request.CtxTokens = 600 // the start is the same at any length
		for index := range c.Requests {
			texts = append(texts, mustBuild(t, c, index).Text)
		}
	}
	if len(texts) != 534/2 {
		t.Fatalf("%d prompts, want %d", len(texts), 534/2)
	}
	slices.Sort(texts) // the longest shared prefixes are now between neighbours
	for i := 1; i < len(texts); i++ {
		n := 0
		for texts[i][n] == texts[i-1][n] {
			n++
		}
		if limit := len(Marker(482001, 0)) - 1; n > limit {
			t.Errorf("two prompts share %d characters, more than %d", n, limit)
		}
	}
}

func TestPromptIsExactAtEveryLength(t *testing.T) {
	c := testCell(1, 0)
	c.Request.RequestCanaries = false
	for tokens := int64(342); tokens < 700; tokens++ {
		c.Request.CtxTokens = tokens
		for index := range int64(5) {
			if got := int64(len(mustBuild(t, c, index).Text)); got != 3*tokens {
				t.Fatalf("context %d index %d: %d characters, want %d", tokens, index, got, 3*tokens)
			}
		}
	}
	for n := 2; n < 200; n++ {
		var b strings.Builder
		fill(&b, n, newGenerator(1, int64(n)))
		if b.Len() != n {
			t.Fatalf("filler of %d characters has %d", n, b.Len())
		}
	}
}

func TestPromptIsCappedByTheModelLength(t *testing.T) {
	c, maxTokens := testCell(4000, 0), int64(1000)
	c.Request.MaxModelLen, c.Request.MaxTokens = 4096, &maxTokens
	if got, want := len(mustBuild(t, c, 0).Text), 3*(4096-1000-plan.PromptMarginTokens); got != want {
		t.Errorf("%d characters, want %d", got, want)
	}
}

func TestPromptDependsOnlyOnWhatItsCommentSays(t *testing.T) {
	c := testCell(2000, 128)
	want := mustBuild(t, c, 7)
	c.ID, c.Arm, c.Workload, c.Concurrency, c.Request.Concurrency = "other", "candidate", "x", 4, 4
	c.Request.Model, c.Request.BaseURL, c.Request.TimeoutSeconds = "other", "http://127.0.0.1:1", 5
	if diff := cmp.Diff(want, mustBuild(t, c, 7)); diff != "" {
		t.Error(diff)
	}
	for name, change := range map[string]func(*plan.RequestControls){
		"seed":     func(r *plan.RequestControls) { r.Seed++ },
		"length":   func(r *plan.RequestControls) { r.CtxTokens++ },
		"words":    func(r *plan.RequestControls) { r.ResponseWords++ },
		"canaries": func(r *plan.RequestControls) { r.RequestCanaries = false },
	} {
		other := c
		change(&other.Request)
		if mustBuild(t, other, 7).SHA256 == want.SHA256 {
			t.Errorf("another %s gives the same prompt", name)
		}
	}
}

// TestPromptsOfThisTemplateVersionNeverChange fails when the words, the texts or
// the generator change: then TemplateVersion must change too.
func TestPromptsOfThisTemplateVersionNeverChange(t *testing.T) {
	got := map[string]string{
		"natural":    mustBuild(t, testCell(10240, 0), 3).SHA256,
		"controlled": mustBuild(t, testCell(10240, 128), 3).SHA256,
		"version":    TemplateVersion,
	}
	want := map[string]string{
		"natural":    "cb953f124502780c922c3521d1361d7b40622d710e7ef2d4631d1c13e9cfd94a",
		"controlled": "f60fe2f391c489473504508a73a9f3c6d6722600e529d68fdbc2a3d8012b1535",
		"version":    "assay/prompt/v1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBuildRefuses(t *testing.T) {
	short, mode := testCell(341, 0), testCell(2000, 0)
	mode.Request.PromptCacheMode = "shared"
	few := testCell(2000, 0)
	few.Request.Requests = 3
	capped, maxTokens := testCell(2000, 0), int64(1<<20)
	capped.Request.MaxTokens = &maxTokens
	for _, x := range []struct {
		name  string
		cell  plan.Cell
		index int64
	}{
		{"a short prompt", short, 0},
		{"a cap below zero", capped, 0},
		{"another cache mode", mode, 0},
		{"a negative index", few, -1},
		{"an index past the end", few, 3},
	} {
		if p, err := Build(x.cell, x.index); err == nil {
			t.Errorf("%s: no error, %d characters", x.name, len(p.Text))
		}
	}
}

func TestMarkersHaveFiveDigitsAndMatchThePattern(t *testing.T) {
	if got := Marker(482001, 3); got != "ASSAY_REQ_482001_00003" {
		t.Error(got)
	}
	whole := regexp.MustCompile(`^` + MarkerPattern + `$`)
	for _, m := range []string{Marker(0, 0), Marker(1<<53, 99_999)} {
		if !whole.MatchString(m) {
			t.Errorf("%s does not match the pattern", m)
		}
	}
}

func TestParsePromptReadsTheTaskBack(t *testing.T) {
	for _, words := range []int64{0, 1, 128} {
		for _, canary := range []bool{true, false} {
			c := testCell(2000, words)
			c.Request.RequestCanaries = canary
			got, ok := ParsePrompt(mustBuild(t, c, 42).Text)
			want := Task{Marker: "ASSAY_REQ_482001_00042", Canary: canary, Words: words}
			if !ok || got != want {
				t.Errorf("task = %+v %t, want %+v", got, ok, want)
			}
		}
	}
	for _, text := range []string{"", "Hello", "ASSAY_REQ_1_00001", "ASSAY_REQ_1_00001\nno blank line", "ASSAY_REQ_1_1\nx\n\ny"} {
		if task, ok := ParsePrompt(text); ok {
			t.Errorf("%q is no prompt, but gives %+v", text, task)
		}
	}
}

func TestWordListIsWhatItsCommentSays(t *testing.T) {
	words := strings.Split(strings.TrimSuffix(wordlist, "\n"), "\n")
	if len(words) < 2000 {
		t.Errorf("%d words, want at least 2,000", len(words))
	}
	if !slices.IsSorted(words) || len(slices.Compact(slices.Clone(words))) != len(words) {
		t.Error("the words are not sorted and distinct")
	}
	shape := regexp.MustCompile(`^[a-z]{2,10}$`)
	for _, w := range words {
		if !shape.MatchString(w) || strings.Contains(w, ControlledWord) {
			t.Errorf("%q may not be in the list", w)
		}
	}
	var sum uint64
	for n, weight := range lengthWeights {
		sum += weight
		if n >= 2 && len(byLength[n]) == 0 {
			t.Errorf("there is no word of %d letters, so not every length can be filled", n)
		}
	}
	if sum != 100 {
		t.Errorf("the length weights add up to %d, want 100", sum)
	}
}

func TestBodySendsExactlyWhatArgvGives(t *testing.T) {
	maxTokens, effort := int64(16384), "max"
	temperature, topP := json.Number("0.60"), json.Number("9.5e-1")
	full := testCell(2000, 0)
	full.Request.Model = "a<b>&c"
	full.Request.MaxTokens, full.Request.ReasoningEffort, full.Request.Temperature, full.Request.TopP = &maxTokens, &effort, &temperature, &topP
	bare := testCell(2000, 0)
	const start = `{"model":"%M","messages":[{"role":"user","content":"say \"hi\""}],"stream":true,"stream_options":{"include_usage":true}`
	for _, x := range []struct {
		cell plan.Cell
		want string
	}{
		{full, strings.Replace(start, "%M", "a<b>&c", 1) + `,"max_tokens":16384,"temperature":0.60,"top_p":9.5e-1,"reasoning_effort":"max"}`},
		{bare, strings.Replace(start, "%M", "m", 1) + `}`},
	} {
		got, err := Body(x.cell, Prompt{Text: `say "hi"`})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(x.want, string(got)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestBodyCarriesThePromptUnchangedAndNoSeed(t *testing.T) {
	for _, c := range example(t).Cells[:3] {
		p := mustBuild(t, c, 0)
		b, err := Body(c, p)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]json.RawMessage
		var messages []message
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got["messages"], &messages); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]message{{Role: "user", Content: p.Text}}, messages); diff != "" {
			t.Error(diff)
		}
		if _, ok := got["seed"]; ok || bytes.Contains(b, []byte(`"seed"`)) {
			t.Error("the seed is sent")
		}
	}
}

func TestBodyRefusesANumberThatIsNotJSON(t *testing.T) {
	c, bad := testCell(2000, 0), json.Number("warm")
	c.Request.Temperature = &bad
	if b, err := Body(c, Prompt{}); err == nil {
		t.Errorf("body %s", b)
	}
}

func BenchmarkBuildEdgePrompt(b *testing.B) {
	c := testCell(310272, 0)
	for b.Loop() {
		if _, err := Build(c, 1); err != nil {
			b.Fatal(err)
		}
	}
}
