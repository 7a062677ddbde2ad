package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	collect "assay/collect/cli"
	"assay/report"
	"assay/report/bundle"
)

func deriveCommand(env collect.Env) *cobra.Command {
	var out string
	var sources []string
	cmd := &cobra.Command{
		Use: "derive SPEC", Args: arguments(1, 1),
		Short: "write a derived finding from retained evidence; sends no request",
		Long: "Write a derived finding: facts recorded from retained artifacts, bundles or other findings, each with its source, and what follows from them by arithmetic.\n" +
			"A spec in examples/ shows the form. A source's file is read where it is given, and its digest must then be the recorded one.",
		RunE: func(cmd *cobra.Command, args []string) error {
			files := map[string]string{}
			for _, s := range sources {
				id, file, ok := strings.Cut(s, "=")
				if !ok || id == "" || file == "" {
					return collect.Usage(fmt.Errorf("--source %q is not ID=FILE", s))
				}
				files[id] = file
			}
			return derive(cmd.Context(), env, args[0], files, out)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&out, "out", "o", findingsFolder, "findings folder")
	flags.StringArrayVar(&sources, "source", nil, "file or bundle folder of a source, as ID=FILE; may be repeated")
	return cmd
}

func derive(ctx context.Context, env collect.Env, spec string, files map[string]string, out string) error {
	text, err := os.ReadFile(spec)
	if err != nil {
		return err
	}
	data, problems, err := report.DeriveData(text, filepath.Dir(spec), files)
	if err != nil {
		return err
	}
	for _, p := range problems {
		if err := printf(env.Stderr, "%s\n", p); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return collect.Invalid(fmt.Errorf("the spec has %d problems; nothing was written", len(problems)))
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make findings folder: %w", err)
	}
	sealed, err := report.Derive(ctx, data, out, report.Options{})
	if errors.Is(err, bundle.ErrExists) {
		return fmt.Errorf("%w; a published finding is never overwritten: choose another folder with -o", err)
	}
	if err != nil {
		return err
	}
	return printf(env.Stdout, "%s\n%s\n", filepath.Join(out, sealed.NarrativeName), filepath.Join(out, sealed.Folder))
}
