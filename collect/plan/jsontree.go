package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds on what is read. The largest real plan is 100 kB and five levels deep.
const (
	maxBytes = 64 << 20
	maxDepth = 64
)

type kind string

const (
	kindNull   kind = "null"
	kindBool   kind = "boolean"
	kindNumber kind = "number"
	kindString kind = "string"
	kindArray  kind = "array"
	kindObject kind = "object"
)

// node is a JSON value that keeps member order and the text of numbers, which
// map[string]any would lose.
type node struct {
	kind  kind
	text  string   // number, string, "true" or "false"
	keys  []string // of an object; keys[i] belongs to items[i]
	items []node   // of an array or object
}

func (n node) member(key string) (node, bool) {
	if i := slices.Index(n.keys, key); i >= 0 {
		return n.items[i], true
	}
	return node{}, false
}

// treeReader builds nodes and collects problems that do not stop the reading.
type treeReader struct {
	dec      *json.Decoder
	problems []Problem
}

// parseJSON reads one JSON value. ok is false when there is no tree to look at.
func parseJSON(data []byte) (root node, ok bool, problems []Problem) {
	fail := func(code, detail string) (node, bool, []Problem) {
		return node{}, false, []Problem{{Code: code, Detail: detail}}
	}
	switch {
	case len(data) > maxBytes:
		return fail("too_large", fmt.Sprintf("the file is %d bytes; the limit is %d", len(data), maxBytes))
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return fail("byte_order_mark", "the file starts with a byte order mark; save it as plain UTF-8")
	case !utf8.Valid(data):
		return fail("bad_utf8", "the file is not valid UTF-8")
	}
	r := &treeReader{dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	root, err := r.value("", 0)
	if err != nil {
		return fail(syntaxProblem(data, err))
	}
	if rest := bytes.TrimLeft(data[r.dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
		r.add("trailing_data", "", "%s: text after the end of the JSON value", position(data, int64(len(data)-len(rest))))
	}
	return root, true, r.problems
}

// syntaxProblem names the place, and never quotes the file. The token reader's
// own offsets mean different things for different errors, so the place comes
// from a second reading.
func syntaxProblem(data []byte, err error) (code, detail string) {
	if deep := (*depthError)(nil); errors.As(err, &deep) {
		return "too_deep", deep.Error()
	}
	var raw json.RawMessage
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, &raw); errors.As(err, &syntax) && !strings.HasPrefix(syntax.Error(), "unexpected end") {
		return "not_json", fmt.Sprintf("%s: this is not JSON", position(data, syntax.Offset-1))
	}
	return "not_json", fmt.Sprintf("%s: the file ends in the middle of the JSON value", position(data, int64(len(data))))
}

func position(data []byte, offset int64) string {
	head := data[:min(max(offset, 0), int64(len(data)))]
	return fmt.Sprintf("line %d column %d", bytes.Count(head, []byte("\n"))+1, len(head)-bytes.LastIndexByte(head, '\n'))
}

type depthError struct{}

func (*depthError) Error() string {
	return fmt.Sprintf("nested deeper than %d levels", maxDepth)
}

func (r *treeReader) add(code, pointer, format string, args ...any) {
	r.problems = append(r.problems, Problem{Code: code, Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

func (r *treeReader) value(pointer string, depth int) (node, error) {
	token, err := r.dec.Token()
	if err != nil {
		return node{}, err
	}
	switch t := token.(type) {
	case json.Delim:
		if depth == maxDepth {
			return node{}, &depthError{}
		}
		if t == '{' {
			return r.object(pointer, depth+1)
		}
		return r.array(pointer, depth+1)
	case json.Number:
		if _, ok := canonicalNumber(string(t)); !ok {
			r.add("number_out_of_range", pointer, "the number is beyond what a plan can hold")
		}
		return node{kind: kindNumber, text: string(t)}, nil
	case string:
		r.checkText(t, pointer)
		return node{kind: kindString, text: t}, nil
	case bool:
		return node{kind: kindBool, text: fmt.Sprint(t)}, nil
	default:
		return node{kind: kindNull, text: "null"}, nil
	}
}

// checkText finds lone surrogates, which the decoder turns into U+FFFD: two
// different files would otherwise have one digest.
func (r *treeReader) checkText(s, pointer string) {
	if strings.ContainsRune(s, utf8.RuneError) {
		r.add("bad_text", pointer, "the text has a replacement character or half of a surrogate pair")
	}
}

func (r *treeReader) object(pointer string, depth int) (node, error) {
	n := node{kind: kindObject}
	seen := map[string]bool{}
	for r.dec.More() {
		token, err := r.dec.Token()
		if err != nil {
			return node{}, err
		}
		key, isKey := token.(string)
		if !isKey {
			return node{}, fmt.Errorf("member name expected")
		}
		here := at(pointer, key)
		r.checkText(key, here)
		v, err := r.value(here, depth)
		if err != nil {
			return node{}, err
		}
		if seen[key] {
			r.add("duplicate_key", here, "the object has this key more than once")
			continue
		}
		seen[key] = true
		n.keys, n.items = append(n.keys, key), append(n.items, v)
	}
	_, err := r.dec.Token()
	return n, err
}

func (r *treeReader) array(pointer string, depth int) (node, error) {
	n := node{kind: kindArray}
	for r.dec.More() {
		v, err := r.value(at(pointer, len(n.items)), depth)
		if err != nil {
			return node{}, err
		}
		n.items = append(n.items, v)
	}
	_, err := r.dec.Token()
	return n, err
}
