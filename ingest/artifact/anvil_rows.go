package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// anvilRows counts what the rows of one artifact show.
type anvilRows struct {
	completed, failed int64
	all, known        int64 // received or not, and of these the ones whose reasoning chunks are stated
	reasoning         int64
	indexSum, least   int64
	most, indexed     int64
	notUsage          int64 // passing rows without exact token counts
}

func (s *anvilRows) index(i int64) {
	if s.indexed == 0 || i < s.least {
		s.least = i
	}
	if s.indexed == 0 || i > s.most {
		s.most = i
	}
	s.indexSum += i
	s.indexed++
}

// indexesWhole says that the indexes seen can be 0 to n-1, each once: their
// number, ends and sum fit. A row apart from its order costs no memory.
func (s *anvilRows) indexesWhole(n int64) bool {
	return s.indexed == n && (n == 0 || s.least == 0 && s.most == n-1 && s.indexSum == n*(n-1)/2)
}

var anvilTiming = []string{
	"request_index", "planned_context_tokens", "prompt_tokens", "output_tokens", "output_token_source", "ttft_ms", "e2e_ms", "generation_ms",
	"effective_prefill_tok_s", "decode_tok_s", "mean_inter_token_latency_ms", "time_to_first_output_ms", "visible_generation_ms",
	"reasoning_chunks", "content_chunks", "mean_time_per_output_token_ms", "tpot_ms", "request_canary", "controlled_output",
	"visible_content_truncated",
}

func (f *anvilFile) readRows() {
	for i, v := range f.rows.elements() {
		at := "/request_timings/" + itoa(i)
		r := f.timing(pick(v, at, f.top.notes, anvilTiming...), int64(i))
		r.Status = "completed"
		f.seen.completed++
		if r.TokenSource != "usage" || r.OutputTokens == nil {
			f.seen.notUsage++
		}
		f.take(r)
	}
	for i, v := range f.top.raw("failures").elements() {
		f.take(f.failure(v, "/failures/"+itoa(i), int64(i)))
		f.seen.failed++
	}
}

func (f *anvilFile) take(r Request) {
	r.Artifact, r.Phase = f.out.id(0), "profiling"
	f.seen.index(r.Index)
	f.seen.all++
	if r.ReasoningChunks != nil {
		f.seen.known++
		f.seen.reasoning += *r.ReasoningChunks
	}
	f.out.request(r)
}

// timing reads a timing row, of a passing or of a failed request.
func (f *anvilFile) timing(t fields, position int64) Request {
	r := Request{
		Index: position, PlannedContextTokens: t.count("planned_context_tokens"), PromptTokens: t.count("prompt_tokens"),
		OutputTokens: t.count("output_tokens"), TokenSource: t.text("output_token_source"),
		FirstAnyMs: t.float("time_to_first_output_ms"), FirstVisibleMs: t.float("ttft_ms"), E2EMs: t.float("e2e_ms"),
		GenerationMs: t.float("generation_ms"), VisibleGenerationMs: t.float("visible_generation_ms"),
		DecodeTokS: t.float("decode_tok_s"), PrefillTokS: t.float("effective_prefill_tok_s"), TPOTMs: t.float("mean_inter_token_latency_ms"),
		ReasoningChunks: t.count("reasoning_chunks"), ContentChunks: t.count("content_chunks"),
	}
	if n := t.count("request_index"); n != nil {
		r.Index = *n
	}
	if truncated := t.bool("visible_content_truncated"); truncated != nil {
		r.CaptureComplete = ptr(!*truncated)
	}
	canary(&r, t.raw("request_canary"), t.notes, t.at)
	controlled(&r, t.raw("controlled_output"), t.notes, t.at)
	if r.PlannedContextTokens != nil && r.PromptTokens != nil && *r.PromptTokens > *r.PlannedContextTokens {
		t.notes.add(CodeCounts, t.at+"/prompt_tokens", "%d prompt tokens are more than the %d planned", *r.PromptTokens, *r.PlannedContextTokens)
	}
	f.derived(&r, t)
	return r
}

func canary(r *Request, v value, n *notes, at string) {
	if !v.isObject() {
		return
	}
	c := pick(v, at+"/request_canary", n, "marker_at_start", "foreign_marker_count", "capture_complete")
	r.CanaryFirst, r.ForeignMarkers = c.bool("marker_at_start"), c.count("foreign_marker_count")
	r.CaptureComplete = both(r.CaptureComplete, c.bool("capture_complete"))
}

func controlled(r *Request, v value, n *notes, at string) {
	if !v.isObject() {
		return
	}
	c := pick(v, at+"/controlled_output", n, "requested_words", "observed_code_words", "observed_extra_words", "exact_adherence", "capture_complete")
	r.WordsRequested, r.CodeWords, r.ExtraWords = c.count("requested_words"), c.count("observed_code_words"), c.count("observed_extra_words")
	r.WordsExact = c.bool("exact_adherence")
	r.CaptureComplete = both(r.CaptureComplete, c.bool("capture_complete"))
}

// both is true only when what is known is true.
func both(a, b *bool) *bool {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return ptr(*a && *b)
}

// derived recomputes the fields of a row that follow from its others
// (formats.md section 2.1). The sum of several names of one figure counts each.
func (f *anvilFile) derived(r *Request, t fields) {
	first := t.float("time_to_first_output_ms")
	if f.row.Boundary == boundaryVisible || first == nil {
		first = r.FirstVisibleMs
	}
	generation := difference(r.E2EMs, first)
	perToken := perTokenMs(r, t.float("generation_ms"))
	for _, d := range []struct {
		name string
		rows *float64
	}{
		{"generation_ms", generation},
		{"visible_generation_ms", difference(r.E2EMs, r.FirstVisibleMs)},
		{"effective_prefill_tok_s", prefill(r.PromptTokens, first)},
		{"decode_tok_s", decode(r, t.float("generation_ms"))},
		{"mean_inter_token_latency_ms", perToken},
		{"mean_time_per_output_token_ms", perToken},
		{"tpot_ms", perToken},
	} {
		if !t.has(d.name) {
			continue
		}
		stated := t.float(d.name)
		r.DerivedStated++
		switch compare(stated, d.rows) {
		case AgreeExact:
			r.DerivedExact++
		case AgreeClose:
			r.DerivedClose++
		default:
			t.notes.add(CodeFieldDiffers, t.at+"/"+d.name, "stated as %s; the row's other fields give %s", number(stated), number(d.rows))
		}
	}
}

func difference(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return finite(*a - *b)
}

func prefill(tokens *int64, firstMs *float64) *float64 {
	if tokens == nil || firstMs == nil || *firstMs <= 0 {
		return nil
	}
	return finite(float64(*tokens) / (*firstMs / 1000))
}

func decode(r *Request, generationMs *float64) *float64 {
	if r.OutputTokens == nil || *r.OutputTokens < 2 || generationMs == nil || *generationMs <= 0 {
		return nil
	}
	return finite(float64(*r.OutputTokens-1) / (*generationMs / 1000))
}

func perTokenMs(r *Request, generationMs *float64) *float64 {
	if decode(r, generationMs) == nil {
		return nil
	}
	return finite(*generationMs / float64(*r.OutputTokens-1))
}

// failure reads a failed request. Only the later shapes keep its class, its
// timing and what its stream showed.
func (f *anvilFile) failure(v value, at string, position int64) Request {
	t := pick(v, at, f.top.notes, "request_index", "planned_context_tokens", "failure_class", "error_type", "error_message",
		"elapsed_ms", "response_timing", "response_metadata", "request_canary", "controlled_output")
	missing := map[string]string{}
	r := Request{Index: position}
	if v := t.raw("response_timing"); v.isObject() {
		r = f.timing(pick(v, at+"/response_timing", f.top.notes, anvilTiming...), position)
	} else {
		missing["e2e_ms"] = "no timing of this failure is retained"
		canary(&r, t.raw("request_canary"), t.notes, at)
		controlled(&r, t.raw("controlled_output"), t.notes, at)
	}
	if n := t.count("request_index"); n != nil {
		r.Index = *n
	}
	if r.PlannedContextTokens == nil {
		r.PlannedContextTokens = t.count("planned_context_tokens")
	}
	r.Status, r.FailureClass, r.ErrorType, r.ElapsedMs = "failed", t.text("failure_class"), t.text("error_type"), t.float("elapsed_ms")
	if r.FailureClass == "" {
		missing["failure_class"] = "this shape of the artifact has no failure classes"
	}
	r.ErrorSHA256 = digestOf(t.raw("error_message"))
	f.metadata(&r, t.raw("response_metadata"), at)
	r.Missing = reasons(missing)
	return r
}

func (f *anvilFile) metadata(r *Request, v value, at string) {
	if !v.isObject() {
		return
	}
	m := pick(v, at+"/response_metadata", f.top.notes, "output_token_source", "content_chunks", "reasoning_chunks", "finish_reasons",
		"stream_terminal_observed", "visible_content_truncated", "usage")
	r.FinishReasons, r.StreamTerminal = texts(m.raw("finish_reasons")), m.bool("stream_terminal_observed")
	if r.ReasoningChunks == nil {
		r.ReasoningChunks, r.ContentChunks = m.count("reasoning_chunks"), m.count("content_chunks")
	}
	if r.TokenSource == "" {
		r.TokenSource = m.text("output_token_source")
	}
	usage := pick(m.raw("usage"), at+"/response_metadata/usage", f.top.notes, "prompt_tokens", "completion_tokens")
	if r.PromptTokens == nil {
		r.PromptTokens = usage.count("prompt_tokens")
	}
	if r.OutputTokens == nil {
		r.OutputTokens = usage.count("completion_tokens")
	}
}

// texts keeps a short list of texts as JSON.
func texts(v value) string {
	if !v.isArray() {
		return ""
	}
	list := []string{}
	for _, e := range v.elements() {
		s, ok := e.text()
		if !ok || len(list) == 20 {
			return ""
		}
		list = append(list, cut(s, 50))
	}
	return jsonText(list)
}

// digestOf is the SHA-256 of a text, hex: it groups equal errors and keeps
// none of their words, which can hold addresses and prompts.
func digestOf(v value) string {
	if !v.isText() || len(v) == 2 {
		return ""
	}
	sum := sha256.Sum256(unquote(v))
	return hex.EncodeToString(sum[:])
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("artifact: encode %T: %v", v, err)) // lists and maps of texts and numbers always encode
	}
	return string(text)
}
