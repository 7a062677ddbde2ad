package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	collect "assay/collect/cli"
	"assay/report/bundle"
	"assay/report/recompute"
	"assay/report/signature"
)

func verifyCommand(env collect.Env) *cobra.Command {
	var asJSON, again, signed bool
	var raw, when string
	opt := recompute.Options{Level: 1}
	cmd := &cobra.Command{
		Use: "verify BUNDLE|FINDINGS", Args: arguments(1, 1),
		Short: "check that a published bundle, or every one of a findings folder, is whole and unchanged",
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := verifyTime(when)
			if err != nil {
				return err
			}
			if again {
				opt.Level = 2
			}
			if raw != "" {
				if err := isRun(raw); err != nil {
					return err
				}
				opt.Level = 3
				opt.Extra = append(opt.Extra, rawCheck(cmd.Context(), raw))
			}
			checked, err := verify(cmd.Context(), filepath.Clean(args[0]), opt, signature.Options{Required: signed, At: at})
			if err != nil {
				return err
			}
			if err := checked.write(env.Stdout, asJSON); err != nil {
				return err
			}
			if !checked.OK() {
				return collect.Invalid(collect.ErrSilent)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print the result as JSON")
	flags.BoolVar(&again, "recompute", false, "recompute every published number from the published data")
	flags.StringVar(&raw, "raw", "", "recompute, and export the published data again from this run directory")
	flags.BoolVar(&signed, "require-signature", false, "fail without a good signature by a key of findings/allowed_signers")
	flags.StringVar(&when, "verify-time", "", "YYYYMMDD or YYYYMMDDHHMMSSZ: when a signer's key must be valid, instead of now")
	flags.BoolVar(&opt.RequireBuilder, "require-builder", false, "fail without a record of the program that rendered the bundle")
	return cmd
}

// verifyTime is when keys must be valid: now, unless a time is given.
func verifyTime(text string) (time.Time, error) {
	if text == "" {
		return time.Now(), nil
	}
	at, err := signature.ParseTime(text)
	if err != nil {
		return at, collect.Usage(fmt.Errorf("--verify-time: %w", err))
	}
	return at, nil
}

// verified is the result of one bundle.
type verified struct {
	Bundle string `json:"bundle"` // name of its folder
	OK     bool   `json:"ok"`
	bundle.Result
}

// verifiedFolder is the result of a findings folder: each bundle, and what is
// wrong with the folder as a whole.
type verifiedFolder struct {
	bundles  []verified
	problems []bundle.Problem
	whole    bool // a findings folder was named, not one bundle
}

// OK reports whether there was a bundle and all passed.
func (v verifiedFolder) OK() bool {
	ok := len(v.bundles) > 0 && len(v.problems) == 0
	for _, b := range v.bundles {
		ok = ok && b.OK
	}
	return ok
}

// verify checks the bundle in dir or, when dir is a findings folder, every bundle
// in it.
func verify(ctx context.Context, dir string, opt recompute.Options, signing signature.Options) (verifiedFolder, error) {
	var v verifiedFolder
	folders, err := bundle.Folders(dir)
	if err != nil {
		return v, fmt.Errorf("%w\nname a folder that ends in -evidence, or a findings folder", err)
	}
	paths := []string{dir}
	if len(folders) > 0 {
		v.whole, paths = true, nil
		for _, f := range folders {
			paths = append(paths, filepath.Join(dir, f))
		}
		if v.problems, err = bundle.CheckFolder(dir); err != nil {
			return v, err
		}
	}
	for _, path := range paths {
		l, err := bundle.Load(path)
		if err != nil {
			return v, err
		}
		signing.Signers, signing.SignersErr = signature.ReadSigners(path)
		each := opt
		each.Extra = append(slices.Clone(opt.Extra), signature.Check(signing))
		r, err := recompute.Verify(ctx, l, each)
		if err != nil {
			return v, err
		}
		v.bundles = append(v.bundles, verified{l.Folder, r.OK(), r})
	}
	return v, nil
}

func (v verifiedFolder) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return v.writeJSON(w)
	}
	for _, p := range v.problems {
		if err := printf(w, "FAIL %s\n", p); err != nil {
			return err
		}
	}
	for _, b := range v.bundles {
		if v.whole {
			if err := printf(w, "%s\n", b.Bundle); err != nil {
				return err
			}
		}
		if err := writeResult(w, b.Result); err != nil {
			return err
		}
	}
	return nil
}

// writeJSON writes one object: that of the bundle, or the list of all.
func (v verifiedFolder) writeJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	if !v.whole {
		return out.Encode(v.bundles[0])
	}
	return out.Encode(struct {
		OK       bool             `json:"ok"`
		Problems []bundle.Problem `json:"problems"` // of the folder as a whole
		Bundles  []verified       `json:"bundles"`
	}{v.OK(), append([]bundle.Problem{}, v.problems...), v.bundles})
}

// levels says what a pass at a level proves, in a few words.
var levels = map[int]string{
	1: "level 1, the published bytes", 2: "levels 1 and 2, every number recomputed",
	3: "levels 1 to 3, exported again from the raw run",
}

func writeResult(w io.Writer, r bundle.Result) error {
	for _, p := range r.Problems {
		if err := printf(w, "FAIL %s\n", p); err != nil {
			return err
		}
	}
	for _, warning := range r.Warnings {
		if err := printf(w, "warn %s\n", warning); err != nil {
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
	return printf(w, "%s at %s: %d checks run, %d skipped, %d warnings, %d problems\n",
		verdict, levels[r.Level], len(r.Executed), len(r.Skips), len(r.Warnings), len(r.Problems))
}
