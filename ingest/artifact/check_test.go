package artifact

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func checkWhole(text string) *fault {
	data := []byte(text)
	start := len(data) - len(strings.TrimLeft(text, " \t\r\n"))
	if start == len(data) {
		return &fault{code: CodeEmpty}
	}
	n, wrong := checkValue(data[start:])
	if wrong == nil && strings.Trim(text[start+n:], " \t\r\n") != "" {
		wrong = &fault{code: CodeNotJSON}
	}
	return wrong
}

var jsonTexts = []string{
	`null`, `true`, `false`, `0`, `-0`, `1.5e-3`, `1E+9`, `""`, `"a\"b\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`, `[]`, `{}`, `[1,[2,{"a":[]}],{}]`, `{"a":1,"b":{"a":2}}`, ` [ 1 , 2 ] `,
	`01`, `1.`, `.5`, `-`, `+1`, `1e`, `1e+`, `tru`, `truex`, `nul`, `"`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"a\nb\"", `[`, `[1`, `[1,`, `[1,]`, `[,1]`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{a:1}`,
	`{"a" 1}`, `{"a":1 "b":2}`, `]`, `}`, `[}`, `{]`, `[1 2]`, `1 2`, ``, ` `, `'a'`, `{"a":[1,2}`, `[{"a":1]`,
}

// What is taken for JSON is what the standard library takes, NaN, Infinity and
// repeated keys apart.
func TestCheckerAgreesWithTheStandardLibrary(t *testing.T) {
	for _, text := range jsonTexts {
		if got, want := checkWhole(text) == nil, json.Valid([]byte(text)); got != want {
			t.Errorf("%q: valid %v, want %v", text, got, want)
		}
	}
}

func TestCheckerNamesTheFault(t *testing.T) {
	for text, want := range map[string]Code{
		`[NaN, Infinity, -Infinity]`:   "",
		`[NaNx]`:                       CodeNotJSON,
		`{"a":1,"a":2}`:                CodeDuplicateKey,
		`{"a":1,"\u0061":2}`:           CodeDuplicateKey,
		`{"a":{"b":1,"b":2}}`:          CodeDuplicateKey,
		`[{"a":1},{"a":2}]`:            "",
		`{"a":{"a":1}}`:                "",
		`{"a":1`:                       CodeTruncated,
		`{"a":tru`:                     CodeTruncated,
		`{"a":-`:                       CodeTruncated,
		`{"a":"x`:                      CodeTruncated,
		`{"a":"\u00`:                   CodeTruncated,
		`{"a":x}`:                      CodeNotJSON,
		strings.Repeat("[", 1_000_000): CodeTooDeep,
		strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth): "",
	} {
		wrong := checkWhole(text)
		got := Code("")
		if wrong != nil {
			got = wrong.code
		}
		if got != want {
			t.Errorf("%.40q: %q, want %q", text, got, want)
		}
	}
}

// Reading members and elements gives what the standard library gives.
func FuzzValue(f *testing.F) {
	for _, text := range jsonTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // refused before the checker sees it
		}
		wrong := checkWhole(text)
		if wrong != nil && wrong.code != CodeDuplicateKey && wrong.code != CodeTooDeep && json.Valid([]byte(text)) {
			t.Fatalf("%q is JSON and was refused: %+v", text, wrong)
		}
		if wrong != nil || !json.Valid([]byte(text)) {
			return
		}
		sameValue(t, value(strings.Trim(text, " \t\r\n")))
	})
}

func sameValue(t *testing.T, v value) {
	switch {
	case v.isObject():
		var members map[string]json.RawMessage
		if err := json.Unmarshal(v, &members); err != nil {
			t.Fatal(err)
		}
		n := 0
		for key, member := range v.members() {
			name := strings.ToValidUTF8(string(key), "\uFFFD")
			if raw, ok := members[name]; !ok || strings.TrimSpace(string(raw)) != string(member) {
				t.Fatalf("%q: member %q is %q, want %q", v, key, member, raw)
			}
			sameValue(t, member)
			n++
		}
		if n != len(members) {
			t.Fatalf("%q: %d members, want %d", v, n, len(members))
		}
	case v.isArray():
		var elements []json.RawMessage
		if err := json.Unmarshal(v, &elements); err != nil {
			t.Fatal(err)
		}
		if v.count() != len(elements) {
			t.Fatalf("%q: %d elements, want %d", v, v.count(), len(elements))
		}
		for i, e := range v.elements() {
			if strings.TrimSpace(string(elements[i])) != string(e) {
				t.Fatalf("%q: element %d is %q", v, i, e)
			}
			sameValue(t, e)
		}
	case v.isText():
		var s string
		if err := json.Unmarshal(v, &s); err != nil || s != strings.ToValidUTF8(string(unquote(v)), "\uFFFD") {
			t.Fatalf("%q: text %q, want %q, %v", v, unquote(v), s, err)
		}
	}
}
