package cases

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/collect/plan"
	"assay/ingest/ingesttest"
)

// retainedRow is one request of a retained artifact of another tool.
type retainedRow struct {
	PromptTokens    int64    `json:"prompt_tokens"`
	OutputTokens    int64    `json:"output_tokens"`
	FirstOutputMs   *float64 `json:"time_to_first_output_ms"` // older files have no reasoning and leave it out
	FirstVisibleMs  float64  `json:"ttft_ms"`
	EndMs           float64  `json:"e2e_ms"`
	ReasoningChunks int      `json:"reasoning_chunks"`
	ContentChunks   int      `json:"content_chunks"`
	DecodeTokS      float64  `json:"decode_tok_s"`
}

func ns(ms float64) time.Duration { return time.Duration(math.Round(ms * 1e6)) }

func (r retainedRow) firstOutput() time.Duration {
	if r.FirstOutputMs != nil {
		return ns(*r.FirstOutputMs)
	}
	return ns(r.FirstVisibleMs)
}

// wire is the row as a stream at its own pace: its chunks, or one chunk for
// each token where chunks were not counted, evenly over the times it states.
func (r retainedRow) wire() (*wire, error) {
	content := r.ContentChunks
	if r.ReasoningChunks+content == 0 {
		content = int(r.OutputTokens)
	}
	b := &wireBuilder{eol: "\n"}
	first, visible, end := r.firstOutput(), ns(r.FirstVisibleMs), ns(r.EndMs)
	put := func(at time.Duration, text string) error { return b.line(at.String() + " data: " + text) }
	for i := range r.ReasoningChunks {
		if err := put(first+(visible-first)*time.Duration(i)/time.Duration(r.ReasoningChunks), `{"choices":[{"delta":{"reasoning":"r"}}]}`); err != nil {
			return nil, err
		}
	}
	for i := range content {
		if err := put(visible+(end-visible)*time.Duration(i)/time.Duration(max(content-1, 1)), `{"choices":[{"delta":{"content":"c"}}]}`); err != nil {
			return nil, err
		}
	}
	for _, text := range []string{
		`{"choices":[{"delta":{},"finish_reason":"stop"}]}`,
		fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, r.PromptTokens, r.OutputTokens), "[DONE]",
	} {
		if err := put(end, text); err != nil {
			return nil, err
		}
	}
	return b.finish(), nil
}

// retainedRows reads the rows of all retained artifacts that have any.
func retainedRows(t *testing.T) []retainedRow {
	t.Helper()
	root := "../../shared/data/anvil-serving/findings"
	if _, err := os.Stat(root); err != nil {
		t.Skip("the retained artifacts are not beside the repository")
	}
	var all []retainedRow
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var file struct {
			Rows []retainedRow `json:"request_timings"`
		}
		if json.Unmarshal(text, &file) == nil { // some have the suffix and are no JSON
			all = append(all, file.Rows...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// burstStream is the first stream of the field case about bursts, which is
// replayed beside the retained rows.
func burstStream(t *testing.T) *caseStream {
	t.Helper()
	for _, f := range loadCases(t) {
		if f.name == "A31" {
			return f.cells[0].streams[0]
		}
	}
	t.Fatal("there is no case A31")
	return nil
}

// TestOrdinaryStreamsAreNoBursts replays the retained rows at their own pace:
// none is called a burst, and their decode rates come out as the tool that
// measured them states. Many decode fast after a long prefill: a rule on the
// share of the whole time would withhold theirs. The burst of case A31, last
// in the cell, is told from them.
func TestOrdinaryStreamsAreNoBursts(t *testing.T) {
	all := retainedRows(t)
	last := int64(len(all))
	p := ingesttest.Plan(t, ingesttest.CellSpec{ID: "retained", Arm: "arm", Requests: last + 1, NoCanaries: true})
	run := ingesttest.NewRun(t, p)
	a := run.Cell("retained")
	play := func(index int64, w *wire) {
		res := w.replay(ingesttest.AnchorUnixNs + a.T0Ns(index))
		put(a, index, &res)
	}
	tempting := 0
	for i, r := range all {
		w, err := r.wire()
		if err != nil {
			t.Fatal(err)
		}
		play(int64(i), w)
		if end := ns(r.EndMs); r.OutputTokens >= 32 && (end-r.firstOutput())*20 < end {
			tempting++
		}
	}
	burst, err := wireOf(burstStream(t), plan.Cell{Seed: 1}, last)
	if err != nil {
		t.Fatal(err)
	}
	play(last, burst)
	db := analysed(t, run.Write())
	flags := keyed(t, db, "request_withholdings", "request_index", "metric")
	metrics := keyed(t, db, "request_metrics", "request_index")
	if tempting < 27 || len(metrics) != len(all)+1 {
		t.Errorf("%d rows were replayed, %d of them decode in less than 5 %% of their time", len(metrics)-1, tempting)
	}
	for i, r := range all {
		checkRetained(t, metrics[strconv.Itoa(i)], r)
	}
	for key, f := range flags {
		if f["flag"] == "burst_delivery" && !strings.HasPrefix(key, fmt.Sprint(last)+"|") {
			t.Errorf("row %s is called a burst", key)
		}
	}
	metrics[fmt.Sprint(last)].check(t, "withheld", `["decode_tok_s: burst_delivery","tpot_ns: burst_delivery"]`)
}

// checkRetained compares a row's rate with the one its artifact states. Some
// artifacts measure from the first visible text, microseconds after the first
// output.
func checkRetained(t *testing.T, got row, want retainedRow) {
	t.Helper()
	rate, err := strconv.ParseFloat(got["decode_tok_s"], 64)
	if want.OutputTokens > 1 && (err != nil || math.Abs(rate-want.DecodeTokS) > want.DecodeTokS*1e-5) {
		t.Errorf("decode %s tok/s, the artifact states %v", got["decode_tok_s"], want.DecodeTokS)
	}
}
