// Package bundle holds the structural half of publication: the manifest of an
// evidence bundle, the checks of its bytes, and the sealing that puts a finding
// and its bundle in place.
//
// What comes in: a Draft (narrative, files and the facts of the manifest), or a
// bundle folder somebody published. What goes out: a sealed folder beside its
// narrative, a list of problems, or the generated index of a findings folder.
//
// A findings folder holds, for each finding, the narrative ID.md and the bundle
// folder, ID-evidence unless the plan names another. The manifest lists every
// file of both with size and SHA-256 (the subjects); manifest.json, SHA256SUMS
// and manifest.json.sig are control files and list themselves nowhere. The world
// is closed: a file that is neither is a problem.
//
// The checks are a table (Checks): one code each, loaded bundle in, problems
// out. A new check is a new row. Checks that need a database or the sanitizer
// live in the packages that have them and are passed in Options.Extra.
//
// It never opens a file outside the bundle folder but the narrative and the
// index, never follows a symbolic link below the bundle folder, never reads a
// file that is over its limit, never overwrites anything published, and links
// neither cgo nor DuckDB nor a plotting library.
//
//	sealed, err := bundle.Seal("findings", draft)
//	...
//	loaded, err := bundle.Load("findings/2026-10-17-name-evidence")
//	result := bundle.Verify(loaded, bundle.Options{})
//	if !result.OK() { ... result.Problems ... }
package bundle
