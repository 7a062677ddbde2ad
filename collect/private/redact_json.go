package private

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// json redacts the strings of a JSON object or list inside a text, and writes it
// again only when one changed. Numbers are kept as they are written.
func (r *Redactor) json(key, s string) (string, bool) {
	t := strings.TrimSpace(s)
	if r.depth >= maxDepth || t == "" || t[0] != '{' && t[0] != '[' || !json.Valid([]byte(t)) {
		return "", false
	}
	r.depth++
	defer func() { r.depth-- }()
	var v any
	dec := json.NewDecoder(strings.NewReader(t))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return "", false
	}
	changed := false
	v = r.tree(key, v, &changed)
	if !changed {
		return s, true
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return Redacted, true
	}
	return strings.TrimSuffix(b.String(), "\n"), true
}

func (r *Redactor) tree(key string, v any, changed *bool) any {
	switch v := v.(type) {
	case string:
		text := r.Value(key, v)
		*changed = *changed || text != v
		return text
	case []any:
		return r.list(key, v, changed)
	case map[string]any:
		out := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			name := r.Text(k)
			for _, taken := out[name]; taken; _, taken = out[name] {
				name += "'"
			}
			*changed = *changed || name != k
			item := v[k]
			if text, ok := item.(string); ok && environmentKey.MatchString(key) && text != Redacted && !slices.Contains(publicVariables, k) {
				r.count(Environment)
				item, *changed = Redacted, true
			}
			out[name] = r.tree(k, item, changed)
		}
		return out
	}
	return v
}

// list knows that a word after a credential flag is the credential.
func (r *Redactor) list(key string, items []any, changed *bool) any {
	out := make([]any, len(items))
	var words []string
	for _, item := range items {
		text, _ := item.(string)
		words = append(words, text)
	}
	for i, text := range r.Words(key, words) {
		if _, ok := items[i].(string); ok {
			*changed = *changed || text != words[i]
			out[i] = text
			continue
		}
		out[i] = r.tree(key, items[i], changed)
	}
	return out
}
