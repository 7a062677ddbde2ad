package report

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"assay/collect/plan"
)

// DeriveSchema names the format of the spec of a derived finding.
const DeriveSchema = "assay/derive-spec/v1"

// maxDeriveSpec bounds a spec, in bytes.
const maxDeriveSpec = 1 << 20

// deriveSpec is a derived finding as its author writes it, in YAML: sources,
// facts, and the words around them. A word that needs a number names a fact in
// braces; a number of the author's own is refused.
type deriveSpec struct {
	Words   derivation   `yaml:",inline"`
	Sources []specSource `yaml:"sources"`
	Facts   []specFacts  `yaml:"facts"`
}

// derivation is derivation.json: the words of a derived finding. In every text
// {SUBJECT.ATTRIBUTE} stands for a fact or for a figure computed from facts.
type derivation struct {
	Schema        string           `yaml:"schema" json:"schema"`
	Finding       string           `yaml:"finding" json:"finding"` // YYYY-MM-DD-name
	Supersedes    string           `yaml:"supersedes" json:"supersedes"`
	Title         string           `yaml:"title" json:"title"`
	Scope         string           `yaml:"scope" json:"scope"`
	Decision      string           `yaml:"decision" json:"decision"`
	EvidenceLabel string           `yaml:"evidence_label" json:"evidence_label"`
	DecisionLabel string           `yaml:"decision_label" json:"decision_label"`
	Card          derivedCard      `yaml:"card" json:"card"`
	Outcome       []string         `yaml:"outcome" json:"outcome"` // worst news first
	Sections      []derivedSection `yaml:"sections" json:"sections"`
	Gaps          []derivedGap     `yaml:"gaps" json:"gaps"`
	Next          []string         `yaml:"next" json:"next"`
}

type derivedCard struct {
	Sentence string     `yaml:"sentence" json:"sentence"`
	Setup    [][]string `yaml:"setup" json:"setup"`       // rows of field and value
	Headline [][]string `yaml:"headline" json:"headline"` // rows of measurement, result, conditions
	Why      string     `yaml:"why" json:"why"`
	Caveat   string     `yaml:"caveat" json:"caveat"`
}

type derivedSection struct {
	Title   string     `yaml:"title" json:"title"`
	Text    []string   `yaml:"text" json:"text"`       // paragraphs
	Columns []string   `yaml:"columns" json:"columns"` // of the table, if there is one
	Rows    [][]string `yaml:"rows" json:"rows"`
	After   []string   `yaml:"after" json:"after"` // paragraphs below the table
}

type derivedGap struct {
	Missing string `yaml:"missing" json:"missing"`
	Why     string `yaml:"why" json:"why"`
	Blocks  string `yaml:"blocks" json:"blocks"` // what cannot be said without it
}

// specSource is something facts were taken from, or a source's own source that
// was not had. The digest of a bundle is that of its manifest.
type specSource struct {
	ID     string `yaml:"id"`
	Kind   string `yaml:"kind"` // finding, artifact or bundle
	Name   string `yaml:"name"`
	File   string `yaml:"file"` // relative to the spec; may be given on the command line instead
	SHA256 string `yaml:"sha256"`
	Bytes  int64  `yaml:"bytes"`
	Reason string `yaml:"reason"` // why it was not retrieved; only then
}

// specFacts are facts about one subject from one place of one source.
type specFacts struct {
	Subject    string               `yaml:"subject"`
	Source     string               `yaml:"source"`
	Place      string               `yaml:"place"` // where in the source
	N          *int64               `yaml:"n"`     // values behind each measured fact; absent where the source does not say
	Configured map[string]specValue `yaml:"configured"`
	Reported   map[string]specValue `yaml:"reported"`
	Measured   map[string]specValue `yaml:"measured"`
	Stated     map[string]specValue `yaml:"stated"` // names, and words of the source
}

// bases returns the facts by basis, in a fixed order.
func (f specFacts) bases() []struct {
	basis string
	facts map[string]specValue
} {
	return []struct {
		basis string
		facts map[string]specValue
	}{{"configured", f.Configured}, {"reported", f.Reported}, {"measured", f.Measured}, {"stated", f.Stated}}
}

// specValue is a whole number, a decimal or words; or a place in the source's
// file from which it is read: a JSON pointer into an artifact, or the id of a
// claim of a bundle.
type specValue struct {
	Whole   *int64
	Words   string
	Pointer string
	Claim   string
}

var (
	wholeForm   = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,17})$`)
	decimalForm = regexp.MustCompile(`^-?[0-9]+\.[0-9]+$`)
)

// UnmarshalYAML implements yaml.BytesUnmarshaler. A decimal keeps the digits it
// was written with.
func (v *specValue) UnmarshalYAML(text []byte) error {
	raw := strings.TrimSpace(string(text))
	if v.number(raw) {
		return nil
	}
	var decoded any
	if err := yaml.Unmarshal(text, &decoded); err != nil {
		return err
	}
	switch decoded := decoded.(type) {
	case string:
		v.Words = decoded
		return nil
	case map[string]any:
		var from struct {
			Pointer string `yaml:"pointer"`
			Claim   string `yaml:"claim"`
		}
		if err := yaml.UnmarshalWithOptions(text, &from, yaml.Strict()); err != nil {
			return err
		}
		if (from.Pointer == "") == (from.Claim == "") {
			return errors.New("expected either a pointer or a claim")
		}
		v.Pointer, v.Claim = from.Pointer, from.Claim
		return nil
	}
	return errors.New("expected a whole number, a plain decimal, a text, or {pointer: ...} or {claim: ...}")
}

// number takes a number as it is written; false when the text is none.
func (v *specValue) number(raw string) bool {
	if wholeForm.MatchString(raw) {
		n, err := strconv.ParseInt(raw, 10, 64)
		v.Whole = &n
		return err == nil
	}
	if decimalForm.MatchString(raw) {
		v.Words = raw
		return true
	}
	return false
}

// decodeDeriveSpec reads the YAML strictly: unknown and repeated keys are problems.
func decodeDeriveSpec(data []byte) (deriveSpec, []plan.Problem) {
	var s deriveSpec
	bad := func(detail string) (deriveSpec, []plan.Problem) {
		return s, []plan.Problem{{Code: "bad_spec", Detail: detail}}
	}
	if len(data) > maxDeriveSpec {
		return bad(fmt.Sprintf("the spec is %d bytes; the limit is %d", len(data), maxDeriveSpec))
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return bad(yamlReason(err))
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return bad("expected one YAML document")
	}
	if len(ast.Filter(ast.AnchorType, file.Docs[0].Body)) > 0 {
		return bad("anchors and aliases are not read; write the value out")
	}
	if err := yaml.UnmarshalWithOptions(data, &s, yaml.Strict()); err != nil {
		return bad(yamlReason(err))
	}
	if s.Words.Schema != DeriveSchema {
		return s, []plan.Problem{{Code: "unknown_schema", Pointer: "/schema", Detail: "expected " + DeriveSchema}}
	}
	return s, nil
}

// yamlReason keeps the place and the reason, without the library's excerpt of
// the file.
func yamlReason(err error) string {
	var located yaml.Error
	if errors.As(err, &located) && located.GetToken() != nil {
		at := located.GetToken().Position
		return fmt.Sprintf("line %d column %d: %s", at.Line, at.Column, located.GetMessage())
	}
	return strings.SplitN(err.Error(), "\n", 2)[0]
}
