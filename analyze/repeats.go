package analyze

import (
	"context"
	"fmt"

	"assay/ingest/store"
)

// selectRepeats counts the pairs of campaigns that repeat each other. Without
// one nothing is evaluated: the medians of an archive take a while.
const selectRepeats = `SELECT count(*) FROM plan_settings s
JOIN plan_settings t ON t.measured_sha256 = s.measured_sha256 AND t.campaign <> s.campaign
WHERE s.measured_sha256 <> ''`

// fillRepeats fills repeat_medians from the views, which must exist.
func fillRepeats(ctx context.Context, tx *store.Tx) error {
	rows, err := tx.Query(ctx, "count repeats", selectRepeats)
	pairs, err := store.Collect(rows, err, func(n *int64) []any { return []any{n} })
	if err != nil || pairs[0] == 0 {
		return err
	}
	text, err := files.ReadFile("repeats.sql")
	if err != nil {
		return fmt.Errorf("read repeats.sql: %w", err)
	}
	return tx.Exec(ctx, "fill repeat_medians", string(text))
}
