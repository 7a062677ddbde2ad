// Package private knows what may not leave the operator's machine: credentials,
// and facts that name a person, a machine, a network or a container.
//
// What comes in: one text, and the name of the field it stands in. What goes
// out: the classes of private text in it (Scan, ScanValue), or the text with
// each replaced by a stable placeholder (Redactor). Both work from one table of
// rules, so what was redacted passes the scan.
//
// A text is looked at as it is and decoded: JSON inside a string, base64,
// gzip inside base64, percent and entity escapes. What can be seen but not cut
// out takes the whole text with it.
//
// It reads no file and no environment, keeps nothing but its placeholders, and
// no error or count of it quotes what it found.
//
//	r := private.NewRedactor(planText)
//	text = r.Text(text)
package private
