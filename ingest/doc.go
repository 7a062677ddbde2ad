// Package ingest loads run directories, and through artifact the result files
// of other tools, into the database.
//
// In: run directories (plan.json, plan.lock.json, run.json, journal.jsonl and
// the Parquet files below cells). Out: the loaded tables of store's schema.sql,
// and a Summary of what was read, left alone and found wrong.
//
// A source is known by its content and its path. Loading the same directory
// twice changes nothing; one that grew is brought up to date: each attempt
// folder whose files changed is replaced in one transaction. A folder that
// cannot be loaded leaves nothing but a row in problems, and the rest loads.
//
// What a chunk of a stream means is in sql/events.sql, how a request's events
// become one row is in sql/request_facts.sql. Text of prompts and answers is
// looked at there and never stored.
//
// It never changes a run directory, never estimates a value, and never drops a
// row without saying so.
//
//	summary, err := ingest.Run(ctx, db, []string{"run"}, slog.Default())
package ingest
