package private

import (
	"slices"
	"strings"
)

// found is one private part of a text.
type found struct {
	class    Class
	from, to int
}

// has says whether a rule can match at all.
func (r rule) has(lower string) bool {
	return len(r.literals) == 0 || slices.ContainsFunc(r.literals, func(l string) bool { return strings.Contains(lower, l) })
}

// in returns the private parts of s that the rule finds, from left to right and
// apart from each other.
func (r rule) in(s, lower string) []found {
	if !r.has(lower) {
		return nil
	}
	var out []found
	for _, at := range r.pattern.FindAllStringSubmatchIndex(s, -1) {
		from, to := at[2], at[3]
		if from < 0 || from == to || r.accept != nil && !r.accept(s, from, to) {
			continue
		}
		out = append(out, found{r.class, from, to})
	}
	return out
}

// Known are texts that are not private although they look so.
type Known struct {
	// Digests are 64-digit values known to be digests, which else are taken for
	// the ids of containers.
	Digests map[string]bool
	// Deny are names of machines that nothing else gives away.
	Deny []string
	// Secrets are credentials by their value, wherever they stand. Those shorter
	// than 8 characters are passed over, since they would match words.
	Secrets []string
}

// Scan returns the classes of private text in s, decoded as far as it goes, each
// once and in the order of the rules; none when s may be published. A class that
// only a decoded form shows has Encoded before it.
func (k Known) Scan(s string) []Class { return k.ScanValue("", s) }

// ScanValue is Scan for the value of a field: the field's name says whether 64
// hex digits are a digest, and whether the value is private whatever it is.
func (k Known) ScanValue(key, s string) []Class {
	return k.scan(view{key, s}, 0, &looked{left: 8*len(s) + minLooked, at: map[view]int{}})
}

// looked bounds the work on one text: a form that was looked at is not looked at
// again, and a text that holds more forms than fit is private for that.
type looked struct {
	left int          // bytes
	at   map[view]int // how deep it stood, counted from 1
}

// minLooked is the bytes of decoded forms that are looked at in the shortest text;
// a longer one has more. viewCost is what each form costs beside its own bytes.
const (
	minLooked = 1 << 20
	viewCost  = 200
)

func (k Known) scan(v view, depth int, done *looked) []Class {
	key, s := v.key, v.text
	if before := done.at[v]; s == "" || before > 0 && before <= depth+1 {
		return nil
	}
	if done.left -= len(s) + viewCost; done.left < 0 {
		return []Class{Encoded}
	}
	done.at[v] = depth + 1
	var out []Class
	add := func(c Class) {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	if c := byKey(key, s); c != "" {
		add(c)
	}
	lower := strings.ToLower(s)
	for _, r := range rules {
		for _, f := range r.in(s, lower) {
			if r.class == ContainerID && k.digest(key, s[f.from:f.to]) {
				continue
			}
			add(r.class)
			break
		}
	}
	for _, secret := range k.Secrets {
		if len(secret) >= minSecret && strings.Contains(s, secret) {
			add(SecretValue)
		}
	}
	if k.Denied(s) > 0 {
		add(PrivateHost)
	}
	if len(out) > 0 || depth >= maxDepth {
		return out
	}
	for _, v := range decoded(s) {
		if inner := k.scan(v, depth+1, done); len(inner) > 0 {
			return append([]Class{Encoded}, inner...)
		}
	}
	return nil
}

// Denied counts the denied names that stand in a text as words of their own.
func (k Known) Denied(s string) int {
	n := 0
	for _, name := range k.Deny {
		if named(s, name) >= 0 {
			n++
		}
	}
	return n
}

// minSecret is the shortest secret that is looked for by its value.
const minSecret = 8

// digest says whether 64 hex digits in a field are a digest.
func (k Known) digest(key, hex string) bool {
	return digestKey.MatchString(key) && !containerKey.MatchString(key) || k.Digests[hex]
}

// named finds a name that stands alone, in any case of its letters: "gpu" is not
// part of "gpus", "dual-gpu" or "gpu-1". It returns where, or -1.
func named(s, name string) int {
	s, name = lowerASCII(s), lowerASCII(name)
	if name == "" {
		return -1
	}
	for at := 0; ; {
		i := strings.Index(s[at:], name)
		if i < 0 {
			return -1
		}
		from, to := at+i, at+i+len(name)
		joined := from > 0 && (wordByte(s[from-1]) || s[from-1] == '.' || s[from-1] == '[') || to < len(s) && wordByte(s[to])
		if !joined {
			return from
		}
		at = from + 1
	}
}

// lowerASCII keeps every letter in its place, which strings.ToLower does not.
func lowerASCII(s string) string {
	if !strings.ContainsFunc(s, func(c rune) bool { return c >= 'A' && c <= 'Z' }) {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func wordByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '-' || c == '_' }

// Describe lists the rules, one a line: it changes when what is private changes.
func Describe() string {
	var b strings.Builder
	for _, r := range rules {
		b.WriteString(string(r.class) + " " + strings.Join(r.literals, " ") + " " + r.pattern.String() + "\n")
	}
	for _, key := range []string{secretKey.String(), digestKey.String(), containerKey.String(), environmentKey.String(), textKey.String(), hostKey.String()} {
		b.WriteString("key " + key + "\n")
	}
	for _, list := range [][]string{publicRoots, shortRoots, publicHosts, publicVariables} {
		b.WriteString("public " + strings.Join(list, " ") + "\n")
	}
	return b.String()
}
