package campaign

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"assay/collect/record"
)

// deadEngine are answers of vLLM 0.32.0 after its engine process was killed: in
// the stream that was running, and to every request after it.
var deadEngine = map[string]func(http.ResponseWriter){
	"an error event and the end mark": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"error"},"finish_reason":null}]}`+"\n\n"+
			`data: {"error": {"message": "EngineCore encountered an issue. See stack trace (above) for the root cause.", "type": "InternalServerError", "param": null, "code": 500}}`+"\n\n"+
			"data: [DONE]\n\n")
	},
	"an error status": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"error":{"message":"EngineCore encountered an issue. See stack trace (above) for the root cause.","type":"InternalServerError","param":null,"code":500}}`)
	},
}

// An answer that names a dead engine is the last that is asked for, also while
// the disk is behind with storing it.
func TestNothingIsSentAfterAnAnswerThatNamesADeadEngine(t *testing.T) {
	for name, answer := range deadEngine {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				_, _ = io.Copy(io.Discard, r.Body)
				answer(w)
			}))
			defer server.Close()
			spool, err := record.CreateSpool(filepath.Join(t.TempDir(), record.SpoolName))
			if err != nil {
				t.Fatal(err)
			}
			cell := smallPlan(t, nil).Cells[1]
			var answered atomic.Bool
			a := &attempt{cell: cell}
			l := &loop{
				gone: new(atomic.Bool),
				cell: cell, url: completionsURL(server.URL + "/v1"), anchor: record.NewAnchor(), cutoff: math.MaxInt64, now: func() int64 { return 0 },
				out: startWriter(spool, func(error) {}, a.judge), progress: silent{}, answered: &answered,
			}
			disk := make(chan struct{})
			l.out.jobs <- func(*record.Spool) error { <-disk; return nil }
			runErr := l.run(t.Context())
			close(disk)
			if err := l.out.close(); err != nil || runErr != nil {
				t.Fatal(runErr, err)
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("%d of %d requests were sent", n, cell.Requests)
			}
			if len(a.answers) != int(cell.Requests) {
				t.Errorf("%d requests were stored", len(a.answers))
			}
		})
	}
}
