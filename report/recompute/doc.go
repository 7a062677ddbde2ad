// Package recompute holds the checks of a published bundle that need more than
// its bytes: the plan and its lock (V-10, V-11), the form of the data (V-15), and
// everything that is computed again from it (V-16 to V-22).
//
// What comes in: a bundle.Loaded. What goes out: rows for the table of package
// bundle, which cannot hold them itself because it links neither cgo nor DuckDB.
//
//	result, err := recompute.Verify(ctx, loaded, recompute.Options{Level: 2})
//	...
//	if !result.OK() { ... result.Problems ... }
//
// The data is read twice, on purpose. V-15 reads each Parquet file with a reader
// of its own that takes the one published form, unpacks no more than its bounds
// allow and trusts no count; only what passes is given to DuckDB, for the other
// checks. So a hostile file is a problem, not a crash.
//
// It never writes, never follows an address, and runs a query of a bundle only
// with files and settings out of reach.
package recompute
