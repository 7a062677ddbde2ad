// Command assay-collect is the collecting half of assay for a GPU host: the
// same plan, collect, status and sim commands, without the database.
package main

import (
	"os"

	"assay/collect/cli"
)

func main() {
	env := cli.OSEnv()
	root := cli.NewRoot("assay-collect", "Collect an LLM-serving benchmark campaign.")
	root.AddCommand(cli.Commands(env)...)
	os.Exit(cli.Execute(root, env, os.Args[1:]))
}
