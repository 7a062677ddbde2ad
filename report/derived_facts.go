package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/collect/plan"
	"assay/report/bundle"
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

// sourceContent is what facts are read from.
type sourceContent struct {
	document any                    // of an artifact, decoded
	claims   map[string]claimRecord // of a bundle
}

func (d *deriver) bad(code, pointer, detail string) {
	d.problems = append(d.problems, plan.Problem{Code: code, Pointer: pointer, Detail: detail})
}

// source records one source, and reads its file where there is one.
func (d *deriver) source(i int, s specSource, name string) error {
	pointer := fmt.Sprintf("/sources/%d", i)
	out := derivedSource{Source: s.ID, Kind: s.Kind, Name: s.Name, Reason: s.Reason}
	if name != "" {
		sum, size, content, err := readSource(s.Kind, name)
		if err != nil {
			return fmt.Errorf("read source %s: %w", s.ID, err)
		}
		if s.SHA256 != "" && s.SHA256 != sum || s.Bytes != 0 && s.Bytes != size {
			d.bad("digest_differs", pointer, fmt.Sprintf("the file of source %s has another digest or size than the spec says", s.ID))
		}
		s.SHA256, s.Bytes = sum, size
		if d.contents == nil {
			d.contents = map[string]sourceContent{}
		}
		d.contents[s.ID] = content
	}
	if s.SHA256 != "" {
		out.Retrieved, out.SHA256, out.Bytes = true, &s.SHA256, &s.Bytes
	}
	switch {
	case out.Retrieved && s.Reason != "":
		d.bad("bad_source", pointer, "a source that was retrieved needs no reason why not")
	case !out.Retrieved && strings.TrimSpace(s.Reason) == "":
		d.bad("bad_source", pointer, "give its file, or its sha256 and bytes, or the reason why it was not retrieved")
	}
	d.sources = append(d.sources, out)
	return nil
}

// readSource reads a file or a bundle's folder. The digest and size of a bundle
// are those of its manifest, and a bundle that fails its structural checks is an
// error.
func readSource(kind, name string) (sum string, size int64, content sourceContent, err error) {
	if kind == "bundle" {
		return readBundleSource(name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", 0, content, withoutName(err)
	}
	digest := sha256.Sum256(data)
	if kind == "artifact" {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if err := dec.Decode(&content.document); err != nil {
			return "", 0, content, errors.New("the artifact is no JSON document")
		}
	}
	return hex.EncodeToString(digest[:]), int64(len(data)), content, nil
}

// withoutName drops the path from a file error: it is the operator's own.
func withoutName(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func readBundleSource(folder string) (sum string, size int64, content sourceContent, err error) {
	l, err := bundle.Load(filepath.Clean(folder))
	if err != nil {
		return "", 0, content, err
	}
	if l.Manifest != nil && l.Manifest.Predicate.Finding.Kind == bundle.KindSimulated {
		return "", 0, content, errors.New("the bundle is of a simulated finding, whose numbers cannot be published as anything else")
	}
	if result := bundle.Verify(l, bundle.Options{}); !result.OK() {
		return "", 0, content, fmt.Errorf("the bundle fails %d of its structural checks; see assay verify", len(result.Problems))
	}
	var file struct {
		Claims []claimRecord `json:"claims"`
	}
	if e := l.Files[bundle.SubjectName(l.Folder, "claims.json")]; e == nil || json.Unmarshal(e.Data, &file) != nil {
		return "", 0, content, errors.New("the bundle has no readable claims.json")
	}
	content.claims = map[string]claimRecord{}
	for _, c := range file.Claims {
		content.claims[c.ID] = c
	}
	digest := sha256.Sum256(l.ManifestBytes)
	return hex.EncodeToString(digest[:]), int64(len(l.ManifestBytes)), content, nil
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
		f.Place = "#" + v.Pointer // as a URI fragment, RFC 6901 section 6
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

// follow returns the text or number at a JSON pointer (RFC 6901).
func follow(document any, pointer string) (string, bool) {
	at := document
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch node := at.(type) {
		case map[string]any:
			at = node[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(node) {
				return "", false
			}
			at = node[i]
		default:
			return "", false
		}
	}
	switch at := at.(type) {
	case string:
		return at, true
	case json.Number:
		return at.String(), true
	}
	return "", false
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
		{sanitizeFile, sanitizeRecord{RulesSHA256: sanitize.RulesSHA256(), Dropped: map[string]int64{}, Replaced: map[string]int64{}, Allow: []string{}}},
	} {
		data, err := encodeJSON(f.v)
		if err != nil {
			return Data{}, nil, fmt.Errorf("encode %s: %w", f.name, err)
		}
		out.Files[f.name] = data
	}
	return out, nil, nil
}
