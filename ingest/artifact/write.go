package artifact

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"

	"assay/ingest/store"
)

// groupFiles is how many files are written in one transaction. Each costs
// milliseconds to commit, whatever it holds.
const groupFiles = 32

// pendingRows is how many rows are worth a write.
const pendingRows = 5000

// writer puts files into the database.
type writer struct {
	db      *store.DB
	log     *slog.Logger
	summary Summary
	pending Batch
}

// writeAll writes files in order, a group of whole files at a time: an
// interrupted load leaves no half file.
func (w *writer) writeAll(ctx context.Context, files []found, streams []*stream, slots <-chan struct{}) error {
	for from := 0; from < len(files); from += groupFiles {
		to := min(from+groupFiles, len(files))
		before := w.summary
		err := w.db.Tx(ctx, func(tx *store.Tx) error {
			for i := from; i < to; i++ {
				if err := w.writeFile(ctx, tx, streams[i]); err != nil {
					return fmt.Errorf("load %s: %w", files[i].name, err)
				}
				<-slots
			}
			return w.flush(ctx, tx)
		})
		if err != nil {
			w.summary = before
			return err
		}
	}
	return nil
}

func (w *writer) writeFile(ctx context.Context, tx *store.Tx, s *stream) error {
	w.summary.Files++
	state := stateRefused
	rows := 0
	for b := range s.batches {
		if len(b.Artifacts) > 0 {
			state = b.Artifacts[0].State
		}
		rows += b.rows()
		if err := w.take(ctx, tx, b); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil: // a reader that was told to stop leaves half a file
		return ctx.Err()
	case rows == 0 && s.unchanged:
		w.summary.Unchanged++
	case state == stateLoaded:
		w.summary.Loaded++
	case state == stateNamed:
		w.summary.Named++
	default:
		w.summary.Refused++
	}
	return nil
}

// take counts a batch and holds its rows until they are worth a write.
func (w *writer) take(ctx context.Context, tx *store.Tx, b Batch) error {
	for _, a := range b.Artifacts {
		if a.State == stateLoaded {
			w.summary.Runs++
		}
	}
	for _, p := range b.Problems {
		w.log.Warn("artifact", "code", string(p.Code), "source", p.Source, "position", p.Position)
	}
	w.summary.Requests += int64(len(b.Requests))
	w.summary.Stats += int64(len(b.Stats))
	w.summary.Problems += len(b.Problems)
	w.pending.Artifacts = append(w.pending.Artifacts, b.Artifacts...)
	w.pending.Requests = append(w.pending.Requests, b.Requests...)
	w.pending.Stats = append(w.pending.Stats, b.Stats...)
	w.pending.Problems = append(w.pending.Problems, b.Problems...)
	if w.pending.rows() < pendingRows {
		return nil
	}
	return w.flush(ctx, tx)
}

func (w *writer) flush(ctx context.Context, tx *store.Tx) error {
	b := w.pending
	w.pending = Batch{}
	for _, write := range []func() error{
		func() error { return appendRows(tx, "artifacts", b.Artifacts) },
		func() error { return appendRows(tx, "artifact_requests", b.Requests) },
		func() error { return appendRows(tx, "artifact_stats", b.Stats) },
		func() error { return writeProblems(ctx, tx, b.Problems) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// writeProblems keeps one row of a problem that is found again: a link or an
// unreadable file has no digest to be known by.
func writeProblems(ctx context.Context, tx *store.Tx, list []Problem) error {
	for _, p := range list {
		err := tx.Exec(ctx, "clear problem", `DELETE FROM problems WHERE campaign IS NULL AND stage = 'ingest'
			AND code = ? AND source = ? AND position = ? AND detail = ?`, string(p.Code), p.Source, p.Position, p.Detail)
		if err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return nil
	}
	return tx.Append("problems", func(add func(...any) error) error {
		for _, p := range list {
			if err := add(nil, nil, nil, nil, "ingest", string(p.Code), p.Source, p.Position, p.Detail); err != nil {
				return err
			}
		}
		return nil
	})
}

// appendRows writes structs whose fields are a table's columns in order.
func appendRows[T any](tx *store.Tx, table string, rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	return tx.Append(table, func(add func(...any) error) error {
		for i := range rows {
			if err := add(rowValues(reflect.ValueOf(&rows[i]).Elem(), nil)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// rowValues lists the values of a row: nil for a nil pointer and for an empty
// text, which stand for null.
func rowValues(row reflect.Value, values []any) []any {
	for i := range row.NumField() {
		field := row.Field(i)
		switch {
		case field.Kind() == reflect.Struct: // the embedded key
			values = rowValues(field, values)
		case field.Kind() == reflect.Pointer && field.IsNil(), field.Kind() == reflect.String && field.Len() == 0:
			values = append(values, nil)
		case field.Kind() == reflect.Pointer:
			values = append(values, field.Elem().Interface())
		case field.Kind() == reflect.String:
			values = append(values, field.String())
		default:
			values = append(values, field.Interface())
		}
	}
	return values
}
