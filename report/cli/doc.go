// Package cli holds the commands of the stages after collect: ingest, analyze,
// report, verify, query and the demo that runs them all.
//
// In: arguments and the collector's Env. Out: text on its writers and an error
// with its exit code. It decides nothing about measurements.
package cli
