package cases

import (
	"fmt"
	"iter"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/analyze"
	"assay/collect/record"
	"assay/collect/stream"
	"assay/ingest"
	"assay/ingest/ingesttest"
	"assay/ingest/store"
)

// readLag is how much later than the kernel the reader has each read: a time
// taken from the wrong stamp is off by it.
const readLag = 40 * time.Microsecond

// partA lists the field cases about streams and their content. The numbering
// has gaps.
var partA = strings.Fields("A01 A02 A03 A04 A06 A07 A09 A11 A12 A13 A14 A15 A16 A17 A18 A19 A20 A21 A22 A23 A25 A26 A27 A29 A30 A31 A32 A33 A34 A36")

func TestEveryFieldCaseHasAFile(t *testing.T) {
	for _, id := range partA {
		if path, ok := caseOf(id); !ok {
			t.Errorf("%s is missing", path)
		}
	}
	text, err := os.ReadFile("../../shared/cases.md")
	if err != nil {
		t.Skip("the list of field cases is not beside the repository")
	}
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^### (A[0-9]+) `).FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, m[1])
	}
	if diff := cmp.Diff(listed, partA); diff != "" {
		t.Errorf("cases of part A (-listed +here):\n%s", diff)
	}
}

// played is a stream that was given to the pipeline.
type played struct {
	*caseStream
	copy   int64 // which of its copies
	wire   *wire
	result stream.Result
}

func (p *played) key() string { return fmt.Sprintf("%s|%d", p.cell.id, p.index+p.copy) }

// replay plays an answer's reads at their times.
func (w *wire) replay(t0UnixNs int64) stream.Result {
	return stream.Replay(stream.Request{}, w.stamped(t0UnixNs), w.endKind(), int64(w.endAt))
}

func (w *wire) stamped(t0UnixNs int64) iter.Seq[stream.Read] {
	return func(yield func(stream.Read) bool) {
		for _, r := range w.reads {
			kernel := t0UnixNs + int64(r.at)
			if !yield(stream.Read{Data: r.data, ReadNs: int64(r.at + readLag), ReadUnixNs: kernel + int64(readLag), KernelUnixNs: &kernel}) {
				return
			}
		}
	}
}

func (w *wire) endKind() stream.EndKind {
	switch w.end {
	case "reset":
		return stream.EndConnectionReset
	case "hold":
		return stream.EndIdleTimeout
	}
	return stream.EndEOF
}

// put stores an exchange as the collector does.
func put(a *ingesttest.Attempt, index int64, res *stream.Result) {
	row := a.Sent(index, 0, res.ContentType)
	row.FirstByteNs, row.HeadNs, row.LastByteNs = res.FirstByteNs, res.HeadNs, res.LastByteNs
	row.CloseNs, row.EndNs, row.HTTPStatus, row.HTTPVersion = res.CloseNs, res.EndNs, res.HTTPStatus, res.HTTPVersion
	row.ResponseHead, row.Framing, row.End, row.EndDetail = res.Head, string(res.Framing), string(res.End), res.EndDetail
	row.BytesReceived, row.Reads, row.StampedReads = res.BytesReceived, res.Reads, res.StampedReads
	row.EventsSeen, row.Body, row.Tail, row.Trailing = int64(len(res.Events)), res.Body, res.Tail, res.Trailing
	for i := range res.Events {
		e := &res.Events[i]
		a.Events = append(a.Events, record.Event{
			Request: index, Seq: e.Seq, ReadSeq: e.ReadSeq, ReadNs: e.ReadNs, ReadUnixNs: e.ReadUnixNs,
			KernelUnixNs: e.Kernel(), ReadBytes: e.ReadBytes, Name: e.Name, Payload: e.Payload,
		})
	}
}

// TestFieldCases plays every stream of testdata/cases through the stream
// reader, a run directory, ingest and the views, and compares what comes out.
func TestFieldCases(t *testing.T) {
	files := loadCases(t)
	streams, dir := playCases(t, files)
	db := analysed(t, dir)
	got := readTables(t, db)
	for _, f := range files {
		t.Run(f.name, func(t *testing.T) {
			for _, c := range f.cells {
				for _, e := range c.want {
					got.checkCell(t, c.id, e)
				}
			}
			for _, p := range streams {
				if slices.Contains(f.cells, p.cell) {
					t.Run(p.name, func(t *testing.T) { got.checkStream(t, p, streams) })
				}
			}
		})
	}
	t.Run("invariants", func(t *testing.T) { checkInvariants(t, db) })
	t.Run("replayed in other pieces", func(t *testing.T) { checkPieces(t, got, small(streams)) })
}

// playCases writes one run directory with a cell for each cell of the files,
// and one more in which each stream comes again in other pieces.
func playCases(t *testing.T, files []*caseFile) ([]*played, string) {
	t.Helper()
	var specs []ingesttest.CellSpec
	total := int64(0)
	for _, f := range files {
		for _, c := range f.cells {
			specs = append(specs, c.spec)
			total += c.spec.Requests * int64(len(pieces))
		}
	}
	specs = append(specs, ingesttest.CellSpec{ID: piecesCell, Arm: "arm", Requests: total})
	p := ingesttest.Plan(t, specs...)
	run := ingesttest.NewRun(t, p)
	var streams []*played
	for _, f := range files {
		for _, c := range f.cells {
			streams = append(streams, playCell(t, run.Cell(c.id), c)...)
		}
	}
	playPieces(run.Cell(piecesCell), small(streams))
	return streams, run.Write()
}

func playCell(t *testing.T, a *ingesttest.Attempt, c *caseCell) []*played {
	t.Helper()
	a.Identity("before", "model-arm", "1.0", 327680).Identity("after", "model-arm", "1.0", 327680)
	var streams []*played
	for _, s := range c.streams {
		for i := range s.copies {
			w, err := wireOf(s, a.Plan, s.index+i)
			if err != nil {
				t.Fatal(err)
			}
			res := w.replay(ingesttest.AnchorUnixNs + a.T0Ns(s.index+i))
			put(a, s.index+i, &res)
			streams = append(streams, &played{caseStream: s, copy: i, wire: w, result: res})
		}
	}
	return streams
}

// analysed loads a run directory into a database with its views.
func analysed(t *testing.T, dir string) *store.DB {
	t.Helper()
	db, err := store.Open("", store.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := ingest.Run(t.Context(), db, []string{dir}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if err := analyze.CreateViews(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db
}
