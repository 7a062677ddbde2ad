package plan

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// presence says whether a member may be missing.
type presence bool

const (
	required presence = true
	optional presence = false
)

// decoder collects every problem of one file.
type decoder struct{ problems []Problem }

func (d *decoder) add(code, pointer, format string, args ...any) {
	d.problems = append(d.problems, Problem{Code: code, Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

// fields reads the members of one object and remembers which were asked for.
type fields struct {
	d       *decoder
	pointer string
	n       node
	used    []string
}

func (d *decoder) fields(n node, pointer string) *fields {
	if n.kind != kindObject {
		d.wrongType(pointer, kindObject, n.kind)
	}
	return &fields{d: d, pointer: pointer, n: n}
}

func (d *decoder) wrongType(pointer string, want, have kind) {
	d.add("wrong_type", pointer, "expected %s, found %s", want, have)
}

// get returns the member when it is there and of the wanted kind.
func (f *fields) get(key string, want kind, p presence) (node, bool) {
	f.used = append(f.used, key)
	n, ok := f.n.member(key)
	switch {
	case !ok:
		if p == required && f.n.kind == kindObject {
			f.d.add("missing_key", at(f.pointer, key), "%q must be stated", key)
		}
		return node{}, false
	case n.kind != want:
		f.d.wrongType(at(f.pointer, key), want, n.kind)
		return node{}, false
	}
	return n, true
}

// unknown lists the keys nobody asked for, in file order.
func (f *fields) unknown() []string {
	var rest []string
	for _, k := range f.n.keys {
		if !slices.Contains(f.used, k) {
			rest = append(rest, k)
		}
	}
	return rest
}

func (f *fields) str(key string, p presence) string {
	n, _ := f.get(key, kindString, p)
	return n.text
}

func (f *fields) optionalString(key string) *string {
	if n, ok := f.get(key, kindString, optional); ok {
		return &n.text
	}
	return nil
}

func (f *fields) optionalBool(key string) *bool {
	if n, ok := f.get(key, kindBool, optional); ok {
		b := n.text == "true"
		return &b
	}
	return nil
}

func (f *fields) boolean(key string) bool {
	n, _ := f.get(key, kindBool, required)
	return n.text == "true"
}

func (f *fields) optionalNumber(key string) *json.Number {
	if n, ok := f.get(key, kindNumber, optional); ok {
		number := json.Number(n.text)
		return &number
	}
	return nil
}

// bounds of an integer, both inclusive.
type bounds struct{ low, high int64 }

// Bounds of what a plan may state. They keep sums and products of two values
// inside int64, and a prompt inside memory.
var (
	anyCount    = bounds{0, math.MaxInt32}
	positive    = bounds{1, math.MaxInt32}
	seedRange   = bounds{0, 1 << 53}         // written into prompts in full
	indexCount  = bounds{1, 100_000}         // a marker has five digits for the index
	tokenCount  = bounds{1, 16 << 20}        // three characters each
	secondCount = bounds{1, 366 * 24 * 3600} // a year
	portRange   = bounds{1, 65535}
)

func (f *fields) integer(key string, b bounds, p presence) (int64, bool) {
	n, ok := f.get(key, kindNumber, p)
	if !ok {
		return 0, false
	}
	v, detail := parseInteger(n.text, b)
	if detail != "" {
		f.d.add("number_out_of_range", at(f.pointer, key), "%s", detail)
		return 0, false
	}
	return v, true
}

func (f *fields) must(key string, b bounds) int64 {
	v, _ := f.integer(key, b, required)
	return v
}

func (f *fields) optionalInteger(key string, b bounds) *int64 {
	if v, ok := f.integer(key, b, optional); ok {
		return &v
	}
	return nil
}

// parseInteger reads a whole number by value, so that 8, 8.0 and 8e0, which have
// one digest, also mean one thing. detail is "" on success.
func parseInteger(text string, b bounds) (v int64, detail string) {
	canonicalText, ok := canonicalNumber(text)
	if ok {
		var err error
		v, err = strconv.ParseInt(canonicalText, 10, 64)
		ok = err == nil
	}
	if !ok || v < b.low || v > b.high {
		return 0, fmt.Sprintf("expected a whole number from %d to %d", b.low, b.high)
	}
	return v, ""
}

func (f *fields) instant(key string) time.Time {
	n, ok := f.get(key, kindString, required)
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, n.text)
	if err != nil || t.Year() < 1970 || t.Year() > 2200 {
		f.d.add("bad_time", at(f.pointer, key), "expected an RFC 3339 time with its offset, between 1970 and 2200")
		return time.Time{}
	}
	return t.UTC()
}

// strings reads an array of strings; wrong elements are problems and left out.
func (f *fields) strings(key string, p presence) []string {
	n, ok := f.get(key, kindArray, p)
	if !ok {
		return nil
	}
	texts := make([]string, 0, len(n.items))
	for i, x := range n.items {
		if x.kind != kindString {
			f.d.wrongType(at(at(f.pointer, key), i), kindString, x.kind)
			continue
		}
		texts = append(texts, x.text)
	}
	return texts
}

// object returns the members of a nested object. ok is false, and the result
// empty, when there is none.
func (f *fields) object(key string, p presence) (nested *fields, ok bool) {
	n, ok := f.get(key, kindObject, p)
	return &fields{d: f.d, pointer: at(f.pointer, key), n: n}, ok
}

// entries lists all members of the object in file order.
func (f *fields) entries() Entries {
	var list Entries
	for i, k := range f.n.keys {
		text := f.n.items[i].text
		if f.n.items[i].kind != kindString {
			text = string(canonical(f.n.items[i]))
		}
		list = append(list, Entry{Key: k, Text: text})
	}
	return list
}
