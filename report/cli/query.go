package cli

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	collect "assay/collect/cli"
	"assay/ingest/store"
)

func queryCommand(env collect.Env) *cobra.Command {
	var d database
	var format string
	cmd := &cobra.Command{
		Use: `query --db DB "SQL"`, Args: arguments(1, 1),
		Short: "ask the database a question in SQL, read-only",
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := queryFormats[format]
			if !ok && format != "parquet" {
				return collect.Usage(fmt.Errorf("--format %s: take table, csv, json or parquet", format))
			}
			if _, err := os.Stat(d.path); err != nil {
				return fmt.Errorf("there is no database %s; make it with assay ingest RUN --db %s", d.path, d.path)
			}
			return d.use(true, func(db *store.DB) error {
				if format == "parquet" {
					return queryParquet(cmd.Context(), db, args[0], env.Stdout)
				}
				return query(cmd.Context(), db, args[0], env.Stdout, write)
			})
		},
	}
	d.flags(cmd)
	cmd.Flags().StringVar(&format, "format", "table", "table, csv, json or parquet")
	return cmd
}

// query runs one statement. The driver's own words are shown: they go to the
// person who typed the SQL, and the database holds no prompt and no answer.
func query(ctx context.Context, db *store.DB, statement string, w io.Writer, write func(io.Writer, grid) error) error {
	rows, err := db.SQL().QueryContext(ctx, statement)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	g, err := readGrid(rows)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	return write(w, g)
}

// grid is a result in memory: names and values by row.
type grid struct {
	names []string
	rows  [][]any
}

func readGrid(rows *sql.Rows) (g grid, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	if g.names, err = rows.Columns(); err != nil {
		return g, err
	}
	for rows.Next() {
		values := make([]any, len(g.names))
		into := make([]any, len(values))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return g, err
		}
		g.rows = append(g.rows, values)
	}
	return g, rows.Err()
}

// queryParquet lets the database write the file, since Parquet needs its types.
func queryParquet(ctx context.Context, db *store.DB, statement string, w io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "assay-query-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "result.parquet")
	statement = strings.TrimRight(strings.TrimSpace(statement), ";")
	target := "'" + strings.ReplaceAll(path, "'", "''") + "'"
	if _, err := db.SQL().ExecContext(ctx, "COPY (\n"+statement+"\n) TO "+target+" (FORMAT parquet, COMPRESSION zstd)"); err != nil {
		return fmt.Errorf("query: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

var queryFormats = map[string]func(io.Writer, grid) error{
	"table": writeTable,
	"csv":   writeCSV,
	"json":  writeJSON,
}

// column returns the texts of one column; null is shown as such, apart from an
// empty text.
func (g grid) column(i int) []string {
	texts := make([]string, len(g.rows))
	for r, row := range g.rows {
		texts[r] = "NULL"
		if row[i] != nil {
			texts[r] = text(row[i])
		}
	}
	return texts
}

func (g grid) columns() [][]string {
	var columns [][]string
	for i := range g.names {
		columns = append(columns, g.column(i))
	}
	return slices.Clip(columns)
}
