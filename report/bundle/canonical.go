package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Encode writes m in the one canonical JSON form: keys sorted by byte, two-space
// indent, LF, UTF-8 in NFC, no HTML escapes, integers only, subjects sorted by
// name, empty lists written as [], one trailing newline. It fails on a manifest
// that Validate refuses and on text that is not UTF-8.
func Encode(m Manifest) ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	return encode(m)
}

// Decode reads the canonical form and nothing else: what it returns encodes to
// exactly data. An unknown or duplicate key, a float, a byte-order mark, other
// white space or order, or anything after the end is an error.
func Decode(data []byte) (Manifest, error) {
	var m Manifest
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return Manifest{}, fmt.Errorf("decode manifest: %w", err)
	}
	if err := m.Validate(); err != nil {
		return Manifest{}, fmt.Errorf("decode manifest: %w", err)
	}
	again, err := encode(m)
	if err != nil {
		return Manifest{}, fmt.Errorf("decode manifest: %w", err)
	}
	// The comparison alone finds what encoding/json lets pass: duplicate keys,
	// keys in other case, null for a list, replaced bad UTF-8, trailing data.
	if !bytes.Equal(again, data) {
		return Manifest{}, fmt.Errorf("decode manifest: not in canonical form, first at byte %d", firstDifference(again, data))
	}
	return m, nil
}

func firstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func encode(m Manifest) ([]byte, error) {
	loose, err := json.Marshal(m.normal())
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	if err := checkUTF8(reflect.ValueOf(m)); err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(loose))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	var w canonicalWriter
	if err := w.value(tree, "\n"); err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	w.buf.WriteByte('\n')
	return w.buf.Bytes(), nil
}

// checkUTF8 looks at every string below v. It is needed because encoding/json
// silently replaces bad bytes; by reflection, so that no new field is forgotten.
func checkUTF8(v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return fmt.Errorf("%q is not UTF-8", v.String())
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return checkUTF8(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := checkUTF8(v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkUTF8(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for k, item := range v.Seq2() {
			if err := errors.Join(checkUTF8(k), checkUTF8(item)); err != nil {
				return err
			}
		}
	}
	return nil
}

// normal returns a copy with subjects sorted by name and no nil list or map, so
// that one manifest has one form.
func (m Manifest) normal() Manifest {
	m.Subject = filled(slices.Clone(m.Subject))
	slices.SortStableFunc(m.Subject, func(a, b Subject) int { return strings.Compare(a.Name, b.Name) })
	p := &m.Predicate
	p.Roles = filled(slices.Clone(p.Roles))
	for i := range p.Roles {
		p.Roles[i].Files = filled(p.Roles[i].Files)
	}
	p.Inputs, p.External, p.NonClaims = filled(p.Inputs), filled(p.External), filled(p.NonClaims)
	p.Limits.Exceptions = filled(slices.Clone(p.Limits.Exceptions))
	for i := range p.Limits.Exceptions {
		p.Limits.Exceptions[i].Files = filled(p.Limits.Exceptions[i].Files)
	}
	if p.Builder.Deps == nil {
		p.Builder.Deps = map[string]string{}
	}
	if p.Sanitizer != nil {
		s := *p.Sanitizer
		if s.Dropped == nil {
			s.Dropped = map[string]int64{}
		}
		if s.Replaced == nil {
			s.Replaced = map[string]int64{}
		}
		p.Sanitizer = &s
	}
	return m
}

func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// canonicalWriter writes a decoded JSON value in canonical form. newline is a
// line feed and the indent of the value's own line.
type canonicalWriter struct{ buf bytes.Buffer }

func (w *canonicalWriter) value(v any, newline string) error {
	switch v := v.(type) {
	case map[string]any:
		return w.object(v, newline)
	case []any:
		return w.array(v, newline)
	case string:
		w.text(v)
	case json.Number:
		if _, err := strconv.ParseInt(v.String(), 10, 64); err != nil {
			return fmt.Errorf("number %s is not an integer", v)
		}
		w.buf.WriteString(v.String())
	case bool:
		w.buf.WriteString(strconv.FormatBool(v))
	default:
		return fmt.Errorf("value %v has no canonical form", v)
	}
	return nil
}

func (w *canonicalWriter) object(v map[string]any, newline string) error {
	keys := make(map[string]any, len(v))
	for k, item := range v {
		keys[norm.NFC.String(k)] = item
	}
	if len(keys) != len(v) {
		return fmt.Errorf("two keys of one object are equal in NFC")
	}
	sep := "{"
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		w.buf.WriteString(sep + newline + "  ")
		w.text(k)
		w.buf.WriteString(": ")
		if err := w.value(keys[k], newline+"  "); err != nil {
			return err
		}
		sep = ","
	}
	if len(keys) == 0 {
		w.buf.WriteString("{}")
		return nil
	}
	w.buf.WriteString(newline + "}")
	return nil
}

func (w *canonicalWriter) array(v []any, newline string) error {
	if len(v) == 0 {
		w.buf.WriteString("[]")
		return nil
	}
	sep := "["
	for _, item := range v {
		w.buf.WriteString(sep + newline + "  ")
		if err := w.value(item, newline+"  "); err != nil {
			return err
		}
		sep = ","
	}
	w.buf.WriteString(newline + "]")
	return nil
}

// text escapes only what JSON requires: quote, backslash and control characters.
func (w *canonicalWriter) text(s string) {
	w.buf.WriteByte('"')
	for _, r := range norm.NFC.String(s) {
		switch {
		case r == '"' || r == '\\':
			w.buf.WriteByte('\\')
			w.buf.WriteRune(r)
		case r == '\n':
			w.buf.WriteString(`\n`)
		case r < 0x20:
			fmt.Fprintf(&w.buf, `\u%04x`, r)
		default:
			w.buf.WriteRune(r)
		}
	}
	w.buf.WriteByte('"')
}
