package report

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"assay/collect/plan"
	"assay/collect/private"
	"assay/report/bundle"
)

// The closed lists of labels (evidence.md section 6). A derived finding has
// nothing simulated in it.
var (
	evidenceLabels = []string{"external-prior", "compatibility-only", "functional", "capacity", "quality", "historical-invalid"}
	decisionLabels = []string{"current", "rollback", "challenger", "no-promotion", "rejected"}
	sourceKinds    = []string{"finding", "artifact", "bundle"}
)

var (
	wordForm   = regexp.MustCompile(`^[a-z0-9]+([_-][a-z0-9]+)*$`)
	sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)
	reference  = regexp.MustCompile(`\{([a-z0-9_.-]+)\}`)
)

// check holds the spec to its form: what can be said without the sources' files.
func (s deriveSpec) check() []plan.Problem {
	var out []plan.Problem
	bad := func(code, pointer, format string, args ...any) {
		out = append(out, plan.Problem{Code: code, Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if err := bundle.CheckID(s.Words.Finding); err != nil {
		bad("bad_name", "/finding", "%v", err)
	}
	if s.Words.Supersedes != "" && bundle.CheckID(s.Words.Supersedes) != nil {
		bad("bad_name", "/supersedes", "not the name of a finding")
	}
	for _, l := range []struct {
		pointer, label string
		known          []string
	}{{"/evidence_label", s.Words.EvidenceLabel, evidenceLabels}, {"/decision_label", s.Words.DecisionLabel, decisionLabels}} {
		if !slices.Contains(l.known, l.label) {
			bad("unknown_label", l.pointer, "expected one of %s", strings.Join(l.known, ", "))
		}
	}
	seen := map[string]bool{}
	for i, source := range s.Sources {
		pointer := fmt.Sprintf("/sources/%d", i)
		switch {
		case !wordForm.MatchString(source.ID) || seen[source.ID]:
			bad("bad_source", pointer+"/id", "expected a name of its own of a-z, 0-9, - and _")
		case !slices.Contains(sourceKinds, source.Kind):
			bad("bad_source", pointer+"/kind", "expected one of %s", strings.Join(sourceKinds, ", "))
		case source.SHA256 != "" && !sha256Form.MatchString(source.SHA256) || source.Bytes < 0 || (source.SHA256 == "") != (source.Bytes == 0):
			bad("bad_source", pointer, "sha256 and bytes go together: 64 lower-case hex digits and a size")
		}
		seen[source.ID] = true
	}
	for i, f := range s.Facts {
		pointer := fmt.Sprintf("/facts/%d", i)
		if !wordForm.MatchString(f.Subject) {
			bad("bad_fact", pointer+"/subject", "expected a name of a-z, 0-9, - and _")
		}
		if f.N != nil && *f.N < 1 {
			bad("bad_fact", pointer+"/n", "expected at least one value")
		}
		for _, b := range f.bases() {
			for _, attribute := range slices.Sorted(maps.Keys(b.facts)) {
				if !wordForm.MatchString(attribute) || slices.Contains(computedFigures, attribute) {
					bad("bad_fact", pointer+"/"+b.basis+"/"+attribute, "expected a name of a-z, 0-9, - and _ that no computed figure has")
				}
			}
		}
	}
	return append(out, s.checkShape()...)
}

// checkShape holds tables and lists to their form.
func (s deriveSpec) checkShape() []plan.Problem {
	var out []plan.Problem
	bad := func(pointer, detail string) {
		out = append(out, plan.Problem{Code: "bad_shape", Pointer: pointer, Detail: detail})
	}
	width := func(pointer string, rows [][]string, want int) {
		for i, row := range rows {
			if len(row) != want {
				bad(fmt.Sprintf("%s/%d", pointer, i), fmt.Sprintf("%d cells, the table has %d columns", len(row), want))
			}
		}
	}
	width("/card/setup", s.Words.Card.Setup, 2)
	width("/card/headline", s.Words.Card.Headline, 3)
	if n := len(s.Words.Card.Headline); n < 3 || n > 6 {
		bad("/card/headline", "expected 3 to 6 rows, at least one of them negative or a boundary")
	}
	for i, section := range s.Words.Sections {
		width(fmt.Sprintf("/sections/%d/rows", i), section.Rows, len(section.Columns))
		if slices.Contains(derivedHeadings, section.Title) {
			bad(fmt.Sprintf("/sections/%d/title", i), "this heading is used by the finding itself")
		}
	}
	for _, needed := range []struct {
		pointer string
		empty   bool
	}{
		{"/title", s.Words.Title == ""}, {"/scope", s.Words.Scope == ""}, {"/decision", s.Words.Decision == ""}, {"/card/sentence", s.Words.Card.Sentence == ""},
		{"/card/why", s.Words.Card.Why == ""}, {"/card/caveat", s.Words.Card.Caveat == ""}, {"/card/setup", len(s.Words.Card.Setup) == 0},
		{"/outcome", len(s.Words.Outcome) == 0}, {"/gaps", len(s.Words.Gaps) == 0}, {"/next", len(s.Words.Next) == 0}, {"/sources", len(s.Sources) == 0}, {"/facts", len(s.Facts) == 0},
	} {
		if needed.empty {
			bad(needed.pointer, "must not be empty")
		}
	}
	return out
}

// placedText is one text of an author with its place in the spec.
type placedText struct{ pointer, text string }

// texts lists every text in which facts may be named.
func (d derivation) texts() []placedText {
	var out []placedText
	add := func(pointer string, texts ...string) {
		for i, t := range texts {
			at := pointer
			if len(texts) > 1 {
				at = fmt.Sprintf("%s/%d", pointer, i)
			}
			out = append(out, placedText{at, t})
		}
	}
	rows := func(pointer string, rows [][]string) {
		for i, row := range rows {
			add(fmt.Sprintf("%s/%d", pointer, i), row...)
		}
	}
	add("/title", d.Title)
	add("/scope", d.Scope)
	add("/decision", d.Decision)
	add("/card/sentence", d.Card.Sentence)
	add("/card/why", d.Card.Why)
	add("/card/caveat", d.Card.Caveat)
	rows("/card/setup", d.Card.Setup)
	rows("/card/headline", d.Card.Headline)
	add("/outcome", d.Outcome...)
	for i, s := range d.Sections {
		pointer := fmt.Sprintf("/sections/%d", i)
		add(pointer+"/title", s.Title)
		add(pointer+"/text", s.Text...)
		add(pointer+"/columns", s.Columns...)
		rows(pointer+"/rows", s.Rows)
		add(pointer+"/after", s.After...)
	}
	for i, g := range d.Gaps {
		add(fmt.Sprintf("/gaps/%d", i), g.Missing, g.Why, g.Blocks)
	}
	add("/next", d.Next...)
	return out
}

// forbidden are words that no finding uses: they name a winner or a cause.
var forbidden = regexp.MustCompile(`(?i)\b(best|fastest|strongest|winner|wins|because of|thanks to|outperforms|caused by)\b`)

// checkTexts holds the author's words to the facts: each name in braces is one,
// and no number stands there by itself.
func (d *deriver) checkTexts() {
	known := d.figures()
	for _, t := range d.spec.Words.texts() {
		for _, m := range reference.FindAllStringSubmatch(t.text, -1) {
			switch {
			case strings.HasSuffix(m[1], ".decode_tok_s"):
				d.bad("decode_alone", t.pointer, "a decode rate stands only in its own table, beside output lengths and end-to-end time")
			case !known[m[1]]:
				d.bad("unknown_fact", t.pointer, "there is no fact or computed figure "+m[1])
			}
		}
		rest := reference.ReplaceAllString(t.text, "")
		if strings.ContainsAny(rest, "0123456789{}") {
			d.bad("bare_number", t.pointer, "a number of the author's own; record it as a fact with its source and name that in braces")
		}
		if word := forbidden.FindString(rest); word != "" {
			d.bad("praise_or_cause", t.pointer, fmt.Sprintf("the text says %q; a finding names no winner and no cause", word))
		}
		d.private(t.pointer, "the text", t.text)
	}
	for i, s := range d.sources {
		d.private(fmt.Sprintf("/sources/%d/name", i), "the name", s.Name)
		d.private(fmt.Sprintf("/sources/%d/reason", i), "the reason", s.Reason)
	}
	for _, f := range d.facts.Facts {
		d.private("/facts", "the place of "+f.Fact, f.Place)
		if f.Words != nil {
			d.private("/facts", "the value of "+f.Fact, *f.Words)
		}
	}
}

// private refuses what may not be published, without its value.
func (d *deriver) private(pointer, what, text string) {
	if classes := (private.Known{}).Scan(text); len(classes) > 0 {
		d.bad("private_text", pointer, what+" is private ("+string(classes[0])+")")
	}
}

// computedFigures are the columns of the queries over facts that texts may name.
var computedFigures = []string{"full_windows", "combined_tokens", "remaining_tokens"}

// figures lists what a text may name: every fact, and what the queries windows
// and envelopes compute from facts.
func (d *deriver) figures() map[string]bool {
	known, whole := map[string]bool{}, map[string]bool{}
	pools := map[string]string{}
	for _, f := range d.facts.Facts {
		known[f.Fact] = true
		whole[f.Fact] = f.Whole != nil
		if f.Attribute == "planned_pool_of" && f.Words != nil {
			pools[f.Subject] = *f.Words
		}
	}
	for _, f := range d.facts.Facts {
		switch f.Attribute {
		case "context_tokens":
			known[f.Subject+".full_windows"] = whole[f.Fact] && *f.Whole > 0 && whole[f.Subject+".pool_tokens"]
		case "planned_concurrency":
			complete := whole[f.Fact] && whole[f.Subject+".planned_prompt_tokens"] && whole[pools[f.Subject]+".pool_tokens"]
			known[f.Subject+".combined_tokens"], known[f.Subject+".remaining_tokens"] = complete, complete
		}
	}
	return known
}
