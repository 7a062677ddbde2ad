// Package sanitize decides what may be published.
//
// What comes in: the name of a table, or the files of a bundle by name. What goes
// out: the columns of the table that may be published, and an error for each
// place that holds something private.
//
// Three fences stand one behind the other. A column that is not on the allow-list
// is dropped and counted. The texts of what is left are redacted by package
// private as they are exported, with one Redactor for the whole bundle. Then
// every file, rendered ones too, is decoded and scanned, whatever carries a text:
// Parquet columns and metadata, JSON at any depth, CSV, SVG with its comments,
// SQL, Markdown, file names, base64. One hit stops the publication, and so does a
// file of a kind that nothing here can look into. BundleCheck does the same for
// a bundle that somebody published.
//
// It never quotes what it found, reads no file, and changes no number.
//
//	if err := sanitize.Refusal(sanitize.Rules{}.Scan(files)); err != nil {
//		return err
//	}
package sanitize
