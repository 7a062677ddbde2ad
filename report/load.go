package report

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assay/analyze"
	"assay/ingest/store"
	"assay/report/sanitize"
)

// load fills a database in memory from the evidence files of a bundle, under the
// tables and views every campaign's database has. The caller closes it.
func load(ctx context.Context, files map[string][]byte, threads int) (_ *store.DB, err error) {
	dir, err := os.MkdirTemp("", "assay-render-*")
	if err != nil {
		return nil, fmt.Errorf("load bundle data: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := store.Open("", store.Options{Threads: threads})
	if err != nil {
		return nil, fmt.Errorf("load bundle data: %w", err)
	}
	if err := fill(ctx, db, dir, files); err != nil {
		return nil, errors.Join(fmt.Errorf("load bundle data: %w", err), db.Close())
	}
	return db, nil
}

func fill(ctx context.Context, db *store.DB, dir string, files map[string][]byte) error {
	if err := db.CreateTables(ctx); err != nil {
		return err
	}
	// The reference tables are made with the views, so what is published of them
	// comes after.
	if err := fillTables(ctx, db, dir, files, false); err != nil {
		return err
	}
	if err := analyze.CreateViews(ctx, db); err != nil {
		return err
	}
	return fillTables(ctx, db, dir, files, true)
}

func fillTables(ctx context.Context, db *store.DB, dir string, files map[string][]byte, reference bool) error {
	for _, p := range publishedTables {
		if (p.table == repeatTable) != reference {
			continue
		}
		data, ok := files["data/"+p.file+".parquet"]
		if !ok && p.optional {
			continue
		}
		if !ok {
			return fmt.Errorf("data/%s.parquet is not in the bundle", p.file)
		}
		path := filepath.Join(dir, p.file+".parquet")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
		if err := fillTable(ctx, db, p, path, string(files[planFile])); err != nil {
			return fmt.Errorf("data/%s.parquet: %w", p.file, err)
		}
	}
	return nil
}

// keptViews are the views the named queries read, each after those it is made of.
var keptViews = []string{
	"request_metrics", "request_verdicts", "cell_verdicts", "cell_eligibility", "metric_withholdings", "cell_distributions", "cell_overlap",
	"histogram_deltas", "histogram_summary", "counter_deltas", "engine_gauges", "engine_checks", "gauge_summary", "page_scrapes", "client_telemetry", "engine_beside_client", "sampling_intervals", "pair_comparability",
	"campaign_repeats", "repeat_spread", "comparisons",
	"capacity_facts", "concurrency_claims",
}

// keepViews evaluates each view once and puts its rows before the view on the
// connection's search path. Thirty queries over nested views would evaluate the
// verdicts of all requests dozens of times.
func keepViews(ctx context.Context, conn *sql.Conn) error {
	statements := []string{"CREATE SCHEMA kept", "SET search_path = 'kept,main'"}
	for _, v := range keptViews {
		statements = append(statements, fmt.Sprintf("CREATE TABLE kept.%[1]s AS FROM main.%[1]s", v))
	}
	for _, s := range statements {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return store.Error("evaluate the views", err)
		}
	}
	return nil
}

// withheldColumns are columns of the database that are not published and may not
// be null: what they hold instead. The plan is the bundle's own plan.json.
var withheldColumns = map[string]string{"campaigns": "plan", "pages": "body_sha256"}

func fillTable(ctx context.Context, db *store.DB, p published, path, planText string) error {
	columns := strings.Join(sanitize.Columns(p.table), ", ")
	into, values := columns, columns
	args := []any{}
	if extra, ok := withheldColumns[p.table]; ok {
		into, values = into+", "+extra, values+", ?::VARCHAR"
		text := ""
		if extra == "plan" {
			text = planText
		}
		args = append(args, text)
	}
	args = append(args, path)
	_, err := db.SQL().ExecContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM read_parquet(?)", p.table, into, values), args...)
	if err != nil {
		return fmt.Errorf("not readable as table %s: %w", p.table, store.Error("read parquet", err))
	}
	return nil
}
