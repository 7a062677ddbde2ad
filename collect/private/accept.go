package private

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// The functions here take the place of the look-around that Go's patterns lack.

// unredacted passes over what a redaction left, by us or by the operator.
func unredacted(s string, from, to int) bool {
	v := strings.TrimLeft(unpercent(s[from:to]), `"'\ `)
	return strings.Trim(v, "[( ") != "" && !strings.HasPrefix(strings.ToUpper(strings.TrimLeft(v, "[(")), "REDACTED") && !placeholder.MatchString(v)
}

// placeholder is what a redaction left at the start of a text.
var placeholder = regexp.MustCompile(`^\[(?:[a-z]+-[a-z0-9]+|[A-Z]+(?:_[A-Z]+)*)\]`)

// tokenLike tells a token from a word of prose: it has a digit, or is longer
// than the words that follow such a name.
func tokenLike(s string, from, to int) bool {
	v := strings.TrimSpace(unpercent(s[from:to]))
	return unredacted(s, from, to) && (len(v) >= 16 || strings.ContainsAny(v, "0123456789")) && strings.Trim(v, "0123456789.") != ""
}

func hasDigit(s string, from, to int) bool { return strings.ContainsAny(s[from:to], "0123456789") }

// notVersion lets module@v1.2.beta pass.
func notVersion(s string, from, to int) bool {
	_, domain, _ := strings.Cut(s[from:to], "@")
	domain = strings.TrimPrefix(domain, "v")
	return domain == "" || domain[0] < '0' || domain[0] > '9'
}

var carrierGrade = netip.MustParsePrefix("100.64.0.0/10")

func privateNet(text string) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && (a.IsPrivate() || a.IsLinkLocalUnicast() || carrierGrade.Contains(a))
}

// privateIPv4 says whether four numbers are an address of somebody's network.
// Loopback is everybody's; five numbers in a row are a version.
func privateIPv4(s string, from, to int) bool {
	before := from >= 2 && s[from-1] == '.' && isDigit(s[from-2])
	after := to+1 < len(s) && s[to] == '.' && isDigit(s[to+1])
	return !before && !after && privateNet(s[from:to])
}

func privateIPv6(s string, from, to int) bool {
	return privateNet(strings.TrimSuffix(s[from:to], ":")) || privateNet(s[from:to])
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// hostEnds lets names that go on pass: settings.local.json, threading.local().
func hostEnds(s string, from, to int) bool {
	rest := unpercent(s[to:min(len(s), to+3)])
	goesOn := len(rest) > 1 && (rest[0] == '.' && isLetter(rest[1])) || rest != "" && (rest[0] == '(' || rest[0] == '-' || rest[0] == '_')
	return !goesOn
}

// publicHosts name no machine of anybody's.
var publicHosts = []string{"localhost", "host", "none", "null", "true", "false", "example", "unknown"}

// bareHost says whether a name in a host's place names a machine: one label that
// is not a word of the trade. A name with dots is public unless its zone is not.
func bareHost(s string, from, to int) bool {
	v := strings.ToLower(s[from:to])
	return !strings.Contains(v, ".") && !slices.Contains(publicHosts, v) && strings.Trim(v, "0123456789") != ""
}

// notDigest says that 64 hex digits are not called a digest where they stand.
func notDigest(s string, from, _ int) bool {
	before := strings.ToLower(s[max(0, from-40):from])
	return !digestWord.MatchString(before)
}

// digestWord stands before a digest in a text: sha256:ab.., | SHA-256 | `ab..`.
var digestWord = regexp.MustCompile("(?:sha-?256(?:sum)?|digest|revision|commit)[^a-z0-9]{0,12}$")

func mixedHex(s string, from, to int) bool {
	return hasDigit(s, from, to) && strings.ContainsAny(strings.ToLower(s[from:to]), "abcdef")
}
