package analyze

import (
	"context"
	"fmt"
	"strings"

	"assay/ingest/store"
)

// relation is a table or view as the database describes it.
type relation struct {
	name, comment string
	view          bool
	columns       []relationColumn
}

type relationColumn struct{ name, kind, comment string }

const schemaHead = `# Database schema

Generated from the comments of the database; do not edit. A request is keyed by
campaign, arm, cell, attempt and request_index. Missing values are null, never 0.
`

// SchemaMarkdown is the text of docs/schema.md: every table and view of the
// database with its columns, types, units and comments. Tables come by name, our
// views in the order of ViewNames and other views after them by name.
func SchemaMarkdown(ctx context.Context, db *store.DB) (string, error) {
	relations, err := readRelations(ctx, db)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(schemaHead)
	writeRelations(&b, "Tables", relations, false)
	writeRelations(&b, "Views", relations, true)
	return b.String(), nil
}

func readRelations(ctx context.Context, db *store.DB) ([]*relation, error) {
	rows, err := db.Query(ctx, "read tables", `SELECT table_name, coalesce(comment, ''), false FROM duckdb_tables() WHERE NOT internal AND NOT temporary
		UNION ALL SELECT view_name, coalesce(comment, ''), true FROM duckdb_views() WHERE NOT internal AND NOT temporary ORDER BY 3, 1`)
	found, err := store.Collect(rows, err, func(r *relation) []any { return []any{&r.name, &r.comment, &r.view} })
	if err != nil {
		return nil, err
	}
	type owned struct {
		table string
		relationColumn
	}
	rows, err = db.Query(ctx, "read columns", `SELECT table_name, column_name, data_type, coalesce(comment, '')
		FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index`)
	columns, err := store.Collect(rows, err, func(c *owned) []any { return []any{&c.table, &c.name, &c.kind, &c.comment} })
	if err != nil {
		return nil, err
	}
	byName := map[string]*relation{}
	for i := range found {
		byName[found[i].name] = &found[i]
	}
	for _, c := range columns {
		if r, ok := byName[c.table]; ok {
			r.columns = append(r.columns, c.relationColumn)
		}
	}
	return inViewOrder(found, byName), nil
}

func inViewOrder(found []relation, byName map[string]*relation) []*relation {
	ours := map[string]bool{}
	var ordered []*relation
	for _, name := range viewOrder {
		if r, ok := byName[name]; ok {
			ours[name] = true
			ordered = append(ordered, r)
		}
	}
	for i := range found {
		if !ours[found[i].name] {
			ordered = append(ordered, &found[i])
		}
	}
	return ordered
}

func writeRelations(b *strings.Builder, title string, relations []*relation, views bool) {
	fmt.Fprintf(b, "\n## %s\n", title)
	for _, r := range relations {
		if r.view != views {
			continue
		}
		fmt.Fprintf(b, "\n### %s\n\n%s\n\n| Column | Type | Unit | Meaning |\n|---|---|---|---|\n", r.name, r.comment)
		for _, c := range r.columns {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", c.name, c.kind, columnUnit(c.name), strings.ReplaceAll(c.comment, "|", `\|`))
		}
	}
}

// columnUnits gives the unit that a column's name ends in, longest ending first.
var columnUnits = []struct{ ending, unit string }{
	{"_unix_ns", "ns since 1970 UTC"},
	{"_tok_s", "tokens/s"},
	{"_tokens", "tokens"},
	{"_bytes", "bytes"},
	{"_chars", "characters"},
	{"_percent", "percent"},
	{"_share", "0 to 1"},
	{"_mhz", "MHz"},
	{"_ns", "ns"},
	{"_us", "µs"},
	{"_mw", "mW"},
	{"_mj", "mJ"},
	{"_s", "s"},
	{"_c", "°C"},
}

// columnUnit is the unit of a column by the ending of its name; "" for a column
// without a unit, or with one that its row states in the column unit.
func columnUnit(name string) string {
	for _, u := range columnUnits {
		if strings.HasSuffix(name, u.ending) {
			return u.unit
		}
	}
	return ""
}
