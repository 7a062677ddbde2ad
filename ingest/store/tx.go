package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/duckdb/duckdb-go/v2"
)

// Tx is one transaction on a connection of its own. After its first error it
// can only be rolled back: DuckDB's COMMIT after a failed statement reports
// success and stores nothing.
type Tx struct {
	conn   *sql.Conn
	failed error
}

// Tx runs fn in a transaction: commit when fn returns nil and no statement
// failed, else rollback. Temporary tables fn creates stay on the connection
// and must be dropped by it.
func (db *DB) Tx(ctx context.Context, fn func(*Tx) error) (err error) {
	conn, err := db.pool.Conn(ctx)
	if err != nil {
		return Error("open connection", err)
	}
	defer func() { err = errors.Join(err, Error("close connection", conn.Close())) }()
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return Error("begin", err)
	}
	tx := &Tx{conn: conn}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.rollback(ctx))
	}
	if tx.failed != nil {
		return errors.Join(tx.failed, tx.rollback(ctx))
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return errors.Join(Error("commit", err), tx.rollback(ctx))
	}
	return nil
}

// rollback must work also when the context that failed the transaction is over.
func (tx *Tx) rollback(ctx context.Context) error {
	_, err := tx.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	var duck *duckdb.Error
	if errors.As(err, &duck) && duck.Type == duckdb.ErrorTypeTransaction {
		return nil // DuckDB has rolled it back already
	}
	return Error("rollback", err)
}

// Exec runs statements; step names them in an error.
func (tx *Tx) Exec(ctx context.Context, step, query string, args ...any) error {
	_, err := tx.conn.ExecContext(ctx, query, args...)
	return tx.note(Error(step, err))
}

// Query runs one query; step names it in an error. Pass rows.Err() through
// Error as well.
func (tx *Tx) Query(ctx context.Context, step, query string, args ...any) (*sql.Rows, error) {
	rows, err := tx.conn.QueryContext(ctx, query, args...)
	return rows, tx.note(Error(step, err))
}

// Append adds rows to a table through DuckDB's appender, about 500 times as
// fast as INSERT. fill calls add once a row with one value a column, in the
// table's order; nil is null.
func (tx *Tx) Append(table string, fill func(add func(values ...any) error) error) error {
	step := "append to " + table
	err := tx.conn.Raw(func(raw any) error {
		conn, ok := raw.(driver.Conn)
		if !ok {
			return fmt.Errorf("%s: not a DuckDB connection", step)
		}
		appender, err := duckdb.NewAppenderFromConn(conn, "", table)
		if err != nil {
			return Error(step, err)
		}
		add := func(values ...any) error {
			row := make([]driver.Value, len(values))
			for i, v := range values {
				row[i] = v
			}
			return Error(step, appender.AppendRow(row...))
		}
		if err := fill(add); err != nil {
			return errors.Join(err, Error(step, appender.Clear()), Error(step, appender.Close()))
		}
		return Error(step, appender.Close())
	})
	return tx.note(err)
}

func (tx *Tx) note(err error) error {
	if err != nil && tx.failed == nil {
		tx.failed = err
	}
	return err
}

// Null gives an appender the value of a pointer, or null.
func Null[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}
