// Package artifact loads result files that other tools retained.
//
// In: a file, or a folder of anything. Out: the tables artifacts,
// artifact_requests and artifact_stats of store's schema.sql, and one row of
// problems for each thing found wrong.
//
// Each tool has one file here (anvil.go, vllm.go, ...) and one entry in the
// list importers. An importer recognises its format by content and version and
// keeps the tool's own definitions under a protocol name of the tool's. A file
// that no importer knows is kept by name, digest and kind, and nothing in it is
// guessed at. Every statistic a file states is recomputed from its rows, with
// the tool's own percentile rule, where it has rows.
//
// A file is known by its digest and its path below the source, never by a run
// id. Loading the same file twice changes nothing.
//
// It never changes a file, follows no link, keeps no text of a prompt, an
// answer or an error, fills in no value, and turns no missing evidence into a
// pass.
//
//	summary, err := artifact.Load(ctx, db, "results", artifact.Options{})
package artifact
