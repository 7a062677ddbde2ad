// Command assay turns an LLM-serving benchmark campaign into a finding that a
// stranger can check: plan, collect, ingest, analyze, report, verify.
package main

import (
	"os"

	collect "assay/collect/cli"
	publish "assay/report/cli"
)

func main() { os.Exit(run(collect.OSEnv(), os.Args[1:])) }

func run(env collect.Env, args []string) int {
	root := collect.NewRoot("assay", "Turn an LLM-serving benchmark campaign into a finding that a stranger can check.")
	root.AddCommand(collect.Commands(env)...)
	root.AddCommand(publish.Commands(env)...)
	return collect.Execute(root, env, args)
}
