package report

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/analyze"
	"assay/ingest/store"
	"assay/report/sanitize"
)

// load fills a database in memory from the evidence files of a bundle, under the
// tables every campaign's database has. views makes the reference tables, and may
// make the views. The caller closes the database.
func load(ctx context.Context, files map[string][]byte, threads int, views func(context.Context, *store.DB) error) (_ *store.DB, err error) {
	dir, err := os.MkdirTemp("", "assay-render-*")
	if err != nil {
		return nil, fmt.Errorf("load bundle data: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := store.Open("", store.Options{Threads: threads})
	if err != nil {
		return nil, fmt.Errorf("load bundle data: %w", err)
	}
	if err := fill(ctx, db, dir, files, views); err != nil {
		return nil, errors.Join(fmt.Errorf("load bundle data: %w", err), db.Close())
	}
	return db, nil
}

func fill(ctx context.Context, db *store.DB, dir string, files map[string][]byte, views func(context.Context, *store.DB) error) error {
	if err := db.CreateTables(ctx); err != nil {
		return err
	}
	// What is published of the reference tables comes after they are made.
	if err := fillTables(ctx, db, dir, files, false); err != nil {
		return err
	}
	if err := views(ctx, db); err != nil {
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

// session is a database in memory with a bundle's evidence and its views
// evaluated. All questions go to its one connection, because a search path is a
// setting of a connection.
type session struct {
	db   *store.DB
	conn *sql.Conn
}

func openSession(ctx context.Context, files map[string][]byte, threads int) (*session, error) {
	db, err := load(ctx, files, threads, analyze.CreateReference)
	if err != nil {
		return nil, err
	}
	conn, err := db.SQL().Conn(ctx)
	if err != nil {
		return nil, errors.Join(store.Error("open connection", err), db.Close())
	}
	s := &session{db, conn}
	if err := keepViews(ctx, conn); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *session) close() error {
	return errors.Join(store.Error("close connection", s.conn.Close()), s.db.Close())
}

// keepViews evaluates each view once, each after those it reads, and puts its rows
// on the connection's search path in the view's place, so that what comes later
// reads rows and not a view over views.
func keepViews(ctx context.Context, conn *sql.Conn) error {
	exec := func(statement string) error {
		_, err := conn.ExecContext(ctx, statement)
		return store.Error("evaluate the views", err)
	}
	if err := errors.Join(exec("CREATE SCHEMA kept"), exec("SET search_path = 'kept,main'")); err != nil {
		return err
	}
	for _, v := range analyze.ViewNames() {
		if strings.HasPrefix(v, "artifact_") {
			continue // a campaign has no artifacts
		}
		body, ok := analyze.ViewBody(v)
		if !ok {
			return fmt.Errorf("view %s has no text", v)
		}
		if err := exec("CREATE TABLE kept." + v + " AS " + body); err != nil {
			return err
		}
	}
	return nil
}

// withheldColumns are columns of the database that are not published and may not
// be null: what they hold instead. The plan is the bundle's own plan.json.
var withheldColumns = map[string]string{"campaigns": "plan", "pages": "body_sha256"}

// keptColumns are the columns of a table that a file of it has. A bundle that was
// sealed before a column came to be has none of it: the column is null then, and
// the table says whether it may be.
func keptColumns(ctx context.Context, db *store.DB, table, path string) ([]string, error) {
	rows, err := db.Query(ctx, "read columns", "SELECT column_name FROM (DESCRIBE SELECT * FROM read_parquet(?))", path)
	have, err := store.Collect(rows, err, func(name *string) []any { return []any{name} })
	if err != nil {
		return nil, fmt.Errorf("not readable as table %s: %w", table, err)
	}
	return slices.DeleteFunc(sanitize.Columns(table), func(c string) bool { return !slices.Contains(have, c) }), nil
}

func fillTable(ctx context.Context, db *store.DB, p published, path, planText string) error {
	kept, err := keptColumns(ctx, db, p.table, path)
	if err != nil {
		return err
	}
	columns := strings.Join(kept, ", ")
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
	_, err = db.SQL().ExecContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM read_parquet(?)", p.table, into, values), args...)
	if err != nil {
		return fmt.Errorf("not readable as table %s: %w", p.table, store.Error("read parquet", err))
	}
	return nil
}
