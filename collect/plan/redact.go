package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// RedactionCounts says how many texts of each sort were replaced. It holds no value.
type RedactionCounts struct {
	Paths, Secrets, Hosts, Containers, Emails int
}

// Total is the number of all replacements.
func (c RedactionCounts) Total() int {
	return c.Paths + c.Secrets + c.Hosts + c.Containers + c.Emails
}

// Redact returns what may be published of p. The root of a machine path becomes
// [PRIVATE_OPERATOR_ROOT] and its tail stays; authorization and credentials
// become [REDACTED]; URL user info goes; a host that is not loopback becomes
// [host-a], a container id [container-1], a mail address [email-1], the same
// everywhere in the plan. Numbers never change. The result depends on the plan's
// value only, and redacting it again changes nothing. Its Bytes are pretty JSON
// with sorted keys and a last newline.
//
// It fails when p's bytes are not a JSON object, or two keys of an object redact to one.
func Redact(p *Plan) (*Plan, RedactionCounts, error) {
	root, ok, problems := parseJSON(p.Bytes)
	if !ok || root.kind != kindObject {
		return nil, RedactionCounts{}, problemsError("plan to redact", problems)
	}
	r := &redactor{hosts: map[string]string{}, containers: map[string]string{}, emails: map[string]string{}, taken: string(canonical(root))}
	r.baseHosts(p)
	redacted := r.node(root, "")
	if r.err != nil {
		return nil, RedactionCounts{}, fmt.Errorf("redact plan: %w", r.err)
	}
	result, _ := Decode(pretty(redacted))
	return result, r.counts, nil
}

// redactor holds the placeholders of one plan. They are given out in the order of
// sorted keys, so that the order of keys in the file does not matter.
type redactor struct {
	hosts, containers, emails map[string]string
	endpoints                 []endpointHost // longest first, so that a host inside another is not cut out of it
	taken                     string         // the plan, to keep clear of placeholders already there
	counts                    RedactionCounts
	err                       error
}

// baseHosts names the hosts of all endpoints, in the order of the matrix.
func (r *redactor) baseHosts(p *Plan) {
	var hosts []string
	for _, c := range p.Cells {
		m := baseURL.FindStringSubmatch(c.Request.BaseURL)
		if m == nil {
			continue
		}
		_, authority, found := strings.Cut(m[2], "@")
		if !found {
			authority = m[2]
		}
		e, err := ParseEndpoint(m[1] + "://" + authority)
		if err == nil && !e.Redacted && !e.Loopback() && !slices.Contains(hosts, e.Host) {
			hosts = append(hosts, e.Host)
		}
	}
	for _, h := range hosts {
		r.hosts[h] = r.fresh("host", len(r.hosts))
	}
	slices.SortFunc(hosts, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	for _, h := range hosts {
		r.endpoints = append(r.endpoints, endpointHost{aloneInText(h), r.hosts[h]})
	}
}

// fresh is the n-th placeholder of a sort, skipping those the file already has.
func (r *redactor) fresh(sort string, n int) string {
	for {
		name := fmt.Sprintf("[%s-%d]", sort, n+1)
		if sort == "host" {
			name = fmt.Sprintf("[host-%s]", letters(n))
		}
		if !strings.Contains(r.taken, name) {
			r.taken += name
			return name
		}
		n++
	}
}

// letters counts a, b, ..., z, aa, ab, ...
func letters(n int) string {
	text := string(rune('a' + n%26))
	if n >= 26 {
		return letters(n/26-1) + text
	}
	return text
}

// node redacts a value. key is the nearest object key above it.
func (r *redactor) node(n node, key string) node {
	switch n.kind {
	case kindString:
		return node{kind: kindString, text: r.value(n.text, key)}
	case kindArray:
		return r.array(n, key)
	case kindObject:
		return r.object(n)
	}
	return n
}

func (r *redactor) object(n node) node {
	out := node{kind: kindObject}
	for _, i := range memberOrder(n) {
		key := r.text(n.keys[i], n.keys[i])
		if slices.Contains(out.keys, key) {
			r.err = fmt.Errorf("two keys of one object become %q", key)
		}
		out.keys = append(out.keys, key)
		out.items = append(out.items, r.node(n.items[i], n.keys[i]))
	}
	return out
}

// array knows that a word after a credential flag is the credential.
func (r *redactor) array(n node, key string) node {
	out := node{kind: kindArray}
	secretNext := false
	for _, item := range n.items {
		switch {
		case item.kind != kindString:
			out.items = append(out.items, r.node(item, key))
			secretNext = false
			continue
		case secretNext:
			item.text = r.secret(item.text)
		default:
			item.text = r.word(item.text, key)
		}
		out.items = append(out.items, item)
		secretNext = !secretNext && secretFlag.MatchString(item.text)
	}
	return out
}

// word redacts one array element, --flag=value included.
func (r *redactor) word(s, key string) string {
	name, value, inline := strings.Cut(s, "=")
	if inline && secretFlag.MatchString(name) {
		return name + "=" + r.secret(value)
	}
	if key == "argv" && strings.HasPrefix(s, "/") {
		return r.path(s) // one argument is one path, spaces included
	}
	return r.value(s, key)
}

func (r *redactor) secret(s string) string {
	if s != redactedSecret && s != "" {
		r.counts.Secrets++
		return redactedSecret
	}
	return s
}

// value redacts a string by its key and by its shape.
func (r *redactor) value(s, key string) string {
	switch {
	case secretKey.MatchString(key):
		return r.secret(s)
	case containerKey.MatchString(key):
		if s == "" || alreadyRedacted.MatchString(s) {
			return s
		}
		return r.container(s)
	}
	return r.text(s, key)
}

func (r *redactor) container(id string) string {
	r.counts.Containers++
	return r.name(r.containers, "container", id)
}

func (r *redactor) name(names map[string]string, sort, value string) string {
	if names[value] == "" {
		names[value] = r.fresh(sort, len(names))
	}
	return names[value]
}
