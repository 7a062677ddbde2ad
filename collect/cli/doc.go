// Package cli holds the commands an operator uses on the GPU host: plan,
// collect, status, sim and the rest of the collecting side. main.go and
// cmd/assay-collect both use it, so the small program and the whole one behave
// alike.
//
// In: arguments, an Env. Out: text on its writers and an error that ExitCode
// turns into one of the documented exit codes. It decides nothing about
// measurements.
package cli
