package private

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of what is decoded, whatever a text holds.
const (
	maxDepth   = 4       // encodings inside each other
	maxUnzip   = 4 << 20 // bytes of one gzip stream
	minPacked  = 16      // characters of a base64 run
	minVisible = 8       // characters of a text inside decoded bytes
)

// view is a text that a text holds in another form, and the name of its field.
type view struct{ key, text string }

// decoded lists what a text holds in other forms.
func decoded(s string) []view {
	var out []view
	if inner, ok := fromJSON(s); ok {
		out = append(out, inner...)
	}
	if strings.Contains(s, `\`) {
		if u := unescape(s); u != s {
			out = append(out, view{text: u})
		}
	}
	if percent.MatchString(s) {
		out = append(out, view{text: unpercent(s)})
	}
	if strings.Contains(s, "&") {
		if u := html.UnescapeString(s); u != s {
			out = append(out, view{text: u})
		}
	}
	for _, run := range packed.FindAllString(s, -1) {
		for _, text := range unpack(run) {
			out = append(out, view{text: text})
		}
	}
	return out
}

// fromJSON lists the strings of a JSON value, each with the nearest key above it.
func fromJSON(s string) ([]view, bool) {
	t := strings.TrimSpace(s)
	if t == "" || !strings.ContainsRune(`{["`, rune(t[0])) || !json.Valid([]byte(t)) {
		return nil, false
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(t))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil, false
	}
	var out []view
	Walk(v, "", func(key, text string) { out = append(out, view{key, text}) })
	return out, true
}

// Walk visits every key and every string of a decoded JSON value, in the order of
// sorted keys, each string with the nearest key above it. A variable of an
// environment is shown as NAME=value, and the value of a fact under its name.
func Walk(v any, key string, visit func(key, text string)) {
	switch v := v.(type) {
	case string:
		visit(key, v)
	case []any:
		for _, item := range v {
			Walk(item, key, visit)
		}
	case map[string]any:
		fact, _ := v["fact"].(string)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			visit("", k)
			text, isText := v[k].(string)
			switch {
			case isText && environmentKey.MatchString(key) && !NamesSecret(k):
				visit(key, k+"="+text)
			case k == "value" && fact != "":
				Walk(v[k], fact, visit)
			default:
				Walk(v[k], k, visit)
			}
		}
	}
}

var percent = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unpercent decodes every %XX and leaves the rest.
func unpercent(s string) string {
	return percent.ReplaceAllStringFunc(s, func(m string) string {
		u, err := url.PathUnescape(m)
		if err != nil {
			return m
		}
		return u
	})
}

var escape = regexp.MustCompile(`\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)`)

// unescape undoes the escapes of a string literal.
func unescape(s string) string {
	return escape.ReplaceAllStringFunc(s, func(m string) string {
		switch m[1] {
		case 'u', 'x':
			if n, err := strconv.ParseUint(m[2:], 16, 32); err == nil && len(m) > 2 {
				return string(rune(n))
			}
			return m
		case 'n', 'r', 't':
			return " "
		}
		return m[1:]
	})
}

// packed is a run that could be base64, folded over lines or not.
var packed = regexp.MustCompile(`[A-Za-z0-9+/_-]{16,}(?:\r?\n[ \t]*[A-Za-z0-9+/_-]{4,})*={0,2}`)

// alphabet brings both alphabets of base64 to one, and a folded run to one line.
var alphabet = strings.NewReplacer("-", "+", "_", "/", "\r", "", "\n", "", " ", "", "\t", "", "=", "")

// unpack decodes a run from each of the four places where it can start, as
// something before it may look like a part of it.
func unpack(run string) []string {
	run = alphabet.Replace(run)
	if strings.Trim(run, "0123456789abcdefABCDEF") == "" && len(run)%2 == 0 {
		return nil // a digest
	}
	var out []string
	for skip := range 4 {
		if len(run)-skip < minPacked {
			break
		}
		part := run[skip:]
		if len(part)%4 == 1 { // a last character alone holds no byte
			part = part[:len(part)-1]
		}
		data, err := base64.RawStdEncoding.DecodeString(part)
		if err != nil {
			continue
		}
		if plain, ok := gunzip(data); ok {
			data = plain
		}
		out = append(out, visible(data)...)
	}
	return out
}

func gunzip(data []byte) ([]byte, bool) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return nil, false
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, false
	}
	plain, _ := io.ReadAll(io.LimitReader(z, maxUnzip)) // a cut stream is looked at as far as it goes
	return plain, true
}

// visible lists the texts inside bytes: all of them when they are one text.
func visible(data []byte) []string {
	if utf8.Valid(data) && !bytes.ContainsFunc(data, func(c rune) bool { return c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != 0 }) {
		if len(data) < minVisible {
			return nil
		}
		return []string{string(data)}
	}
	var out []string
	from := -1
	for i := 0; i <= len(data); i++ {
		if i < len(data) && data[i] >= ' ' && data[i] < 0x7f {
			if from < 0 {
				from = i
			}
			continue
		}
		if from >= 0 && i-from >= minVisible+4 {
			out = append(out, string(data[from:i]))
		}
		from = -1
	}
	return out
}
