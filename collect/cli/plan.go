package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay/collect/plan"
	"assay/collect/private"
	"assay/collect/record"
)

func planCommand(env Env) *cobra.Command {
	cmd := &cobra.Command{Use: "plan", Short: "check, show, expand and redact a frozen plan"}
	cmd.AddCommand(planCheck(env), planShow(env), planExpand(env), planRedact(env))
	return cmd
}

func planCheck(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "check PLAN", Args: exactly(1),
		Short: "list every problem and warning of a plan at once, and what its sample sizes can show",
		RunE: func(_ *cobra.Command, args []string) error {
			p, problems, err := plan.Load(args[0])
			if err != nil {
				return err
			}
			var warnings []plan.Warning
			if p != nil {
				more, w := plan.Check(p, env.Now())
				problems, warnings = append(problems, more...), w
			}
			writeProblems(env.Stdout, problems)
			for _, w := range warnings {
				fmt.Fprintf(env.Stdout, "warning  %s  %s: %s\n", w.Code, w.Pointer, w.Detail)
			}
			if p != nil {
				if err := plan.WritePower(env.Stdout, p); err != nil {
					return err
				}
			}
			fmt.Fprintf(env.Stdout, "%d problems, %d warnings\n", len(problems), len(warnings))
			if len(problems) > 0 {
				return Invalid(ErrSilent)
			}
			fmt.Fprintf(env.Stdout, "digest %s\n", p.Digest())
			return nil
		},
	}
}

func writeProblems(w io.Writer, problems []plan.Problem) {
	for _, p := range problems {
		fmt.Fprintf(w, "problem  %s  %s: %s\n", p.Code, p.Pointer, p.Detail)
	}
}

// loadPlan loads a plan that must be free of problems. The problems of another
// are printed to stderr, all at once.
func loadPlan(env Env, path string) (*plan.Plan, error) {
	p, problems, err := plan.Load(path)
	if err != nil {
		return nil, err
	}
	if p != nil {
		more, _ := plan.Check(p, env.Now())
		problems = append(problems, more...)
	}
	if len(problems) > 0 {
		writeProblems(env.Stderr, problems)
		return nil, Invalid(fmt.Errorf("the plan has %d problems; mend them and freeze it again", len(problems)))
	}
	return p, nil
}

func planShow(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "show PLAN", Args: exactly(1),
		Short: "print the matrix as a table, and its time against the cutoff",
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := loadPlan(env, args[0])
			if err != nil {
				return err
			}
			return plan.WriteMatrix(env.Stdout, p)
		},
	}
}

func planExpand(env Env) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "expand SPEC -o PLAN", Args: exactly(1),
		Short: "turn a short campaign spec into the frozen plan with every cell",
		RunE: func(_ *cobra.Command, args []string) error {
			spec, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			text, problems := plan.Expand(spec, env.Now())
			if len(problems) > 0 {
				writeProblems(env.Stderr, problems)
				return Invalid(fmt.Errorf("the spec has %d problems", len(problems)))
			}
			return writeNew(out, text)
		},
	}
	outFlag(cmd, &out, "where the plan is written; must not exist")
	return cmd
}

func planRedact(env Env) *cobra.Command {
	var out, deny string
	cmd := &cobra.Command{
		Use: "redact PLAN -o PLAN", Args: exactly(1),
		Short: "write what may be published of a plan; counts of what was replaced go to stderr",
		RunE: func(_ *cobra.Command, args []string) error {
			names, err := ReadNames(deny)
			if err != nil {
				return err
			}
			p, err := loadPlan(env, args[0])
			if err != nil {
				return err
			}
			redacted, counts, err := plan.Redact(p)
			if err != nil {
				return err
			}
			// The lock holds the digest of a redaction that knows no deny file, so a
			// name in it is the operator's to take out of the plan.
			if n := (private.Known{Deny: names}).Denied(string(redacted.Bytes)); n > 0 {
				return Invalid(fmt.Errorf("the redacted plan still holds %d of the names in the deny file; take them out of the plan before it is locked", n))
			}
			for _, class := range slices.Sorted(maps.Keys(counts)) {
				fmt.Fprintf(env.Stderr, "replaced  %d %s\n", counts[class], class)
			}
			return writeNew(out, redacted.Bytes)
		},
	}
	outFlag(cmd, &out, "where the redacted plan is written; must not exist")
	cmd.Flags().StringVar(&deny, "deny", "", "file of host names that may not be published, one a line")
	return cmd
}

// ReadNames reads a deny file: a name a line, # before a comment. An empty file
// name is none.
func ReadNames(file string) ([]string, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the deny file: %w", err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		if name := strings.TrimSpace(line); name != "" && !strings.HasPrefix(name, "#") {
			names = append(names, name)
		}
	}
	return names, nil
}

func outFlag(cmd *cobra.Command, out *string, usage string) {
	cmd.Flags().StringVarP(out, "out", "o", "", usage)
	if err := cmd.MarkFlagRequired("out"); err != nil {
		panic(err) // the flag was defined one line above
	}
}

// writeNew writes a file whole; an existing one is refused, so that a frozen
// plan is never overwritten.
func writeNew(path string, content []byte) error {
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("%s exists; name another file with -o", path)
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return record.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}
