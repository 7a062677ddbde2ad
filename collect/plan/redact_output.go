package plan

import "assay/collect/private"

// RedactText redacts one text that belongs to no plan, such as a command's
// output: credentials, machine paths, private hosts, container ids and mail
// addresses, as Redact does. known are secrets to cut out wherever they stand;
// those shorter than 8 characters are passed over, since they would match words.
func RedactText(text string, known []string) string {
	r := private.Redactor{Known: private.Known{Secrets: known}}
	return r.Text(text)
}
