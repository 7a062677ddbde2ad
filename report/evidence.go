package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/ingest/store"
	"assay/report/bundle"
)

// Evidence is the evidence of a published bundle in a database in memory, with
// the views evaluated and the named queries answered. It is what a rendering is
// made from, kept open so that single claims can be recomputed. It is used by one
// goroutine, and has to be closed.
type Evidence struct {
	r       *renderer
	s       *session
	in      Input
	answers map[string]*answered // by query file, as published
	builder bundle.Builder       // of the running program
}

// answered is a query of a bundle with its rows by key.
type answered struct {
	result *result
	rows   map[string]int
	err    error
}

// Bounds of a query that is not this version's own.
const (
	strangeQueryTime = time.Minute
	strangeQueryRows = 200_000
)

// OpenEvidence loads the evidence of a bundle. An error means that it cannot be
// read, or is not of this form. Queries asked of it later reach no file and
// change no setting.
func OpenEvidence(ctx context.Context, in Input) (*Evidence, error) {
	e := &Evidence{r: &renderer{pages: pages{data: in.Data}}, in: in, answers: map[string]*answered{}}
	var err error
	if e.s, err = e.r.open(ctx, in); err != nil {
		return nil, fmt.Errorf("open evidence: %w", err)
	}
	for _, q := range e.r.queries {
		e.answers[q.name] = byKey(e.r.b.result(q.name), nil)
	}
	if e.builder, err = CurrentBuilder(ctx, e.s.db); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	for _, shut := range []string{"SET enable_external_access = false", "SET lock_configuration = true"} {
		if _, err := e.s.conn.ExecContext(ctx, shut); err != nil {
			return nil, errors.Join(store.Error("shut the database", err), e.Close())
		}
	}
	return e, nil
}

// Close gives up the database.
func (e *Evidence) Close() error { return e.s.close() }

// Render is the finding that follows from the evidence, as Render returns it. It
// is called once: a rendering notes in the claims where each is printed.
func (e *Evidence) Render() (Output, error) {
	out, err := e.r.render(e.in)
	if err != nil {
		return Output{}, fmt.Errorf("render finding %s: %w", e.r.id, err)
	}
	return out, nil
}

// Recompute returns the claim of an ID as it follows from the evidence, without
// its places: it runs the claim's query as the bundle publishes it. An error says
// why there is no such claim.
func (e *Evidence) Recompute(ctx context.Context, id string) (Claim, error) {
	name, rest, _ := strings.Cut(id, ":")
	at := strings.LastIndexByte(rest, ':')
	if at < 0 {
		return Claim{}, errors.New("the id is not QUERY:KEY:COLUMN")
	}
	key, column := rest[:at], rest[at+1:]
	a := e.answer(ctx, name)
	if a.err != nil {
		return Claim{}, a.err
	}
	row, ok := a.rows[key]
	switch {
	case !ok:
		return Claim{}, fmt.Errorf("queries/%s.sql returns no row of this key", name)
	case a.result.column(column) < 0:
		return Claim{}, fmt.Errorf("queries/%s.sql has no such column", name)
	case a.result.value(row, column) == nil:
		return Claim{}, errors.New("the value is missing in the evidence")
	}
	return e.r.b.newClaim(a.result, row, column, id), nil
}

// answer runs a published query once. The text that this version renders is
// answered already.
func (e *Evidence) answer(ctx context.Context, name string) *answered {
	text, ok := e.in.Data.Files["queries/"+name+".sql"]
	if !ok {
		return &answered{err: fmt.Errorf("the bundle has no queries/%s.sql", name)}
	}
	known, ok := e.answers[name]
	if ok && known.err != nil || ok && known.result.query.text == string(text) {
		return known
	}
	r, err := e.ask(ctx, parseQuery(name, string(text)))
	e.answers[name] = byKey(r, err)
	return e.answers[name]
}

// ask runs a query that somebody else wrote: one SELECT over nothing but the
// evidence, for a bounded time and number of rows.
func (e *Evidence) ask(ctx context.Context, q query) (*result, error) {
	ctx, stop := context.WithTimeout(ctx, strangeQueryTime)
	defer stop()
	var serialized string
	err := e.s.conn.QueryRowContext(ctx, "SELECT json_serialize_sql(?::VARCHAR)::VARCHAR", q.text).Scan(&serialized)
	if err != nil {
		return nil, store.Error("parse query", err)
	}
	var parsed struct {
		Error      bool              `json:"error"`
		Statements []json.RawMessage `json:"statements"`
	}
	if err := json.Unmarshal([]byte(serialized), &parsed); err != nil || parsed.Error || len(parsed.Statements) != 1 {
		return nil, fmt.Errorf("queries/%s.sql is not one SELECT", q.name)
	}
	bounded := q
	bounded.text = fmt.Sprintf("SELECT * FROM (\n%s\n) LIMIT %d", strings.TrimRight(q.text, "; \n"), strangeQueryRows)
	r, err := run(ctx, e.s.conn, bounded)
	if err == nil {
		r.query = q
	}
	return r, err
}

func byKey(r *result, err error) *answered {
	a := &answered{result: r, rows: map[string]int{}, err: err}
	if r != nil {
		for i := range r.rows {
			a.rows[r.key(i)] = i
		}
	}
	return a
}

// MetricValues returns the values a distribution is made of, by cell and metric,
// each list in ascending order: of the requests of eligible cells, unknown and
// withheld ones left out. Units are those of the metrics.
func (e *Evidence) MetricValues(ctx context.Context) (map[[2]string][]float64, error) {
	queries, err := loadRowsQueries()
	if err != nil {
		return nil, err
	}
	out := map[[2]string][]float64{}
	for _, q := range queries {
		if q.name != "metric_requests" {
			continue
		}
		r, err := run(ctx, e.s.conn, q)
		if err != nil {
			return nil, err
		}
		for i := range r.rows {
			if v, ok := r.number(i, "value"); ok && r.text(i, "population") == "eligible" {
				key := [2]string{r.text(i, "cell"), r.text(i, "metric")}
				out[key] = append(out[key], v)
			}
		}
	}
	for _, key := range slices.Collect(maps.Keys(out)) {
		slices.Sort(out[key])
	}
	return out, nil
}

// OtherLibraries names what the bundle was rendered with and this program renders
// with in different versions, sorted; a version that either does not know is not
// among them. Such a bundle cannot be expected to render to the same bytes.
func (e *Evidence) OtherLibraries(recorded bundle.Builder) []string {
	return OtherLibraries(e.builder, recorded)
}

// OtherLibraries names what two builders render with in different versions,
// sorted; a version that either does not know is not among them.
func OtherLibraries(here, recorded bundle.Builder) []string {
	versions := func(b bundle.Builder) map[string]string {
		out := maps.Clone(b.Deps)
		if out == nil {
			out = map[string]string{}
		}
		out["DuckDB"] = b.DuckDB
		return out
	}
	mine, theirs := versions(here), versions(recorded)
	var out []string
	for _, name := range append([]string{"DuckDB"}, rendering...) {
		if a, b := theirs[name], mine[name]; a != b && a != "" && b != "" {
			out = append(out, fmt.Sprintf("%s %s (here %s)", name, a, b))
		}
	}
	slices.Sort(out)
	return out
}
