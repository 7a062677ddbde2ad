package sanitize

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"assay/collect/private"
	"assay/report/bundle"
)

// Class names a kind of private text. Three are about the carrier and not its
// text: not all of it can be looked into, so it is not published.
type Class = private.Class

// The classes of this package.
const (
	Unreadable Class = "unreadable"        // a file that is not what its name says
	Unknown    Class = "unknown_file_kind" // a kind of file that nothing here looks into
	Hidden     Class = "hidden_bytes"      // bytes of a data file that no reader looks at
)

// Error says that something private stands where it would be published. It
// names the place and the class, never the value.
type Error struct {
	Where string // file, or file:column
	Class Class
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s holds a private text (%s)", e.Where, e.Class)
}

// Refusal is what a scan found as one error, nil for nothing.
func Refusal(found []error) error {
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("nothing is published; remove what is private from the source and ingest again, or allow it by an entry with value, path, reason and date:\n%w", errors.Join(found...))
}

// Rules says what a scan looks for beside the rules that always hold. The zero
// value looks for nothing more and allows nothing.
type Rules struct {
	Known private.Known
	Allow []AllowEntry
	// Tables reads a data file; nil is ReadTable.
	Tables TableReader
	// Published says that the files are out already: one that is not what its name
	// says is scanned as plain text, since its form is for other checks. What is
	// still to be published is refused instead.
	Published bool
}

// Scan looks into every file, by its name in the bundle or findings folder, and
// returns an error for every place that holds something private, by place. An
// allow entry that matches nothing is an error too.
func (r Rules) Scan(files map[string][]byte) []error {
	s := scanner{rules: r, used: make([]int, len(r.Allow)), places: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		s.text(name, "", name)
		s.file(name, files[name])
	}
	for i, n := range s.used {
		if n == 0 {
			s.errs = append(s.errs, fmt.Errorf("allow entry %d for %s, of %s, matches nothing any more; remove it", i+1, r.Allow[i].Path, r.Allow[i].Date))
		}
	}
	return s.errs
}

// Check scans one text that stands alone, under the name of its column, and
// returns an *Error for the first class found. It allows nothing.
func Check(table, column, text string) error {
	if classes := (private.Known{}).ScanValue(column, text); len(classes) > 0 {
		return &Error{Where: table + "." + column, Class: classes[0]}
	}
	return nil
}

type scanner struct {
	rules  Rules
	used   []int           // how often each allow entry matched
	places map[string]bool // place and class already reported
	errs   []error
}

// text scans one decoded text. A text in several places of one column is one
// error.
func (s *scanner) text(where, key, text string) {
	for i, a := range s.rules.Allow {
		if !strings.Contains(text, a.Value) {
			continue
		}
		if Covers(a, where) {
			s.used[i]++
		} else if !follows(where) {
			continue
		}
		text = strings.ReplaceAll(text, a.Value, "allowed")
	}
	if classes := s.rules.Known.ScanValue(key, text); len(classes) > 0 {
		s.add(where, classes[0])
	}
}

// aName stands for a name that is private itself and must not be quoted.
const aName = "a file's name"

func (s *scanner) add(where string, class Class) {
	if name, _, _ := strings.Cut(where, ":"); len(s.rules.Known.Scan(name)) > 0 {
		where = aName
	}
	if at := where + "\n" + string(class); !s.places[at] {
		s.places[at] = true
		s.errs = append(s.errs, &Error{Where: where, Class: class})
	}
}

// RulesSHA256 is the digest of the allow-list and all rules: it changes when
// what may be published changes.
func RulesSHA256() string {
	h := sha256.New()
	for _, table := range slices.Sorted(maps.Keys(allowed)) {
		fmt.Fprintf(h, "%s %s\n", table, strings.Join(Columns(table), " "))
	}
	fmt.Fprintf(h, "%s\n%s\n%s", strings.Join(labels, " "), strings.Join(settings, " "), private.Describe())
	return hex.EncodeToString(h.Sum(nil))
}

// AllowEntry lets one text be published that a rule takes for private.
type AllowEntry = bundle.AllowEntry

// Covers says whether an entry is for a place: "file" or "file:column", by its
// name in the bundle.
func Covers(a AllowEntry, where string) bool {
	file, _, _ := strings.Cut(where, ":")
	whole, err := path.Match(a.Path, where)
	part, _ := path.Match(a.Path, file)
	return err == nil && (whole || part)
}

// follows says whether a file of a bundle follows from others: what is allowed
// in those is allowed in it.
func follows(where string) bool {
	file, _, _ := strings.Cut(where, ":")
	return file != "plan.json" && file != "sources.json" && !strings.HasPrefix(file, "data/")
}
