// Package templates holds the Markdown templates of a finding and of the files
// beside it in its bundle, and the frame of its HTML page.
//
// In come the texts that package report has prepared: claims, configured values
// and tables. Out goes Markdown. A template holds prose and order, never a
// measured number and never a decision.
package templates

import "embed"

// FS holds every template, by file name.
//
//go:embed *.tmpl page.css
var FS embed.FS
