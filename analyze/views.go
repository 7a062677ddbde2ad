package analyze

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"

	"assay/ingest/store"
)

//go:embed tables.sql repeats.sql sql/*.sql
var files embed.FS

// viewOrder lists the views so that each stands after those it reads.
var viewOrder = []string{
	"counted_attempts",
	"request_values",
	"request_withholdings",
	"request_verdicts",
	"request_passes",
	"cell_verdicts",
	"cell_eligibility",
	"overlap_figures",
	"cell_pairs",
	"attempt_pages",
	"resolved_series",
	"histogram_series",
	"histogram_deltas",
	"counter_deltas",
	"engine_checks",
	"engine_gauges",
	"gauge_summary",
	"page_scrapes",
	"client_telemetry",
	"sampling_intervals",
	"cell_energy",
	"oom_counters",
	"cell_memory",
	"gpu_figures",
	"metric_withholdings",
	"request_metrics",
	"cell_distributions",
	"cell_overlap",
	"histogram_summary",
	"engine_beside_client",
	"pair_comparability",
	"campaign_repeats",
	"repeat_spread",
	"comparisons",
	"capacity_facts",
	"concurrency_claims",
	"artifact_controls",
	"artifact_standing",
	"artifact_comparability",
	"artifact_configurations",
	"artifact_repeats",
	"artifact_spread",
	"artifact_verdicts",
}

// ViewNames lists the views, each after those it reads.
func ViewNames() []string { return slices.Clone(viewOrder) }

// ViewSQL is the file that makes a view, header comment and column comments
// included; ok is false for a name that is no view.
func ViewSQL(name string) (text string, ok bool) {
	data, err := files.ReadFile("sql/" + name + ".sql")
	return string(data), err == nil
}

// ViewBody is the query of a view, without its comments: what can be run where the
// views it reads stand as tables. ok is false for a name that is no view.
func ViewBody(name string) (query string, ok bool) {
	text, _ := ViewSQL(name)
	_, text, ok = strings.Cut(text, "CREATE OR REPLACE VIEW "+name+" AS")
	query, _, commented := strings.Cut(text, ";\nCOMMENT ON ")
	return query, ok && commented
}

// CreateReference makes or remakes the reference tables alone, for a database
// whose views are evaluated in another way. Repeats of a campaign are not looked
// for.
func CreateReference(ctx context.Context, db *store.DB) error {
	return db.Tx(ctx, func(tx *store.Tx) error { return createReference(ctx, tx) })
}

func createReference(ctx context.Context, tx *store.Tx) error {
	tables, err := files.ReadFile("tables.sql")
	if err != nil {
		return fmt.Errorf("read tables.sql: %w", err)
	}
	if err := tx.Exec(ctx, "create reference tables", string(tables)); err != nil {
		return err
	}
	return fillReference(ctx, tx)
}

// CreateViews makes or remakes the reference tables and all views, comments
// included, in one transaction. The tables of ingest/store must exist. The
// reference tables are filled from the plans in the table campaigns, so call it
// again after an ingest.
func CreateViews(ctx context.Context, db *store.DB) error {
	return db.Tx(ctx, func(tx *store.Tx) error {
		if err := createReference(ctx, tx); err != nil {
			return err
		}
		for _, name := range viewOrder {
			text, ok := ViewSQL(name)
			if !ok {
				return fmt.Errorf("view %s has no file", name)
			}
			if err := tx.Exec(ctx, "create view "+name, text); err != nil {
				return err
			}
		}
		return fillRepeats(ctx, tx)
	})
}
