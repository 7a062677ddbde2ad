package cli

import (
	"fmt"
	"os"

	collect "assay/collect/cli"
	"assay/report"
	"assay/report/bundle"
)

// privateOptions reads what the operator says is private, or is not. An empty
// name is no file.
func privateOptions(env collect.Env, denyFile, allowFile string) (report.Options, error) {
	opt := report.Options{Secrets: env.Secrets}
	var err error
	if opt.Deny, err = collect.ReadNames(denyFile); err != nil {
		return opt, err
	}
	if allowFile == "" {
		return opt, nil
	}
	text, err := os.ReadFile(allowFile)
	if err != nil {
		return opt, fmt.Errorf("read the allow file: %w", err)
	}
	if opt.Allow, err = bundle.DecodeAllow(text); err != nil {
		return opt, fmt.Errorf("the allow file: %w", err)
	}
	return opt, nil
}
