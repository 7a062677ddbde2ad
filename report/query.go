package report

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"math/big"
	"path"
	"slices"
	"strings"

	"assay/ingest/store"
)

// queryFiles holds the named queries. Each is published in the bundle as it is
// and runs over the tables and views of the database schema.
//
//go:embed queries/*.sql queries/rows/*.sql queries/derived/*.sql
var queryFiles embed.FS

// query is one named query, as its comment lines describe it.
type query struct {
	name  string
	text  string
	title string   // first comment line
	key   []string // columns that identify a row
	count string   // column with the n of the row's numbers, or empty
	// rows says what stands behind a row: "NAME where CONDITION", the rows of
	// queries/rows/NAME.sql that hold the condition and have the same value in each
	// key column they share with the query; or "none: REASON".
	rows  string
	plain bool // not published as a table of its own
}

// querier is the part of *sql.DB that is needed.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// result is what a query returned. A value is nil, int64, float64, bool or string.
type result struct {
	query   query
	columns []string
	types   []string // DuckDB type names
	rows    [][]any
}

// loadQueries reads the embedded queries, sorted by name.
func loadQueries() ([]query, error) { return readQueries("queries") }

// loadRowsQueries reads the queries that return what stands behind the rows of
// the others, sorted by name.
func loadRowsQueries() ([]query, error) { return readQueries("queries/rows") }

// loadDerivedQueries reads the queries over the facts of a derived finding, sorted
// by name.
func loadDerivedQueries() ([]query, error) { return readQueries("queries/derived") }

func readQueries(folder string) ([]query, error) {
	entries, err := queryFiles.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("list queries: %w", err)
	}
	out := make([]query, 0, len(entries))
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		text, err := queryFiles.ReadFile(path.Join(folder, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read query: %w", err)
		}
		out = append(out, parseQuery(strings.TrimSuffix(e.Name(), ".sql"), string(text)))
	}
	return out, nil
}

// parseQuery reads the comment lines at the top: the title, then "key:", "n:",
// "rows:" and "plain" lines.
func parseQuery(name, text string) query {
	q := query{name: name, text: text}
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if !ok {
			break
		}
		field, rest, _ := strings.Cut(comment, ": ")
		switch field {
		case "key":
			q.key = strings.Split(rest, ", ")
		case "n":
			q.count = rest
		case "rows":
			q.rows = rest
		case "plain":
			q.plain = true
		default:
			q.title = strings.TrimSpace(q.title + " " + comment)
		}
	}
	return q
}

// run executes a query and checks that its key is unique, so that a claim can
// name one row.
func run(ctx context.Context, db querier, q query) (*result, error) {
	rows, err := db.QueryContext(ctx, q.text)
	if err != nil {
		return nil, store.Error("query "+q.name, err)
	}
	r, err := collect(rows)
	if err != nil {
		return nil, store.Error("query "+q.name, err)
	}
	r.query = q
	seen := make(map[string]bool, len(r.rows))
	for i := range r.rows {
		key := r.key(i)
		if seen[key] {
			return nil, fmt.Errorf("query %s: key %s is not unique", q.name, key)
		}
		seen[key] = true
	}
	return r, nil
}

// collect reads all rows. An error of the driver goes through store.Error at the
// caller, because its text can quote data.
func collect(rows *sql.Rows) (r *result, err error) {
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	columns, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	r = &result{}
	for _, c := range columns {
		r.columns = append(r.columns, c.Name())
		r.types = append(r.types, c.DatabaseTypeName())
	}
	for rows.Next() {
		values := make([]any, len(columns))
		targets := make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		for i := range values {
			if values[i], err = plainValue(values[i]); err != nil {
				return nil, fmt.Errorf("column %s: %w", r.columns[i], err)
			}
		}
		r.rows = append(r.rows, values)
	}
	return r, rows.Err()
}

// plainValue narrows what the driver returns to the five kinds a result has.
func plainValue(v any) (any, error) {
	switch v := v.(type) {
	case nil, int64, float64, bool, string:
		return v, nil
	case int32:
		return int64(v), nil
	case int16:
		return int64(v), nil
	case int8:
		return int64(v), nil
	case uint64:
		return plainValue(new(big.Int).SetUint64(v))
	case uint32:
		return int64(v), nil
	case *big.Int:
		if !v.IsInt64() {
			return nil, fmt.Errorf("a whole number beyond 64 bits")
		}
		return v.Int64(), nil
	}
	return nil, fmt.Errorf("a value of type %T, which a result cannot hold", v)
}

// column returns the position of a column, or -1.
func (r *result) column(name string) int { return slices.Index(r.columns, name) }

// value returns the value of a named column, nil when it is null or not there.
func (r *result) value(row int, column string) any {
	if i := r.column(column); i >= 0 {
		return r.rows[row][i]
	}
	return nil
}

// text returns a text column, empty when it is null.
func (r *result) text(row int, column string) string {
	s, _ := r.value(row, column).(string)
	return s
}

// whole returns a whole-number column.
func (r *result) whole(row int, column string) (int64, bool) {
	n, ok := r.value(row, column).(int64)
	return n, ok
}

// number returns a column of either numeric type as a float.
func (r *result) number(row int, column string) (float64, bool) {
	switch v := r.value(row, column).(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// flag reports whether a boolean column is true.
func (r *result) flag(row int, column string) bool {
	b, _ := r.value(row, column).(bool)
	return b
}

// key names a row: the values of the key columns, separated by slashes.
func (r *result) key(row int) string {
	parts := make([]string, len(r.query.key))
	for i, k := range r.query.key {
		parts[i] = rawText(r.value(row, k))
	}
	return strings.Join(parts, "/")
}

// find returns the rows whose columns have the given values, given as
// column, value, column, value.
func (r *result) find(where ...any) []int {
	var out []int
	for row := range r.rows {
		match := true
		for i := 0; i < len(where); i += 2 {
			match = match && r.value(row, where[i].(string)) == where[i+1]
		}
		if match {
			out = append(out, row)
		}
	}
	return out
}
