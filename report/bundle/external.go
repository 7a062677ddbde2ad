package bundle

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

func noExternal(l *Loaded) string {
	if len(l.Manifest.Predicate.External) == 0 {
		return "the bundle names no file outside it"
	}
	return ""
}

// checkExternal is V-12: each file that is named and not published can be found
// again by anyone, for a stated time, at an address that gives nothing away.
func checkExternal(l *Loaded) []Problem {
	var out []Problem
	seen := map[string]bool{}
	for _, e := range l.Manifest.Predicate.External {
		bad := func(format string, args ...any) {
			out = append(out, Problem{"V-12", e.Name, fmt.Sprintf(format, args...)})
		}
		if strings.TrimSpace(e.Name) == "" {
			bad("an external file has no name")
		}
		if seen[e.Name] {
			bad("named twice")
		}
		seen[e.Name] = true
		if e.Size == 0 {
			bad("has no size")
		}
		if e.URL == "" {
			continue // named by its digest only, so that it can be recognised
		}
		if why := addressProblem(e.URL); why != "" {
			bad("its address %s", why)
		}
		if strings.TrimSpace(e.RetentionOwner) == "" || strings.TrimSpace(e.RetentionTerm) == "" {
			bad("has an address but not who keeps it and for how long")
		}
	}
	return out
}

// addressProblem says what is wrong with a public address; "" for nothing.
func addressProblem(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "is no URL"
	case u.Scheme != "https":
		return "is not https"
	case u.User != nil:
		return "holds credentials"
	case u.Hostname() == "":
		return "names no host"
	case u.Fragment != "":
		return "ends in a fragment"
	}
	if why := hostProblem(u.Hostname()); why != "" {
		return why
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "has a query that cannot be read"
	}
	for name, values := range query {
		if isCredential(name) {
			return "holds credentials"
		}
		if slices.ContainsFunc(values, isMoving) {
			return "means another file with time"
		}
	}
	if slices.ContainsFunc(strings.Split(path.Clean(u.Path), "/"), isMoving) {
		return "means another file with time"
	}
	return ""
}

// isMoving reports a name that stands for whatever is newest.
func isMoving(segment string) bool {
	switch strings.ToLower(segment) {
	case "latest", "head", "main", "master", "nightly":
		return true
	}
	_, tag, tagged := strings.Cut(segment, ":")
	return tagged && strings.EqualFold(tag, "latest")
}

// credentialWords are parts of the names of query parameters that let somebody
// in, those of signed addresses included.
var credentialWords = []string{"token", "key", "secret", "password", "passwd", "signature", "credential", "auth", "sig"}

func isCredential(parameter string) bool {
	lower := strings.ToLower(parameter)
	return slices.ContainsFunc(credentialWords, func(w string) bool { return strings.Contains(lower, w) })
}

// Ranges that netip has no word for.
var (
	cgnat    = netip.MustParsePrefix("100.64.0.0/10") // RFC 6598
	thisHost = netip.MustParsePrefix("0.0.0.0/8")     // RFC 1122
	testNets = []netip.Prefix{                        // RFC 5737 and 3849, documentation
		netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"),
		netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::/32"),
	}
)

// privateSuffixes are names that are looked up inside a network only.
var privateSuffixes = []string{".local", ".localhost", ".internal", ".lan", ".home", ".home.arpa", ".corp", ".ts.net", ".test", ".invalid", ".example"}

// hostProblem says why a host is not public; "" when it may be.
func hostProblem(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap().WithZone("")
		private := addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified() ||
			cgnat.Contains(addr) || thisHost.Contains(addr) || slices.ContainsFunc(testNets, func(p netip.Prefix) bool { return p.Contains(addr) })
		if private {
			return "is private"
		}
		return ""
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case !strings.Contains(host, "."):
		return "names a host without a domain"
	case strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x"):
		return "is an address in a form that hides what it is" // 127.1 and 0x7f.1 mean the loopback to many programs
	case slices.ContainsFunc(privateSuffixes, func(s string) bool { return strings.HasSuffix(host, s) }):
		return "is private"
	}
	return ""
}
