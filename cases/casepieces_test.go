package cases

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/collect/plan"
	"assay/collect/stream"
	"assay/ingest/ingesttest"
	"assay/ingest/store"
)

// piecesCell holds each stream of the case files once for each way of pieces.
const piecesCell = "pieces"

// pieces are ways to cut an answer into reads.
var pieces = []func([]byte) iter.Seq[stream.Read]{inOne, byByte, func(b []byte) iter.Seq[stream.Read] { return atRandom(b, 1) }}

func inOne(b []byte) iter.Seq[stream.Read] {
	return func(yield func(stream.Read) bool) { yield(stream.Read{Data: b}) }
}

func byByte(b []byte) iter.Seq[stream.Read] {
	return func(yield func(stream.Read) bool) {
		for i := range b {
			if !yield(stream.Read{Data: b[i : i+1]}) {
				return
			}
		}
	}
}

// atRandom cuts at up to 16 places.
func atRandom(b []byte, seed uint64) iter.Seq[stream.Read] {
	r := rand.New(rand.NewPCG(seed, uint64(len(b))))
	cuts := []int{len(b)}
	for range 1 + r.IntN(16) {
		cuts = append(cuts, r.IntN(len(b)))
	}
	slices.Sort(cuts)
	return func(yield func(stream.Read) bool) {
		from := 0
		for _, to := range cuts {
			if !yield(stream.Read{Data: b[from:to]}) {
				return
			}
			from = to
		}
	}
}

// megabyte bounds the answers that are cut in every way.
const megabyte = 1 << 20

// small are the streams below a megabyte. The others are cut in fewer ways, and
// not stored again.
func small(streams []*played) []*played {
	var all []*played
	for _, p := range streams {
		if len(p.wire.bytes()) < megabyte {
			all = append(all, p)
		}
	}
	return all
}

// playPieces stores every stream in every way of pieces.
func playPieces(a *ingesttest.Attempt, streams []*played) {
	for i, p := range streams {
		for j, cut := range pieces {
			res := stream.Replay(stream.Request{}, cut(p.wire.bytes()), p.wire.endKind(), 0)
			put(a, int64(i*len(pieces)+j), &res)
		}
	}
}

// checkPieces compares the stored texts of a stream in other pieces with those
// of the stream as the case gives it.
func checkPieces(t *testing.T, got *tables, streams []*played) {
	for i, p := range streams {
		want := got.texts(t, p.key())
		for j := range pieces {
			here := got.texts(t, fmt.Sprintf("%s|%d", piecesCell, i*len(pieces)+j))
			if diff := cmp.Diff(want, here); diff != "" {
				t.Errorf("%s in pieces %d (-case +pieces):\n%s", p.id(), j, diff)
			}
		}
	}
}

// answered is what an answer came to, clocks and reads left out.
type answered struct {
	End, Detail         string
	Status              int64
	Events              []string
	Tail, Trailing, All string
}

func answeredBy(res *stream.Result) answered {
	out := answered{
		End: string(res.End), Detail: res.EndDetail, Events: payloadsOf(res, ""),
		Tail: string(res.Tail), Trailing: string(res.Trailing), All: string(res.Body),
	}
	if res.HTTPStatus != nil {
		out.Status = *res.HTTPStatus
	}
	return out
}

// payloadsOf lists name and payload of each event, with the marker replaced.
func payloadsOf(res *stream.Result, marker string) []string {
	var all []string
	for _, e := range res.Events {
		text := string(e.Payload)
		if marker != "" {
			text = strings.ReplaceAll(text, marker, "{{own}}")
		}
		all = append(all, e.Name+": "+text)
	}
	return all
}

// corpus is the streams of all case files as bytes.
func corpus(t *testing.T) []*played {
	t.Helper()
	var streams []*played
	for _, f := range loadCases(t) {
		for _, c := range f.cells {
			for _, s := range c.streams {
				w, err := wireOf(s, plan.Cell{Seed: 1}, s.index)
				if err != nil {
					t.Fatal(err)
				}
				streams = append(streams, &played{caseStream: s, wire: w, result: w.replay(0)})
			}
		}
	}
	return streams
}

// TestStreamsAreTheSameInAnyPieces replays the whole corpus as the cases have
// it, whole, byte by byte and at 1,000 random splits. Answers of megabytes are
// replayed whole and at five splits.
func TestStreamsAreTheSameInAnyPieces(t *testing.T) {
	for _, p := range corpus(t) {
		t.Run(p.id(), func(t *testing.T) {
			t.Parallel()
			text, want := p.wire.bytes(), answeredBy(&p.result)
			ways := []iter.Seq[stream.Read]{inOne(text)}
			splits := 5
			if len(text) < megabyte {
				splits = 1000
				ways = append(ways, byByte(text))
			}
			for seed := range splits {
				ways = append(ways, atRandom(text, uint64(seed)))
			}
			for i, reads := range ways {
				res := stream.Replay(stream.Request{}, reads, p.wire.endKind(), 0)
				if got := answeredBy(&res); !equalAnswers(want, got) {
					t.Fatalf("way %d (-case +pieces):\n%s", i, cmp.Diff(want, got))
				}
			}
		})
	}
}

func equalAnswers(a, b answered) bool {
	return a.End == b.End && a.Detail == b.Detail && a.Status == b.Status && a.Tail == b.Tail &&
		a.Trailing == b.Trailing && a.All == b.All && slices.Equal(a.Events, b.Events)
}

// checkInvariants holds for whatever streams are loaded.
func checkInvariants(t *testing.T, db *store.DB) {
	for name, query := range map[string]string{
		"a percentile outside its range":     "FROM cell_distributions WHERE NOT (min <= p50 AND p50 <= p95 AND p95 <= max)",
		"a mean above its maximum":           "FROM cell_overlap WHERE mean_overlap > max_overlap",
		"a time or rate that is not above 0": "FROM request_metrics WHERE least(ttfo_ns, ttft_ns, ttft_nonblank_ns, e2e_ns, tpot_ns, decode_tok_s, effective_prefill_tok_s) <= 0 AND cell <> '" + piecesCell + "'",
		"a figure that is no number":         "FROM request_metrics WHERE NOT (isfinite(tpot_ns) AND isfinite(decode_tok_s) AND isfinite(effective_prefill_tok_s))",
		"times out of order":                 "FROM request_facts WHERE NOT (first_event_ns <= ttfo_ns AND ttfo_ns <= ttft_ns AND ttft_ns <= ttft_nonblank_ns AND last_output_ns <= done_ns)",
		"a chunk gap under another name":     "FROM duckdb_columns() WHERE regexp_matches(column_name, '(^|_)(itl|inter_token|peak)(_|$)') AND table_name NOT LIKE 'cgroup%' AND table_name <> 'cell_memory'",
		"events that were lost":              "FROM request_facts WHERE events <> events_seen",
	} {
		if got := keyed(t, db, "(SELECT count(*) AS n "+query+")", "n"); len(got) != 1 || got["0"] == nil {
			t.Errorf("%s: %v rows", name, got)
		}
	}
}
