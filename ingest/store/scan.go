package store

import (
	"database/sql"
	"errors"
)

// Strings reads a query of one text column whole and closes it. It takes the
// two results of Query.
func Strings(rows *sql.Rows, err error) ([]string, error) {
	return Collect(rows, err, func(s *string) []any { return []any{s} })
}

// Collect reads all rows of a query and closes it. into gives the scan
// targets of one row, in column order.
func Collect[T any](rows *sql.Rows, err error, into func(*T) []any) (all []T, _ error) {
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var row T
		if err := rows.Scan(into(&row)...); err != nil {
			return nil, errors.Join(Error("scan", err), Error("close rows", rows.Close()))
		}
		all = append(all, row)
	}
	return all, errors.Join(Error("read rows", rows.Err()), Error("close rows", rows.Close()))
}
