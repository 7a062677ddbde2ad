package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	collect "assay/collect/cli"
	"assay/report/bundle"
)

func verifyCommand(env collect.Env) *cobra.Command {
	var asJSON, recompute, signature, builder bool
	var raw string
	cmd := &cobra.Command{
		Use: "verify BUNDLE", Args: arguments(1, 1),
		Short: "check that a published bundle is whole and unchanged",
		RunE: func(_ *cobra.Command, args []string) error {
			if recompute || signature || builder || raw != "" {
				return errors.New("--recompute, --raw, --require-signature and --require-builder are not built yet; run without them for the structural checks")
			}
			loaded, err := bundle.Load(filepath.Clean(args[0]))
			if err != nil {
				return fmt.Errorf("%w\nname a folder that ends in -evidence", err)
			}
			result := bundle.Verify(loaded, bundle.Options{})
			if err := writeResult(env.Stdout, result, asJSON); err != nil {
				return err
			}
			if !result.OK() {
				return collect.Invalid(collect.ErrSilent)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print the result as JSON")
	flags.BoolVar(&recompute, "recompute", false, "recompute every published number (not built yet)")
	flags.StringVar(&raw, "raw", "", "export the published data again from this run directory (not built yet)")
	flags.BoolVar(&signature, "require-signature", false, "fail without a good signature (not built yet)")
	flags.BoolVar(&builder, "require-builder", false, "fail without a builder record (not built yet)")
	return cmd
}

func writeResult(w io.Writer, r bundle.Result, asJSON bool) error {
	if asJSON {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(struct {
			OK bool `json:"ok"`
			bundle.Result
		}{r.OK(), r})
	}
	for _, p := range r.Problems {
		if err := printf(w, "FAIL %s\n", p); err != nil {
			return err
		}
	}
	for _, s := range r.Skips {
		if err := printf(w, "skip %s: %s\n", s.Code, s.Reason); err != nil {
			return err
		}
	}
	verdict := "passed"
	if !r.OK() {
		verdict = "FAILED"
	}
	return printf(w, "%s: %d checks run, %d skipped, %d problems\n", verdict, len(r.Executed), len(r.Skips), len(r.Problems))
}
