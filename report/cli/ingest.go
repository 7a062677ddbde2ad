package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"assay/analyze"
	collect "assay/collect/cli"
	"assay/ingest"
	"assay/ingest/store"
)

func ingestCommand(env collect.Env) *cobra.Command {
	var d database
	cmd := &cobra.Command{
		Use: "ingest SRC... --db DB", Args: arguments(1, -1),
		Short: "load run directories, and result files of other tools, into a DuckDB file",
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.use(false, func(db *store.DB) error {
				summary, err := ingest.Run(cmd.Context(), db, args, env.Log())
				if err != nil {
					return err
				}
				return printf(env.Stdout, "%s\nnext: assay analyze --db %s\n", summary, d.path)
			})
		},
	}
	d.flags(cmd)
	return cmd
}

func analyzeCommand(env collect.Env) *cobra.Command {
	var d database
	cmd := &cobra.Command{
		Use: "analyze --db DB", Args: arguments(0, 0),
		Short: "create the views and print which cells are eligible",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.use(false, func(db *store.DB) error {
				ctx := cmd.Context()
				if err := analyze.CreateViews(ctx, db); err != nil {
					return err
				}
				campaigns, err := campaignIDs(ctx, db)
				if err != nil {
					return err
				}
				artifacts, err := artifactCount(ctx, db)
				if err != nil {
					return err
				}
				if artifacts > 0 {
					if err := printf(env.Stdout, "%d retained artifacts; see the view artifact_comparability\n", artifacts); err != nil {
						return err
					}
				} else if len(campaigns) == 0 {
					return errors.New("the database holds no campaign and no artifact; load one with assay ingest SRC --db " + d.path)
				}
				for _, id := range campaigns {
					cells, err := analyze.Eligibility(ctx, db, id)
					if err != nil {
						return err
					}
					if err := printf(env.Stdout, "campaign %s\n", id); err != nil {
						return err
					}
					if err := analyze.WriteEligibility(env.Stdout, cells); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	d.flags(cmd)
	return cmd
}

// artifactCount is how many runs in files of other tools are loaded.
func artifactCount(ctx context.Context, db *store.DB) (int64, error) {
	rows, err := db.Query(ctx, "count artifacts", "SELECT count(*) FROM artifacts WHERE state = 'loaded'")
	n, err := store.Collect(rows, err, func(n *int64) []any { return []any{n} })
	if err != nil || len(n) == 0 {
		return 0, err
	}
	return n[0], nil
}
