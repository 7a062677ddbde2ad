// Package record describes what a run directory holds and writes it.
//
// Each table is a Go struct whose fields carry the column's name, kind, unit
// and meaning in tags. The Arrow schema, the DDL, the database comments and
// the schema reference all follow from those tags, so a column is described
// exactly once.
//
// In: rows of raw facts (bytes, clock readings, counts, settings).
// Out: a crash-safe spool while a cell runs, Parquet files when it has ended,
// and the run's journal.
//
// It never derives a value. Latencies, rates and verdicts are computed later
// by ingest and analyze, so that a definition can be corrected without a GPU.
//
//	spool, err := record.CreateSpool(path)
//	err = record.Append(spool, record.Requests, rows)
//	err = spool.Sync()
//	err = record.Convert(path, folder, meta)
package record
