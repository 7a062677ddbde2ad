// Package analyze turns the tables an ingest fills into verdicts, statistics,
// engine deltas and comparisons.
//
// In: a database with the tables of ingest/store. Out: one SQL view a file under
// sql/, each with comments on itself and its columns; the eligibility table; and
// the text of docs/schema.md. The definitions are those of protocol assay/v1.
//
//	err := analyze.CreateViews(ctx, db)
//	cells, err := analyze.Eligibility(ctx, db, campaign)
//	err = analyze.WriteEligibility(os.Stdout, cells)
//
// What the views know besides the tables (the canonical mapping, the rules a plan
// demands, ranks and floors) stands in tables that CreateViews fills; see
// tables.sql.
//
// It reads no events, no run directory and no clock. It never drops a cell or a
// request, never fills in a missing value, and never says which arm is better.
package analyze
