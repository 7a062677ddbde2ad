// Package report turns an analysed campaign into a finding: the narrative, its
// evidence bundle and its plots.
//
// There are two steps. Export reads the database and returns the files of the
// bundle that are evidence: sanitised tables as Parquet, the redacted plan, its
// lock, the list of sources. Render reads those files and nothing else, loads
// them into a database in memory under the same tables and views, runs the named
// queries in queries/, and returns everything that follows: tables, plots,
// verdicts, claims, the Markdown. So publishing, checking and regenerating are
// one code path, and none of them but Export needs the campaign's database.
//
// A derived finding has no campaign: DeriveData reads a spec of sources, facts and
// words, and Render makes the finding from those evidence files in the same way.
//
// What comes in: a database that ingest filled, or a published bundle. What goes
// out: a bundle.Draft that package bundle seals, a list of differences, or the
// Evidence of a bundle, of which package recompute asks single claims again.
//
// Every number in the narrative is a claim: it has the query it came from, the
// key of its row, its raw value, unit and n, and where it is printed. Numbers
// become text in format.go and nowhere else.
//
// It never sends a request, never reads a clock, a host name or the environment,
// never publishes text of a prompt or an answer, and never prints a number it
// does not have: a missing one is a dash with its reason.
//
//	sealed, err := report.Publish(ctx, db, campaign, "findings")
//	...
//	differences, err := report.Recheck(ctx, "findings")
package report
