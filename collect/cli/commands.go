package cli

import "github.com/spf13/cobra"

// Commands are the commands of the collecting side, in the order of help.
func Commands(env Env) []*cobra.Command {
	return []*cobra.Command{
		planCommand(env),
		preflightCommand(env),
		collectCommand(env),
		statusCommand(env),
		simCommand(env),
		selfcheckCommand(env),
		selfcheckServerCommand(env),
		versionCommand(env),
	}
}
