package plan

import (
	"fmt"
	"regexp"
	"strings"
)

// maxPasses bounds how often one text is redacted. Real texts need two.
const maxPasses = 10

// text redacts what a string holds anywhere inside it, until nothing more is
// found: what is cut out may bring two halves together.
func (r *redactor) text(s, key string) string {
	for range maxPasses {
		before := s
		if s = r.pass(s, key); s == before {
			return s
		}
	}
	r.err = errUnsettled
	return redactedSecret
}

var errUnsettled = fmt.Errorf("a text still changes after %d passes", maxPasses)

func (r *redactor) pass(s, key string) string {
	s = r.secrets(s)
	s = r.hostsIn(s)
	s = r.paths(s)
	if !digestKey.MatchString(key) {
		s = r.containersIn(s)
	}
	return replaceMatches(email, s, func(m []string) string {
		r.counts.Emails++
		return r.name(r.emails, "email", m[0])
	})
}

// replaceMatches is ReplaceAllStringFunc with the groups of each match.
func replaceMatches(re *regexp.Regexp, s string, replace func(groups []string) string) string {
	var b strings.Builder
	end := 0
	for _, at := range re.FindAllStringSubmatchIndex(s, -1) {
		groups := make([]string, len(at)/2)
		for i := range groups {
			if at[2*i] >= 0 {
				groups[i] = s[at[2*i]:at[2*i+1]]
			}
		}
		b.WriteString(s[end:at[0]])
		b.WriteString(replace(groups))
		end = at[1]
	}
	return b.String() + s[end:]
}

func (r *redactor) secrets(s string) string {
	for i, shape := range secretShapes {
		s = replaceMatches(shape, s, func(m []string) string {
			r.counts.Secrets++
			if i == userInfoShape {
				return m[1]
			}
			return m[1] + redactedSecret
		})
	}
	return s
}

// hostsIn replaces endpoint hosts, private addresses and names of private zones.
func (r *redactor) hostsIn(s string) string {
	for _, e := range r.endpoints {
		s = replaceMatches(e.alone, s, func(m []string) string {
			r.counts.Hosts++
			return m[1] + e.placeholder + m[2]
		})
	}
	name := func(m []string) string {
		r.counts.Hosts++
		return r.name(r.hosts, "host", m[0])
	}
	s = replaceMatches(ipv4, s, func(m []string) string {
		if privateAddress(m[0]) {
			return name(m)
		}
		return m[0]
	})
	return replaceMatches(privateName, s, name)
}

// endpointHost is the host of a base URL and what it becomes.
type endpointHost struct {
	alone       *regexp.Regexp
	placeholder string
}

// aloneInText matches host where it stands alone: "gpu" is not part of "gpus",
// "dual-gpu" or "gpu-1". An IPv6 address loses its brackets, as the placeholder
// has its own.
func aloneInText(host string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(host)
	if strings.Contains(host, ":") {
		quoted = `\[` + quoted + `\]|` + quoted
	}
	return regexp.MustCompile(`(^|[^A-Za-z0-9._\[-])(?:` + quoted + `)($|[^A-Za-z0-9_-])`)
}

func (r *redactor) paths(s string) string {
	s = replaceMatches(windowsPath, s, func(m []string) string {
		parts := strings.FieldsFunc(m[2], func(c rune) bool { return c == '\\' || c == '/' })
		tail, _ := pathTail(append([]string{"drive"}, parts...))
		if len(parts) > 0 && strings.EqualFold(parts[0], "users") {
			tail, _ = pathTail(append([]string{"Users"}, parts[1:]...))
		}
		r.counts.Paths++
		return m[1] + privateRoot + tail
	})
	s = replaceMatches(homePath, s, func(m []string) string {
		r.counts.Paths++
		return m[1] + privateRoot + m[2]
	})
	return replaceMatches(unixPath, s, func(m []string) string { return m[1] + r.path(m[2]) })
}

// path replaces the root of one absolute path; a public path stays.
func (r *redactor) path(path string) string {
	tail, ok := pathTail(strings.FieldsFunc(path, func(c rune) bool { return c == '/' }))
	if !ok {
		return path
	}
	if strings.HasSuffix(path, "/") {
		tail += "/"
	}
	r.counts.Paths++
	return privateRoot + tail
}

// containersIn replaces 64 hex digits, which are a container's id unless they
// are named a digest.
func (r *redactor) containersIn(s string) string {
	var b strings.Builder
	end := 0
	for _, at := range containerID.FindAllStringIndex(s, -1) {
		if strings.HasSuffix(s[:at[0]], "sha256:") {
			continue
		}
		b.WriteString(s[end:at[0]])
		b.WriteString(r.container(s[at[0]:at[1]]))
		end = at[1]
	}
	return b.String() + s[end:]
}
