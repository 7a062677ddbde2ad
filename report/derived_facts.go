package report

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/collect/plan"
	"assay/report/sanitize"
)

// Names of the evidence files of a derived bundle, beside sources.json and
// sanitize.json.
const (
	factsFile      = "facts.json"
	derivationFile = "derivation.json"
)

// factRecord is one fact of facts.json. A number is whole or, as a decimal, in
// the words the source has for it.
type factRecord struct {
	Fact         string  `json:"fact"` // SUBJECT.ATTRIBUTE
	Subject      string  `json:"subject"`
	Attribute    string  `json:"attribute"`
	Basis        string  `json:"basis"` // configured, reported, measured or stated
	Whole        *int64  `json:"whole"`
	Words        *string `json:"words"`
	Unit         string  `json:"unit"`
	N            *int64  `json:"n"` // values behind a measured fact; null where the source does not say
	Source       string  `json:"source"`
	SourceSHA256 string  `json:"source_sha256"`
	Place        string  `json:"place"` // where in the source
}

// factsRecord is facts.json.
type factsRecord struct {
	Schema string       `json:"schema"`
	Label  string       `json:"label"` // evidence label of every fact
	Facts  []factRecord `json:"facts"`
}

// derivedSource is one entry of the sources.json of a derived bundle.
type derivedSource struct {
	Source    string  `json:"source"`
	Kind      string  `json:"kind"`
	Name      string  `json:"name"`
	Retrieved bool    `json:"retrieved"`
	SHA256    *string `json:"sha256"` // null when not retrieved
	Bytes     *int64  `json:"bytes"`  // null when not retrieved
	Reason    string  `json:"reason"` // why it was not retrieved
}

// DeriveData reads the spec of a derived finding and the files of its sources and
// returns the evidence files of its bundle. dir is the folder that file names in
// the spec are relative to; files gives or replaces them by source. All problems
// of the spec come at once, and then no data; an error means that a file could not
// be read.
func DeriveData(spec []byte, dir string, files map[string]string) (Data, []plan.Problem, error) {
	s, problems := decodeDeriveSpec(spec)
	if len(problems) > 0 {
		return Data{}, problems, nil
	}
	d := deriver{spec: s, problems: s.check(), facts: factsRecord{Schema: "assay/derived-facts/v1", Label: s.Words.EvidenceLabel, Facts: []factRecord{}}}
	for id := range files {
		if !slices.ContainsFunc(s.Sources, func(x specSource) bool { return x.ID == id }) {
			d.bad("unknown_source", "/sources", "a file is given for source "+id+", which the spec does not have")
		}
	}
	for i, source := range s.Sources {
		name, replaced := files[source.ID]
		if !replaced && source.File != "" {
			name = filepath.Join(dir, filepath.FromSlash(source.File))
		}
		if err := d.source(i, source, name); err != nil {
			return Data{}, nil, err
		}
	}
	d.addFacts()
	d.checkTexts()
	if len(d.problems) > 0 {
		return Data{}, d.problems, nil
	}
	return d.data()
}

// deriver collects the evidence of a derived finding.
type deriver struct {
	spec     deriveSpec
	problems []plan.Problem
	sources  []derivedSource
	contents map[string]sourceContent // by source
	facts    factsRecord
}

func (d *deriver) bad(code, pointer, detail string) {
	d.problems = append(d.problems, plan.Problem{Code: code, Pointer: pointer, Detail: detail})
}

// addFacts turns the groups of the spec into single facts, sorted by name.
func (d *deriver) addFacts() {
	seen := map[string]bool{}
	for i, group := range d.spec.Facts {
		at := slices.IndexFunc(d.sources, func(s derivedSource) bool { return s.Source == group.Source })
		if at < 0 || !d.sources[at].Retrieved {
			d.bad("unknown_source", fmt.Sprintf("/facts/%d/source", i), "facts can only come from a source that was retrieved")
			continue
		}
		for _, b := range group.bases() {
			for _, attribute := range slices.Sorted(maps.Keys(b.facts)) {
				pointer := fmt.Sprintf("/facts/%d/%s/%s", i, b.basis, attribute)
				f := factRecord{
					Fact: group.Subject + "." + attribute, Subject: group.Subject, Attribute: attribute, Basis: b.basis,
					Source: group.Source, SourceSHA256: *d.sources[at].SHA256, Place: group.Place,
				}
				if b.basis == "measured" {
					f.N = group.N
				}
				if seen[f.Fact] {
					d.bad("repeated_fact", pointer, "the fact "+f.Fact+" is given twice")
				}
				seen[f.Fact] = true
				if why := d.fill(&f, b.facts[attribute]); why != "" {
					d.bad("bad_fact", pointer, why)
				}
				d.facts.Facts = append(d.facts.Facts, f)
			}
		}
	}
	slices.SortFunc(d.facts.Facts, func(a, b factRecord) int { return strings.Compare(a.Fact, b.Fact) })
}

// fill gives a fact its value, from the spec or out of the source's file.
func (d *deriver) fill(f *factRecord, v specValue) string {
	f.Unit = attributeUnit(f.Attribute)
	content := d.contents[f.Source]
	switch {
	case v.Claim != "":
		c, ok := content.claims[v.Claim]
		if !ok {
			return "the source has no claim " + v.Claim + ", or its bundle was not given"
		}
		v = specValue{Words: c.Value}
		v.number(c.Value)
		f.Unit, f.Place = c.Unit, "claim"
		if n, err := strconv.ParseInt(c.N, 10, 64); err == nil {
			f.N = &n
		}
	case v.Pointer != "":
		found, ok := follow(content.document, v.Pointer)
		if !ok {
			return "the pointer leads to no text or number of the source, or its file was not given"
		}
		f.Place = placeOf(v.Pointer)
		v = specValue{Words: found}
		v.number(found)
	}
	f.Whole = v.Whole
	if v.Whole == nil {
		if strings.TrimSpace(v.Words) == "" {
			return "an empty value; a fact that is not known is left out"
		}
		f.Words = &v.Words
	}
	return ""
}

// attributeUnit is the unit that the end of an attribute's name says.
func attributeUnit(attribute string) string {
	for _, u := range [][2]string{{"_tok_s", "tok/s"}, {"_tokens", "tokens"}, {"_ns", "ns"}, {"_bytes", "B"}, {"concurrency", "requests"}, {"ceiling", "requests"}} {
		if strings.HasSuffix(attribute, u[0]) {
			return u[1]
		}
	}
	return ""
}

// data writes the evidence files.
func (d *deriver) data() (Data, []plan.Problem, error) {
	out := Data{Files: map[string][]byte{}}
	for _, f := range []struct {
		name string
		v    any
	}{
		{factsFile, d.facts}, {sourcesFile, d.sources}, {derivationFile, d.spec.Words},
		{sanitizeFile, sanitizeRecord{RulesSHA256: sanitize.RulesSHA256(), Dropped: map[string]int64{}, Replaced: map[string]int64{}, Allow: []sanitize.AllowEntry{}}},
	} {
		data, err := encodeJSON(f.v)
		if err != nil {
			return Data{}, nil, fmt.Errorf("encode %s: %w", f.name, err)
		}
		out.Files[f.name] = data
	}
	return out, nil, nil
}

// placeOf writes a JSON pointer (RFC 6901) with dots, $.runs.0.name: with slashes
// it would read like a path of somebody's machine.
func placeOf(pointer string) string { return "$" + strings.ReplaceAll(pointer, "/", ".") }
