package analyze

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"assay/ingest/store"
)

// row is one row to be, by column; a column that is not named is null.
type row map[string]any

// fixture collects the rows of a database made by hand.
type fixture struct {
	at   int64 // t0 of the next plain cell, ns on the run's clock
	t    *testing.T
	rows map[string][]row
}

const campaign = "c1"

// sentences are all eligibility sentences, so that every rule is demanded.
const sentences = `"all planned requests completed and terminal", "exact usage counts",
	"allowed finish reason and visible output", "own canary first; no foreign marker; complete capture",
	"controlled cells additionally exact repeated output", "same measurement_protocol in compared arms"`

func planText(eligibility, controls string) string {
	return `{"eligibility": [` + eligibility + `], "controls": {` + controls + `},
		"stops": {"identity_or_protocol_drift": "no further requests on invalid arm"}}`
}

// newFixture has one campaign with two arms and no cells.
func newFixture(t *testing.T) *fixture {
	t.Parallel() // its database is its own
	f := &fixture{t: t, rows: map[string][]row{}}
	f.add("campaigns", row{
		"campaign": campaign, "kind": "measured", "plan_sha256": "", "deviations": "[]", "settings": "{}",
		"plan": planText(sentences, ""),
	})
	for i, arm := range []string{"baseline", "candidate"} {
		f.add("arms", row{"campaign": campaign, "arm": arm, "arm_order": i})
	}
	return f
}

func (f *fixture) add(table string, r row) row {
	f.rows[table] = append(f.rows[table], r)
	return r
}

func merged(base row, over ...row) row {
	r := maps.Clone(base)
	for _, o := range over {
		maps.Copy(r, o)
	}
	return r
}

// cell adds a planned cell of an arm with a complete attempt and stable
// identity, and no requests.
func (f *fixture) cell(arm, cell string, over ...row) row {
	c := f.plannedCell(arm, cell, over...)
	f.attempt(arm, cell, 1, nil)
	for _, phase := range []string{"before", "after"} {
		f.add("identities", row{
			"campaign": campaign, "arm": arm, "cell": cell, "attempt": 1, "phase": phase,
			"fact": "served_id", "value": "m", "source": "/v1/models",
		})
	}
	return c
}

func (f *fixture) plannedCell(arm, cell string, over ...row) row {
	return f.add("cells", merged(row{
		"campaign": campaign, "arm": arm, "cell": cell, "cell_order": len(f.rows["cells"]),
		"workload": "natural", "context_tokens": 10240, "concurrency": 1, "requests": 1, "seed": 1,
		"excluded_warmup": false, "outer_timeout_s": 1000, "idle_timeout_s": 900, "max_tokens": 100, "max_model_len": 20000,
		"response_words": 0, "output_policy": "observe", "temperature": "0.6", "top_p": "0.95",
		"prompt_cache_mode": "unique", "request_canaries": true,
	}, over...))
}

func (f *fixture) attempt(arm, cell string, number int, over row) row {
	return f.add("attempts", merged(row{
		"campaign": campaign, "arm": arm, "cell": cell, "attempt": number, "run_state": "complete", "counted": true,
		"start_ns": 0, "end_ns": 1, "clock_drift_ns": 0,
	}, over))
}

// request adds a request that passes every rule: 11 tokens over 10 ms of decode
// after 1 ms, sent at index x 100 ms.
func (f *fixture) request(arm, cell string, index int, over ...row) row {
	return f.add("request_facts", merged(row{
		"campaign": campaign, "arm": arm, "cell": cell, "attempt": 1, "request_index": index,
		"dispatched": true, "worker": 0, "marker": "m", "template_version": "t1", "prompt_sha256": fmt.Sprint("p", index), "prompt_chars": 1,
		"t0_ns": index * 100_000_000, "first_event_ns": 500_000, "ttfo_ns": 1_000_000, "ttft_ns": 2_000_000, "ttft_nonblank_ns": 2_000_000,
		"last_output_ns": 11_000_000, "done_ns": 12_000_000, "close_ns": 12_500_000, "end_ns": 13_000_000,
		"http_status": 200, "http_version": "HTTP/1.1", "event_stream": true, "end_kind": "done", "end_detail": "", "outcome": "complete",
		"events": 13, "events_seen": 13, "bad_events": 0, "output_events": 11, "reasoning_events": 5, "content_events": 6, "tool_events": 0,
		"kernel_stamped_events": 13, "raised_stamps": 0, "output_read_stamped": 0, "lag_p99_ns": 5000,
		"gaps": 10, "same_read_gaps": 0, "short_gaps": 0, "gap_min_ns": 1_000_000, "gap_p50_ns": 1_000_000, "gap_p95_ns": 1_000_000, "gap_max_ns": 1_000_000,
		"prompt_tokens": 8000, "completion_tokens": 11, "reasoning_tokens": 5, "cached_tokens": 0, "usage_chunks": 1,
		"finish_reasons": `["stop"]`, "reasoning_field": "reasoning", "alias_conflicts": 0, "visible_chars": 6, "reasoning_chars": 5,
		"canary_state": "own_first", "foreign_markers": "[]", "trailing_bytes": 0, "tail_bytes": 0,
	}, over...))
}

// page adds a whole page with its samples. A sample is written as the page has
// it, such as `vllm:num_requests_running{"engine":"0"} 3`; a histogram bucket as
// `name_bucket{} le=0.5 3`; a value of - stands for a family that is only
// declared, and a leading ! for a family that is not declared.
func (f *fixture) page(arm, cell string, seq int, phase string, samples ...string) {
	at := int64(seq) * 1_000_000_000
	f.add("pages", row{
		"campaign": campaign, "arm": arm, "cell": cell, "attempt": 1, "page_seq": seq, "phase": phase,
		"start_ns": at - 1000, "end_ns": at, "start_unix_ns": at, "http_status": 200, "error": "", "body_sha256": "", "series": len(samples),
	})
	for _, s := range samples {
		f.add("engine_samples", merged(row{
			"campaign": campaign, "arm": arm, "cell": cell, "attempt": 1, "page_seq": seq, "phase": phase, "at_ns": at,
		}, parseSample(f.t, s)))
	}
}

func parseSample(t *testing.T, text string) row {
	t.Helper()
	text, undeclared := strings.CutPrefix(text, "!")
	fields := strings.Fields(text)
	name, labels, ok := strings.Cut(fields[0], "{")
	if !ok {
		t.Fatalf("sample %q has no labels", text)
	}
	r := row{"series": name, "labels": "{" + labels, "declared": !undeclared}
	if le, ok := strings.CutPrefix(fields[1], "le="); ok {
		r["le"] = parseFloat(t, le)
	}
	if last := fields[len(fields)-1]; last != "-" {
		r["value"] = parseFloat(t, last)
	}
	return r
}

func parseFloat(t *testing.T, text string) float64 {
	t.Helper()
	var x float64
	if _, err := fmt.Sscan(text, &x); err != nil {
		t.Fatalf("number %q: %v", text, err)
	}
	return x
}

// load fills a fresh database and makes the views. Rows go in in the order of
// the fixture.
func (f *fixture) load() *store.DB {
	return f.loadWith(2)
}

func (f *fixture) loadWith(threads int) *store.DB {
	f.t.Helper()
	db := open(f.t, threads)
	err := db.Tx(context.Background(), func(tx *store.Tx) error {
		for _, table := range slices.Sorted(maps.Keys(f.rows)) {
			if err := f.appendRows(db, tx, table); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	createViews(f.t, db)
	return db
}

func (f *fixture) appendRows(db *store.DB, tx *store.Tx, table string) error {
	rows, err := db.Query(context.Background(), "columns", "SELECT column_name FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", table)
	columns, err := store.Strings(rows, err)
	if err != nil {
		return err
	}
	return tx.Append(table, func(add func(...any) error) error {
		for _, r := range f.rows[table] {
			values := make([]any, len(columns))
			for i, c := range columns {
				values[i] = widen(r[c])
			}
			if err := add(values...); err != nil {
				return fmt.Errorf("%s %v: %w", table, r, err)
			}
		}
		return nil
	})
}

// widen gives the appender the one integer type the tables have.
func widen(v any) any {
	if n, ok := v.(int); ok {
		return int64(n)
	}
	return v
}

// query returns all rows of a query as text, null as "-".
func query(t *testing.T, db *store.DB, text string, args ...any) [][]string {
	t.Helper()
	rows, err := db.SQL().Query(text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for rows.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		line := make([]string, len(columns))
		for i, v := range values {
			line[i] = "-"
			if v != nil {
				line[i] = fmt.Sprint(v)
			}
		}
		all = append(all, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// keyed returns the rows of a query by their first column.
func keyed(t *testing.T, db *store.DB, text string, args ...any) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, line := range query(t, db, text, args...) {
		if _, ok := all[line[0]]; ok {
			t.Fatalf("%s: %s twice", text, line[0])
		}
		all[line[0]] = line[1:]
	}
	return all
}

// one returns the single row of a query.
func one(t *testing.T, db *store.DB, text string, args ...any) []string {
	t.Helper()
	all := query(t, db, text, args...)
	if len(all) != 1 {
		t.Fatalf("%s: %d rows, want 1: %v", text, len(all), all)
	}
	return all[0]
}

// list decodes a JSON list of strings.
func list(t *testing.T, text string) []string {
	t.Helper()
	var all []string
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("list %q: %v", text, err)
	}
	return all
}
