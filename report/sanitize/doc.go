// Package sanitize decides what may be published.
//
// What comes in: the name of a table, or a text and the place it stands in.
// What goes out: the columns of the table that may be published, and the class
// of anything private in the text.
//
// Two fences stand one behind the other. A column that is not on the allow-list
// is dropped and counted. A text that is left is scanned for private patterns,
// and one hit stops the publication: nothing is repaired here, because a
// replaced value could still be guessed from its place.
//
// It never quotes what it found, reads no file, and changes no value.
//
//	if hits := sanitize.Scan(text); len(hits) > 0 {
//		return &sanitize.Error{Where: "problems.detail", Class: hits[0]}
//	}
package sanitize
