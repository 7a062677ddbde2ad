package store

import (
	"context"
	_ "embed"
)

// Schema is schema.sql: every loaded table with a comment on each column.
//
//go:embed schema.sql
var Schema string

// viewComments gives the view requests the comments of the table it shows.
const viewComments = `SELECT 'COMMENT ON COLUMN requests.' || column_name || ' IS ''' || replace(comment, '''', '''''') || ''''
FROM duckdb_columns() WHERE table_name = 'request_facts' AND NOT internal ORDER BY column_index`

// CreateTables creates the tables of schema.sql where they are missing, sets
// all comments again, and renews the view requests.
func (db *DB) CreateTables(ctx context.Context) error {
	return db.Tx(ctx, func(tx *Tx) error {
		if err := tx.Exec(ctx, "create tables", Schema); err != nil {
			return err
		}
		statements, err := Strings(tx.Query(ctx, "read comments", viewComments))
		if err != nil {
			return err
		}
		for _, s := range statements {
			if err := tx.Exec(ctx, "comment on requests", s); err != nil {
				return err
			}
		}
		return nil
	})
}
