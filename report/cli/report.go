package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assay/analyze"
	collect "assay/collect/cli"
	"assay/collect/record"
	"assay/ingest/store"
	"assay/report"
	"assay/report/bundle"
	"assay/report/page"
)

// findingsFolder is where findings live in the repository.
const findingsFolder = "findings"

func reportCommand(env collect.Env) *cobra.Command {
	var d database
	var campaign, out, check, html, deny, allow string
	var correction report.Correction
	cmd := &cobra.Command{
		Use: "report [--db DB --campaign ID -o FINDINGS | --check FINDINGS | --html FINDING [-o PAGE]]", Args: arguments(0, 0),
		Short: "publish a campaign's finding; without flags render every bundle under findings/ again",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := onlyOne(cmd, "db", "check", "html"); err != nil {
				return err
			}
			if d.path == "" && correction != (report.Correction{}) {
				return collect.Usage(errors.New("--name and --supersedes publish a correction; give --db and --campaign with them"))
			}
			switch {
			case check != "":
				return recheck(cmd.Context(), env, check)
			case html != "" && cmd.Flags().Changed("out"):
				return writePage(html, out)
			case html != "":
				return printPage(env, html)
			case d.path == "":
				return rerender(cmd.Context(), env, findingsFolder)
			}
			opt, err := privateOptions(env, deny, allow)
			if err != nil {
				return err
			}
			opt.Correction = correction
			return d.use(false, func(db *store.DB) error {
				return publish(cmd.Context(), env, db, campaign, out, opt)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&d.path, "db", "", "DuckDB file to publish from")
	flags.DurationVar(&d.wait, "wait", store.DefaultWait, "how long to wait for a database that another process holds")
	flags.StringVar(&campaign, "campaign", "", "campaign to publish; may be left out when the database holds one")
	flags.StringVarP(&out, "out", "o", findingsFolder, "findings folder; with --html the page to write")
	flags.StringVar(&correction.Name, "name", "", "YYYY-MM-DD-NAME of a finding that corrects another; else the plan names it")
	flags.StringVar(&correction.Supersedes, "supersedes", "", "name of the finding that this one corrects")
	flags.StringVar(&html, "html", "", "print this finding as one HTML page, or write it with -o; a narrative or a bundle's folder")
	flags.StringVar(&check, "check", "", "render every bundle of this folder again and compare; writes nothing")
	flags.StringVar(&deny, "deny", "", "file of host names that may not be published, one a line")
	flags.StringVar(&allow, "allow", "", "JSON file of texts that may be published although they look private: a list of value, path, reason, date")
	return cmd
}

// onlyOne refuses more than one of the flags as a usage error.
func onlyOne(cmd *cobra.Command, flags ...string) error {
	set := ""
	for _, f := range flags {
		if !cmd.Flags().Changed(f) {
			continue
		}
		if set != "" {
			return collect.Usage(fmt.Errorf("--%s and --%s exclude each other", set, f))
		}
		set = f
	}
	return nil
}

// printPage prints a finding's page; its links are those of the narrative.
func printPage(env collect.Env, finding string) error {
	text, err := page.Render(finding, "")
	if err != nil {
		return err
	}
	_, err = env.Stdout.Write(text)
	return err
}

// writePage writes a finding's page, with links that lead from it to the evidence.
func writePage(finding, out string) error {
	text, err := page.Render(finding, filepath.Dir(filepath.Clean(out)))
	if err != nil {
		return err
	}
	return record.WriteFile(out, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// publish writes the finding and its bundle of one campaign.
func publish(ctx context.Context, env collect.Env, db *store.DB, campaign, out string, opt report.Options) error {
	id, err := chooseCampaign(ctx, db, campaign)
	if err != nil {
		return err
	}
	if err := analyze.CreateViews(ctx, db); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make findings folder: %w", err)
	}
	sealed, err := report.Publish(ctx, db, id, out, opt)
	if errors.Is(err, bundle.ErrExists) {
		return fmt.Errorf("%w; a published finding is never overwritten: choose another folder with -o, or correct it with --name and --supersedes", err)
	}
	if err != nil {
		return err
	}
	return printf(env.Stdout, "%s\n%s\n", filepath.Join(out, sealed.NarrativeName), filepath.Join(out, sealed.Folder))
}

func recheck(ctx context.Context, env collect.Env, folder string) error {
	differences, err := report.Recheck(ctx, folder, report.Options{})
	if err != nil {
		return missingFolder(err, folder)
	}
	for _, d := range differences {
		if err := printf(env.Stdout, "%s\n", d); err != nil {
			return err
		}
	}
	if len(differences) > 0 {
		return collect.Invalid(fmt.Errorf("%d files differ from what their evidence renders to", len(differences)))
	}
	return printf(env.Stdout, "every finding under %s renders to the same bytes\n", folder)
}

func rerender(ctx context.Context, env collect.Env, folder string) error {
	written, err := report.Rerender(ctx, folder, report.Options{})
	if err != nil {
		return missingFolder(err, folder)
	}
	for _, name := range written {
		if err := printf(env.Stdout, "%s\n", name); err != nil {
			return err
		}
	}
	return printf(env.Stdout, "%d files rendered anew under %s\n", len(written), folder)
}

func missingFolder(err error, folder string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s; publish with --db DB --campaign ID, or name the folder with --check", folder)
	}
	return err
}

// chooseCampaign takes the one campaign of the database when none is named.
func chooseCampaign(ctx context.Context, db *store.DB, named string) (string, error) {
	ids, err := campaignIDs(ctx, db)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		if id == named || named == "" && len(ids) == 1 {
			return id, nil
		}
	}
	if named != "" {
		return "", fmt.Errorf("the database holds no campaign %q; it holds %q", named, ids)
	}
	return "", collect.Usage(fmt.Errorf("the database holds %d campaigns; name one with --campaign: %q", len(ids), ids))
}

func campaignIDs(ctx context.Context, db *store.DB) ([]string, error) {
	if err := db.CreateTables(ctx); err != nil {
		return nil, err
	}
	return store.Strings(db.Query(ctx, "list campaigns", "SELECT campaign FROM campaigns ORDER BY campaign"))
}
