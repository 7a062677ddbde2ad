package cli

import "github.com/spf13/cobra"

// Commands are the commands of the collecting side, in the order of help.
func Commands(env Env) []*cobra.Command {
	return []*cobra.Command{
		planCommand(env),
		NotBuilt("preflight PLAN", "check everything that can be known before the clock starts"),
		collectCommand(env),
		statusCommand(env),
		simCommand(env),
		NotBuilt("selfcheck", "measure this host's client error bar and maximum event rate"),
		versionCommand(env),
	}
}
