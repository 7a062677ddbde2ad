package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"assay/collect/campaign"
)

func preflightCommand(env Env) *cobra.Command {
	f := collectFlags{selfcheck: "off", smoke: "off"}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "preflight PLAN", Args: exactly(1),
		Short: "check everything that can be known before the clock starts; sends no chat request",
		RunE: func(_ *cobra.Command, args []string) error {
			env := env.keeps(f.keyEnv)
			o, err := collectOptions(env, f, args[0])
			if err != nil {
				return err
			}
			ctx, release := Signals(env.Stderr)
			defer release()
			checks, err := campaign.Preflight(ctx, o)
			if err != nil {
				return collectError(err)
			}
			if err := writeChecks(env.Guard(env.Stdout), checks, asJSON); err != nil {
				return err
			}
			if slices.ContainsFunc(checks, func(c campaign.Check) bool { return c.Verdict == campaign.CheckFail }) {
				return Invalid(errors.New("the campaign could not be eligible as things stand"))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "run", "where the run directory would be, for the disk space")
	flags.BoolVar(&asJSON, "json", false, "print a JSON array instead of a table")
	endpointFlags(cmd, &f)
	return cmd
}

func writeChecks(w io.Writer, checks []campaign.Check, asJSON bool) error {
	if asJSON {
		text, err := json.MarshalIndent(checks, "", "  ")
		if err != nil {
			return fmt.Errorf("encode checks: %w", err)
		}
		_, err = w.Write(append(text, '\n'))
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range checks {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", c.Verdict, c.Arm, c.Name, c.Found)
		if c.Fix != "" {
			fmt.Fprintf(t, "\t\t\tfix: %s\n", c.Fix)
		}
	}
	return t.Flush()
}
