package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"strings"
	"time"
)

// SanitizeName is the file of a bundle that says by what rules it was sanitised.
const SanitizeName = "sanitize.json"

// SanitizeRecord is sanitize.json: what was taken out, as counts, and what was
// let through, with its reason.
type SanitizeRecord struct {
	RulesSHA256 string           `json:"rules_sha256"`
	Dropped     map[string]int64 `json:"dropped"`  // rows of each column that was left out
	Replaced    map[string]int64 `json:"replaced"` // texts replaced, by table.column or file and by class
	Allow       []AllowEntry     `json:"allow"`
}

// AllowEntry lets one text be published that a rule takes for private.
type AllowEntry struct {
	Value  string `json:"value"`
	Path   string `json:"path"`   // file, or file:column; as path.Match reads it
	Reason string `json:"reason"` // why it is public
	Date   string `json:"date"`   // when that was decided, YYYY-MM-DD
}

// DecodeSanitizeRecord reads sanitize.json strictly: no unknown field, every
// count at least 0, every allow entry whole.
func DecodeSanitizeRecord(data []byte) (SanitizeRecord, error) {
	var r SanitizeRecord
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return r, errors.New("cannot be read as the sanitizer's record")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return r, errors.New("text after the sanitizer's record")
	}
	if !sha256Form.MatchString(r.RulesSHA256) {
		return r, errors.New("rules_sha256 is no digest")
	}
	for _, counts := range []map[string]int64{r.Dropped, r.Replaced} {
		for _, n := range counts {
			if n < 0 {
				return r, errors.New("a count is below 0")
			}
		}
	}
	return r, checkAllow(r.Allow)
}

// checkAllow says what the first entry that is not whole lacks.
func checkAllow(entries []AllowEntry) error {
	for i, a := range entries {
		_, badDate := time.Parse(time.DateOnly, a.Date)
		_, badPath := path.Match(a.Path, "")
		if badDate != nil || badPath != nil || a.Value == "" || a.Path == "" || strings.TrimSpace(a.Reason) == "" {
			return fmt.Errorf("allow entry %d lacks a value, a path, a reason or a date as YYYY-MM-DD", i+1)
		}
	}
	return nil
}

// DecodeAllow reads a list of allow entries strictly.
func DecodeAllow(data []byte) ([]AllowEntry, error) {
	var entries []AllowEntry
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&entries); err != nil {
		return nil, errors.New("is no JSON list of objects with value, path, reason and date")
	}
	return entries, checkAllow(entries)
}

// CheckSanitizer is V-13 as far as bytes show it: the manifest says that a
// sanitizer ran, and sanitize.json says the same.
func CheckSanitizer(l *Loaded) []Problem {
	problem := func(file, detail string) []Problem { return []Problem{{"V-13", file, detail}} }
	stated := l.Manifest.Predicate.Sanitizer
	if stated == nil {
		return problem(ManifestName, "no record of a sanitizer")
	}
	name := SubjectName(l.Folder, SanitizeName)
	e := l.Files[name]
	if e == nil || e.Data == nil {
		return problem(name, "missing, so nobody can see what was taken out")
	}
	r, err := DecodeSanitizeRecord(e.Data)
	switch {
	case err != nil:
		return problem(name, err.Error())
	case r.RulesSHA256 != stated.RulesSHA256, !maps.Equal(r.Dropped, stated.Dropped), !maps.Equal(r.Replaced, stated.Replaced),
		int64(len(r.Allow)) != stated.AllowEntries:
		return problem(name, "is not what the manifest says of the sanitizer")
	}
	return nil
}
