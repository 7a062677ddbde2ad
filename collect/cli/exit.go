package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Exit codes of every command.
const (
	CodeOK          = 0
	CodeInvalid     = 1   // the evidence or the plan is invalid, or the campaign is not complete
	CodeUsage       = 2   // the command line is wrong
	CodeFailed      = 3   // it could not be done
	CodeInterrupted = 130 // a second interrupt ended it at once
)

// coded is an error with the exit code it leads to.
type coded struct {
	code int
	err  error
}

func (c coded) Error() string { return c.err.Error() }
func (c coded) Unwrap() error { return c.err }

// Invalid marks an error that says the evidence or the plan is not good.
func Invalid(err error) error { return coded{CodeInvalid, err} }

// Usage marks an error in the command line.
func Usage(err error) error { return coded{CodeUsage, err} }

// ErrSilent marks a result that the command has already printed.
var ErrSilent = errors.New("already reported")

// ExitCode is the one place that turns an error into an exit code.
func ExitCode(err error) int {
	var c coded
	switch {
	case err == nil:
		return CodeOK
	case errors.As(err, &c):
		return c.code
	}
	return CodeFailed
}

// Execute runs a command line and returns its exit code. Errors are one line
// on stderr.
func Execute(root *cobra.Command, env Env, args []string) int {
	root.SetArgs(args)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage(err) })
	err := root.Execute()
	if err != nil && !errors.Is(err, ErrSilent) {
		fmt.Fprintln(env.Guard(env.Stderr), "assay: "+err.Error())
		if ExitCode(err) == CodeUsage {
			fmt.Fprintln(env.Stderr, "run with --help to see how it is used")
		}
	}
	return ExitCode(err)
}

// exactly refuses another number of arguments as a usage error.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return Usage(fmt.Errorf("%s takes %d argument(s), got %d", cmd.Use, n, len(args)))
		}
		return nil
	}
}

// NewRoot is the command tree's root. A word that is no command is a usage
// error, so a typo never looks like success.
func NewRoot(use, short string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return Usage(fmt.Errorf("there is no command %q", args[0]))
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
}
