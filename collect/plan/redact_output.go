package plan

import "strings"

// RedactText redacts one text that belongs to no plan, such as a command's
// output: credentials, machine paths, private hosts, container ids and mail
// addresses, as Redact does. known are secrets to cut out wherever they stand;
// those shorter than 8 characters are passed over, since they would match words.
func RedactText(text string, known []string) string {
	for _, secret := range known {
		if len(secret) >= 8 {
			text = strings.ReplaceAll(text, secret, redactedSecret)
		}
	}
	r := &redactor{hosts: map[string]string{}, containers: map[string]string{}, emails: map[string]string{}}
	return r.text(text, "")
}

// NamesSecret says whether a name, such as that of an environment variable, is
// one of a credential.
func NamesSecret(name string) bool {
	return secretKey.MatchString(name) || strings.HasSuffix(strings.ToUpper(name), "_KEY")
}
