package private

import (
	"regexp"
	"slices"
	"strings"
)

// Bounds of what is redacted: passes over one text, of which real texts need two,
// and the bytes of one text, beyond which it is replaced as a whole.
const (
	maxPasses = 10
	maxText   = 16 << 20
)

// Counts says how many private texts of each class were replaced. It holds no
// value.
type Counts map[Class]int64

// Total is the number of all replacements.
func (c Counts) Total() int64 {
	var n int64
	for _, v := range c {
		n += v
	}
	return n
}

// Redactor replaces what is private: a path's root by PrivateRoot, a secret by
// Redacted, anything else by a placeholder of its kind such as [host-a], the same
// for the same value as long as the Redactor lives. A redacted text passes the
// scan, and redacting it again changes nothing. Its zero value is ready.
type Redactor struct {
	Known  Known
	Counts Counts

	names map[string]string // value by kind -> placeholder
	next  map[string]int    // placeholders given out of each kind
	hosts []namedHost       // longest first, so that a host inside another is not cut out of it
	taken string            // a text whose own placeholders are kept clear of
	depth int               // of the JSON text being redacted inside others
}

// namedHost is a host that is private because the operator's plan names it.
type namedHost struct{ name, placeholder string }

// NewRedactor returns a Redactor that keeps clear of the placeholders in taken.
func NewRedactor(taken string) *Redactor { return &Redactor{taken: taken} }

// Host makes a host private wherever it stands alone, and returns what it
// becomes. The first host is [host-a].
func (r *Redactor) Host(name string) string {
	p := r.name("host", name)
	if !slices.ContainsFunc(r.hosts, func(h namedHost) bool { return h.name == name }) {
		r.hosts = append(r.hosts, namedHost{name, p})
		slices.SortStableFunc(r.hosts, func(a, b namedHost) int { return len(b.name) - len(a.name) })
	}
	return p
}

// Text redacts what a text holds anywhere inside it.
func (r *Redactor) Text(s string) string { return r.Value("", s) }

// Value redacts the text of a field: by the field's name, then by its shape,
// until nothing more is found, because what is cut out may bring two halves
// together. A text that still shows something is replaced as a whole.
func (r *Redactor) Value(key, s string) string {
	if len(s) > maxText {
		r.count(Encoded)
		return Redacted
	}
	if r.clean(key, s) {
		return s
	}
	if c := byKey(key, s); c != "" {
		return r.whole(c, s)
	}
	for range maxPasses {
		before := s
		if s = r.pass(key, s); s == before {
			break
		}
	}
	if len(r.Known.ScanValue(key, s)) > 0 {
		r.count(Encoded)
		return Redacted
	}
	return s
}

// clean says that nothing in a text has to be replaced.
func (r *Redactor) clean(key, s string) bool {
	for _, h := range r.hosts {
		if named(s, h.name) >= 0 {
			return false
		}
	}
	return len(r.Known.ScanValue(key, s)) == 0
}

// Path redacts a text that is one path, spaces included.
func (r *Redactor) Path(s string) string {
	if !strings.HasPrefix(s, "/") || publicPath(s) || len(strings.Trim(s, "/")) == 0 {
		return r.Text(s)
	}
	r.count(MachinePath)
	return r.Text(cutRoot(s))
}

// Words redacts a list of texts of which one may be a flag and the next its
// value, such as a command line.
func (r *Redactor) Words(key string, words []string) []string {
	out := make([]string, len(words))
	secretNext := false
	for i, w := range words {
		name, value, inline := strings.Cut(w, "=")
		switch {
		case secretNext:
			out[i] = r.secret(w)
		case inline && SecretFlag(name):
			out[i] = name + "=" + r.secret(value)
		case key == "argv" && strings.HasPrefix(w, "/"):
			out[i] = r.Path(w)
		default:
			out[i] = r.Value(key, w)
		}
		secretNext = !secretNext && SecretFlag(w)
	}
	return out
}

func (r *Redactor) secret(s string) string {
	if s == "" || s == Redacted {
		return s
	}
	r.count(SecretValue)
	return Redacted
}

// whole is what a value becomes that is private by its field's name.
func (r *Redactor) whole(c Class, s string) string {
	r.count(c)
	switch c {
	case ContainerID, PrivateHost:
		return r.name(kinds[c], s)
	case Environment:
		name, _, _ := strings.Cut(s, "=")
		return r.Text(name) + "=" + Redacted
	}
	return Redacted
}

func (r *Redactor) pass(key, s string) string {
	if inner, ok := r.json(key, s); ok {
		return inner
	}
	s = r.known(s)
	for _, h := range r.hosts {
		s = r.replaceHost(s, h)
	}
	for _, name := range r.Known.Deny {
		if named(s, name) >= 0 {
			s = r.replaceHost(s, namedHost{name, r.name("host", name)})
		}
	}
	for _, rule := range rules {
		s = r.apply(rule, key, s)
	}
	return r.hidden(s)
}

// known cuts out the secrets that are known by their value.
func (r *Redactor) known(s string) string {
	for _, secret := range r.Known.Secrets {
		if len(secret) >= minSecret && strings.Contains(s, secret) {
			r.count(SecretValue)
			s = strings.ReplaceAll(s, secret, Redacted)
		}
	}
	return s
}

// credentials are the classes that let somebody in.
var credentials = []Class{PEMBlock, Authorization, BearerToken, URLToken, URLUserInfo, VendorToken, SecretValue}

// Secrets cuts the credentials out of a text for the operator's own eyes, such as
// a log: those known by their value and those that a rule finds. Paths and hosts
// stay, because the operator needs them.
func Secrets(s string, known []string) string {
	r := Redactor{Known: Known{Secrets: known}}
	s = r.known(s)
	for _, rule := range rules {
		if slices.Contains(credentials, rule.class) {
			s = r.apply(rule, "", s)
		}
	}
	return s
}

func (r *Redactor) apply(rule rule, key, s string) string {
	var b strings.Builder
	end := 0
	for _, f := range rule.in(s, strings.ToLower(s)) {
		if f.from < end || f.class == ContainerID && r.Known.digest(key, s[f.from:f.to]) {
			continue
		}
		r.count(f.class)
		b.WriteString(s[end:f.from])
		b.WriteString(r.placeholder(f.class, s[f.from:f.to]))
		end = f.to
	}
	if end == 0 {
		return s
	}
	return b.String() + s[end:]
}

// kinds name the placeholders of the classes whose values are told apart.
var kinds = map[Class]string{
	Email: "email", GPUUUID: "gpu", PCIAddress: "pci", MACAddress: "mac", SerialNumber: "serial",
	PrivateAddress: "host", PrivateHost: "host", ContainerID: "container",
}

func (r *Redactor) placeholder(c Class, value string) string {
	switch {
	case c == URLUserInfo:
		return "" // a placeholder before a host would still be user info
	case c == MachinePath:
		return cutRoot(strings.TrimPrefix(value, "file://"))
	case kinds[c] != "":
		return r.name(kinds[c], value)
	}
	return Redacted
}

func (r *Redactor) replaceHost(s string, h namedHost) string {
	for _, form := range []string{"[" + h.name + "]", h.name} { // an IPv6 address loses its brackets
		if form[0] == '[' && !strings.Contains(h.name, ":") {
			continue
		}
		for {
			i := named(s, form)
			if i < 0 {
				break
			}
			r.count(PrivateHost)
			s = s[:i] + h.placeholder + s[i+len(form):]
		}
	}
	return s
}

// hidden replaces the words of a text that are private only once decoded.
func (r *Redactor) hidden(s string) string {
	if len(r.Known.Scan(s)) == 0 {
		return s
	}
	s = packed.ReplaceAllStringFunc(s, func(run string) string {
		for _, text := range unpack(run) {
			if len(r.Known.Scan(text)) > 0 {
				r.count(Encoded)
				return Redacted
			}
		}
		return run
	})
	return word.ReplaceAllStringFunc(s, func(w string) string {
		if !strings.ContainsAny(w, "%&\\\"") { // no other form is written inside a word
			return w
		}
		if first := r.Known.Scan(w); len(first) > 0 && first[0] == Encoded {
			r.count(Encoded)
			return Redacted
		}
		return w
	})
}

var word = regexp.MustCompile(`\S+`)
