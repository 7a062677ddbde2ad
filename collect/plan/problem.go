package plan

import (
	"fmt"
	"strings"
)

// Problem is something wrong with a plan, a spec or a lock. A plan with a
// problem must not be dispatched.
type Problem struct {
	Code    string `json:"code"`    // closed set, lower case with underscores
	Pointer string `json:"pointer"` // RFC 6901 JSON pointer into the file; "" is the whole file
	Detail  string `json:"detail"`  // one sentence for the operator
}

// String renders the problem on one line.
func (p Problem) String() string { return line(p.Code, p.Pointer, p.Detail) }

// Warning is something the reader of a plan must know. The plan stands.
type Warning struct {
	Code    string `json:"code"`    // closed set, lower case with underscores
	Pointer string `json:"pointer"` // RFC 6901 JSON pointer into the file; "" is the whole file
	Detail  string `json:"detail"`  // one sentence for the operator
}

// String renders the warning on one line.
func (w Warning) String() string { return line(w.Code, w.Pointer, w.Detail) }

func line(code, pointer, detail string) string {
	if pointer == "" {
		pointer = "/"
	}
	return fmt.Sprintf("%s  %s  %s", pointer, code, detail)
}

// pointerEscape is the order RFC 6901 section 3 asks for: "~" before "/".
var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// at appends one reference token to a JSON pointer.
func at(pointer string, token any) string {
	return pointer + "/" + pointerEscape.Replace(fmt.Sprint(token))
}
