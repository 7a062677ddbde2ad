package artifact

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
)

// fields reads known members of one object. What is not there, null, of
// another type or out of range is nil; the last two are problems.
type fields struct {
	at     string // JSON pointer of the object
	names  []string
	values []value // by name; nothing for a member that is not there
	notes  *notes
}

// pick reads the named members of an object in one pass. It keeps names.
func pick(v value, at string, n *notes, names ...string) fields {
	f := fields{at: at, names: names, values: make([]value, len(names)), notes: n}
	for key, member := range v.members() {
		if i := slices.Index(names, string(key)); i >= 0 {
			f.values[i] = member
		}
	}
	return f
}

// one is a single member that was found already.
func one(at, name string, v value, n *notes) fields {
	return fields{at: at, names: []string{name}, values: []value{v}, notes: n}
}

// raw is the member as it stands; nothing when it is not there.
func (f fields) raw(name string) value {
	if i := slices.Index(f.names, name); i >= 0 {
		return f.values[i]
	}
	return nil
}

// asked says that a name is one of those that were picked.
func (f fields) asked(name string) bool { return slices.Contains(f.names, name) }

// has says that the object has the member, be it null.
func (f fields) has(name string) bool { return len(f.raw(name)) > 0 }

func (f fields) wrong(name, want string) {
	f.notes.add(CodeWrongType, f.at+"/"+name, "not %s; the value is taken as unknown", want)
}

func (f fields) text(name string) string {
	v := f.raw(name)
	if v.isNull() {
		return ""
	}
	s, ok := v.text()
	if !ok {
		f.wrong(name, "a text")
	}
	return s
}

func (f fields) int(name string) *int64 {
	v := f.raw(name)
	if v.isNull() {
		return nil
	}
	n, ok := v.integer()
	if !ok {
		f.wrong(name, "a whole number that fits")
		return nil
	}
	return &n
}

// count is a whole number from 0.
func (f fields) count(name string) *int64 {
	n := f.int(name)
	if n != nil && *n < 0 {
		f.wrong(name, "a number from 0")
		return nil
	}
	return n
}

func (f fields) float(name string) *float64 {
	v := f.raw(name)
	if v.isNull() {
		return nil
	}
	x, ok := v.number()
	if !ok {
		f.wrong(name, "a number")
		return nil
	}
	if finite(x) == nil {
		f.notes.add(CodeNotFinite, f.at+"/"+name, "the value is %s; it is taken as unknown", v)
		return nil
	}
	return &x
}

func (f fields) bool(name string) *bool {
	v := f.raw(name)
	if v.isNull() {
		return nil
	}
	b, ok := v.boolean()
	if !ok {
		f.wrong(name, "true or false")
		return nil
	}
	return &b
}

// control is a setting that may be stated as null: then it was not sent.
func (f fields) control(name string) string {
	if f.has(name) && f.raw(name).isNull() {
		return notSent
	}
	return f.text(name)
}

// maxExtra bounds the JSON text of what no column holds, in bytes.
const maxExtra = 16 << 10

// extra is the JSON object of the scalars of an object that no column holds:
// numbers, truth values and short texts. Names that suggest an address, a
// secret or a prompt are left out.
func extra(v value, held func(name string) bool) string {
	var b bytes.Buffer
	for key, member := range v.members() {
		if held(string(key)) || member.isText() && private(string(key)) || len(member) > 200 || b.Len() > maxExtra {
			continue
		}
		name, err := json.Marshal(cut(string(key), 100))
		if err != nil {
			continue
		}
		var text []byte
		if s, ok := member.text(); ok {
			if text, err = json.Marshal(s); err != nil {
				continue
			}
		} else if x, ok := member.number(); ok && !math.IsNaN(x) && !math.IsInf(x, 0) {
			text = member
		} else if _, ok := member.boolean(); ok {
			text = member
		} else {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(text)
	}
	return "{" + b.String() + "}"
}
