package signature

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Signer is one line of an allowed_signers file (ssh-keygen(1), "Allowed
// signers"): a key, for what it may sign, and when.
type Signer struct {
	Line        int    // from 1
	Principals  string // as written, such as an address
	Key         ssh.PublicKey
	Authority   bool      // of certificates; such a key signs nothing itself
	Namespaces  string    // pattern list; "" for every namespace
	ValidAfter  time.Time // zero for no bound
	ValidBefore time.Time // zero for no bound
}

// ParseSigners reads an allowed_signers file. A line that cannot be read allows
// nothing, as in ssh-keygen; problems names each. Times without a zone are UTC
// here and local time in ssh-keygen: a check must not depend on where it runs.
func ParseSigners(text []byte) (signers []Signer, problems []string) {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		s := strings.TrimSpace(string(line))
		if s == "" || strings.HasPrefix(s, "#") {
			continue
		}
		signer, err := parseSigner(s)
		if err != nil {
			problems = append(problems, fmt.Sprintf("line %d: %v", number, err))
			continue
		}
		signer.Line = number
		signers = append(signers, signer)
	}
	return signers, problems
}

func parseSigner(line string) (Signer, error) {
	var s Signer
	var err error
	if s.Principals, line, err = nextField(line); err != nil {
		return s, err
	}
	s.Principals = strings.Trim(s.Principals, `"`)
	if s.Key, err = parseKey(line); err == nil {
		return s, nil
	}
	options, rest, splitErr := nextField(line)
	if splitErr != nil {
		return s, splitErr
	}
	if s.Key, err = parseKey(rest); err != nil {
		return s, err
	}
	return s, s.setOptions(options)
}

// nextField cuts the first field off; blanks inside quotes belong to it.
func nextField(s string) (field, rest string, err error) {
	quoted := false
	for i, r := range s {
		switch {
		case r == '"':
			quoted = !quoted
		case !quoted && (r == ' ' || r == '\t'):
			return s[:i], strings.TrimLeft(s[i:], " \t"), nil
		}
	}
	if quoted {
		return "", "", errors.New("a quote is not closed")
	}
	return "", "", errors.New("there is no key")
}

// parseKey reads "type base64 comment".
func parseKey(s string) (ssh.PublicKey, error) {
	fields := strings.Fields(s)
	if len(fields) < 2 {
		return nil, errors.New("there is no key")
	}
	raw, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil {
		return nil, errors.New("the key is no base64")
	}
	key, err := ssh.ParsePublicKey(raw)
	if err != nil {
		return nil, fmt.Errorf("the key cannot be read: %w", err)
	}
	if key.Type() != fields[0] {
		return nil, fmt.Errorf("the key is of type %s, not %s", key.Type(), fields[0])
	}
	return key, nil
}

// setOptions reads options: cert-authority, namespaces="...", valid-after="..."
// and valid-before="...", each at most once.
func (s *Signer) setOptions(text string) error {
	seen := map[string]bool{}
	for text != "" {
		name, value, rest, err := nextOption(text)
		if err != nil {
			return err
		}
		text = rest
		if seen[name] {
			return fmt.Errorf("%s is given twice", name)
		}
		seen[name] = true
		switch name {
		case "cert-authority":
			s.Authority = true
		case "namespaces":
			s.Namespaces = value
		case "valid-after":
			s.ValidAfter, err = ParseTime(value)
		case "valid-before":
			s.ValidBefore, err = ParseTime(value)
		default:
			err = fmt.Errorf("the option %q is not known", name)
		}
		if err != nil {
			return err
		}
	}
	if !s.ValidAfter.IsZero() && !s.ValidBefore.IsZero() && s.ValidBefore.Before(s.ValidAfter) {
		return errors.New("valid-before is before valid-after")
	}
	return nil
}

// nextOption cuts the first of comma-separated options off. Names are read in
// any case; a value stands in quotes.
func nextOption(text string) (name, value, rest string, err error) {
	end := strings.IndexAny(text, `=,`)
	if end < 0 {
		return strings.ToLower(text), "", "", nil
	}
	name = strings.ToLower(text[:end])
	if text[end] == ',' {
		return name, "", text[end+1:], nil
	}
	if !strings.HasPrefix(text[end+1:], `"`) {
		return "", "", "", fmt.Errorf("the value of %s is not in quotes", name)
	}
	value, rest, closed := strings.Cut(text[end+2:], `"`)
	if !closed || rest != "" && rest[0] != ',' {
		return "", "", "", fmt.Errorf("the value of %s does not end well", name)
	}
	return name, value, strings.TrimPrefix(rest, ","), nil
}

// ParseTime reads YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, with or without a Z,
// in UTC.
func ParseTime(text string) (time.Time, error) {
	digits := strings.TrimSuffix(text, "Z")
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(layout) != len(digits) {
			continue
		}
		if t, err := time.Parse(layout, digits); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time such as 20261017 or 20261017113000Z", text)
}

// refusal says why the signer may not sign in a namespace at a time; "" when it
// may.
func (s Signer) refusal(namespace string, at time.Time) string {
	switch {
	case s.Authority:
		return "it is an authority of certificates, which are not read here"
	case s.Namespaces != "" && !matches(s.Namespaces, namespace):
		return "it may not sign in the namespace " + namespace
	case !s.ValidAfter.IsZero() && at.Before(s.ValidAfter):
		return "it is valid only after " + s.ValidAfter.UTC().Format(time.RFC3339)
	case !s.ValidBefore.IsZero() && at.After(s.ValidBefore):
		return "it was valid until " + s.ValidBefore.UTC().Format(time.RFC3339)
	}
	return ""
}

// matches applies a pattern list of ssh_config(5): commas separate, * and ? are
// wild, and a match of a pattern behind ! refuses whatever else matches.
func matches(list, name string) bool {
	found := false
	for pattern := range strings.SplitSeq(list, ",") {
		pattern, negated := strings.CutPrefix(strings.TrimSpace(pattern), "!")
		// path.Match gives brackets and backslashes a meaning that ssh does not.
		pattern = strings.NewReplacer(`\`, `\\`, `[`, `\[`).Replace(pattern)
		// A name with a slash is one word here.
		ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
		if err != nil || !ok {
			continue
		}
		if negated {
			return false
		}
		found = true
	}
	return found
}
