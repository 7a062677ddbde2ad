package plan

import (
	"fmt"
	"slices"
	"strings"

	"assay/collect/private"
)

// Redact returns what may be published of p. The root of a machine path becomes
// [PRIVATE_OPERATOR_ROOT] and its tail stays; authorization and credentials
// become [REDACTED]; URL user info goes; a host that is not loopback becomes
// [host-a], a container id [container-1], a mail address [email-1], the same
// everywhere in the plan. Numbers never change. The result depends on the plan's
// value only, and redacting it again changes nothing. Its Bytes are pretty JSON
// with sorted keys and a last newline. The counts hold no value.
//
// It fails when p's bytes are not a JSON object, or two keys of an object redact to one.
func Redact(p *Plan) (*Plan, private.Counts, error) {
	r, err := NewRedactor(p)
	if err != nil {
		return nil, nil, err
	}
	redacted, err := RedactWith(p, r)
	if err != nil {
		return nil, nil, err
	}
	return redacted, r.Counts, nil
}

// NewRedactor returns a redactor that knows the hosts of p's endpoints, in the
// order of the matrix, and keeps clear of placeholders that p has already. It
// fails when p's bytes are not a JSON object.
func NewRedactor(p *Plan) (*private.Redactor, error) {
	root, ok, problems := parseJSON(p.Bytes)
	if !ok || root.kind != kindObject {
		return nil, problemsError("plan to redact", problems)
	}
	r := private.NewRedactor(string(canonical(root)))
	for _, c := range p.Cells {
		m := baseURL.FindStringSubmatch(c.Request.BaseURL)
		if m == nil {
			continue
		}
		authority := m[2][strings.LastIndexByte(m[2], '@')+1:]
		e, err := ParseEndpoint(m[1] + "://" + authority)
		if err == nil && !e.Redacted && !e.Loopback() {
			r.Host(e.Host)
		}
	}
	return r, nil
}

// RedactWith is Redact with a redactor of NewRedactor, whose placeholders then go
// on to mean the same in whatever else it redacts.
func RedactWith(p *Plan, r *private.Redactor) (*Plan, error) {
	root, ok, problems := parseJSON(p.Bytes)
	if !ok || root.kind != kindObject {
		return nil, problemsError("plan to redact", problems)
	}
	t := treeRedactor{Redactor: r}
	redacted := t.node(root, "")
	if t.err != nil {
		return nil, fmt.Errorf("redact plan: %w", t.err)
	}
	result, _ := Decode(pretty(redacted))
	return result, nil
}

// treeRedactor redacts a JSON value that keeps the order of its members.
type treeRedactor struct {
	*private.Redactor
	err error
}

// node redacts a value. key is the nearest object key above it.
func (r *treeRedactor) node(n node, key string) node {
	switch n.kind {
	case kindString:
		return node{kind: kindString, text: r.Value(key, n.text)}
	case kindArray:
		return r.array(n, key)
	case kindObject:
		return r.object(n)
	}
	return n
}

func (r *treeRedactor) object(n node) node {
	out := node{kind: kindObject}
	for _, i := range memberOrder(n) {
		key := r.Text(n.keys[i])
		if slices.Contains(out.keys, key) {
			r.err = fmt.Errorf("two keys of one object become %q", key)
		}
		out.keys = append(out.keys, key)
		out.items = append(out.items, r.node(n.items[i], n.keys[i]))
	}
	return out
}

// array hands its words over together: one may be a flag and the next its value.
func (r *treeRedactor) array(n node, key string) node {
	words := make([]string, len(n.items))
	for i, item := range n.items {
		if item.kind == kindString {
			words[i] = item.text
		}
	}
	out := node{kind: kindArray}
	for i, text := range r.Words(key, words) {
		if n.items[i].kind == kindString {
			out.items = append(out.items, node{kind: kindString, text: text})
		} else {
			out.items = append(out.items, r.node(n.items[i], key))
		}
	}
	return out
}
