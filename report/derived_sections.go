package report

import (
	"fmt"
	"strings"

	"assay/report/bundle"
)

// derivedHeadings are the headings a derived finding has of itself.
var derivedHeadings = []string{
	"Result card", "Outcome", "Decode rates", "Computed figures", "Recorded facts", "Method", "What is missing", "Sources",
	"What to test next", "Evidence boundary",
}

// notInSource is printed where a reader needs a number that no source has.
const notInSource = "not in the source"

// derivedView is what the templates of a derived finding see: finished Markdown.
type derivedView struct {
	Title, ID, Folder, Date, Scope, Decision string
	Corrects                                 string // link to the finding this one supersedes, or ""
	Card                                     card
	Outcome                                  []string
	Sections                                 []derivedPart
	Decode                                   string
	Windows, Envelopes                       string
	Facts                                    []named
	Quoted                                   string // how many words of the sources are quoted
	Gaps, Sources                            string
	Next, NonClaims                          []string
	Post                                     postView
}

type derivedPart struct {
	Title       string
	Text, After []string
	Table       string
}

// expander turns an author's texts into Markdown and keeps the first error.
type expander struct {
	r   *derivedRenderer
	err error
}

func (e *expander) text(s string) string {
	out, err := e.r.expand(s)
	if e.err == nil {
		e.err = err
	}
	return out
}

func (e *expander) list(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = e.text(t)
	}
	return out
}

func (e *expander) table(head []string, rows [][]string) string {
	t := &table{head: e.list(head), right: make([]bool, len(head))}
	for _, row := range rows {
		t.add(e.list(row)...)
	}
	return t.String()
}

// expand writes an author's text as literal Markdown, with a claim for each name
// in braces.
func (r *derivedRenderer) expand(text string) (string, error) {
	var b strings.Builder
	at := 0
	for _, m := range reference.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(piece(text[at:m[0]], at == 0))
		claim, err := r.figure(text[m[2]:m[3]])
		if err != nil {
			return "", err
		}
		b.WriteString(claim)
		at = m[1]
	}
	b.WriteString(piece(text[at:], at == 0))
	return b.String(), nil
}

// piece is a part of a text as a literal that keeps the spaces around it.
func piece(s string, first bool) string {
	inner := strings.TrimSpace(s)
	if inner == "" {
		return s
	}
	start := strings.Index(s, inner)
	before, after := s[:start], s[start+len(inner):]
	if first {
		return before + literal(inner) + after
	}
	// What cannot start a line needs no escape for it.
	return before + strings.TrimPrefix(literal("."+inner), ".") + after
}

// figure is the claim of a fact, or of a figure computed from facts.
func (r *derivedRenderer) figure(name string) (string, error) {
	facts := r.b.result("facts")
	for _, i := range facts.find("fact", name) {
		if r.b.has("facts", i, "whole") {
			return r.b.claim("facts", i, "whole"), nil
		}
		return r.b.claim("facts", i, "words"), nil
	}
	dot := strings.LastIndexByte(name, '.')
	for _, q := range []string{"windows", "envelopes"} {
		res := r.b.result(q)
		if res.column(name[dot+1:]) < 0 {
			continue
		}
		for _, i := range res.find("subject", name[:max(dot, 0)]) {
			if r.b.has(q, i, name[dot+1:]) {
				return r.b.claim(q, i, name[dot+1:]), nil
			}
		}
	}
	return "", fmt.Errorf("there is no fact or computed figure %s", name)
}

func (r *derivedRenderer) view() (derivedView, error) {
	e := &expander{r: r}
	w := r.words
	v := derivedView{
		Title: e.text(w.Title), ID: r.id, Folder: r.folder, Date: given(r.id[:len("2006-01-02")]), Scope: e.text(w.Scope),
		Corrects: correctsLine(w.Supersedes),
		Decision: w.DecisionLabel + ". Evidence: " + w.EvidenceLabel + ". " + e.text(w.Decision),
		Card: card{
			Sentence: e.text(w.Card.Sentence), Why: e.text(w.Card.Why), Caveat: e.text(w.Card.Caveat),
			Setup:    e.table([]string{"Field", "Value"}, append(w.Card.Setup, []string{"Labels", "evidence " + w.EvidenceLabel + "; decision " + w.DecisionLabel})),
			Headline: e.table([]string{"Headline measurement", "Local result", "Conditions"}, w.Card.Headline),
		},
		Outcome: e.list(w.Outcome), Next: e.list(w.Next), NonClaims: nonClaims(bundle.KindDerived),
		Decode: r.decode(), Windows: r.windows(), Envelopes: r.envelopes(), Facts: r.facts(), Quoted: r.quoted(), Sources: r.sourceTable(),
	}
	for _, s := range w.Sections {
		v.Sections = append(v.Sections, derivedPart{e.text(s.Title), e.list(s.Text), e.list(s.After), e.table(s.Columns, s.Rows)})
	}
	var gaps [][]string
	for _, g := range w.Gaps {
		gaps = append(gaps, []string{g.Missing, g.Why, g.Blocks})
	}
	v.Gaps = e.table([]string{"Missing", "Why", "What cannot be said"}, gaps)
	return v, e.err
}

// decode is the only place of a decode rate: without output lengths and E2E
// beside it the rate would mislead, so their absence is printed.
func (r *derivedRenderer) decode() string {
	d := r.b.result("decode")
	t := newTable("Profile", "Decode, tok/s>", "n>", "Output tokens>", "E2E>")
	for i := range d.rows {
		or := func(column string) string {
			if r.b.has("decode", i, column) {
				return r.b.claim("decode", i, column)
			}
			return notInSource
		}
		name := r.b.quote("decode", i, "name")
		if name == "" {
			name = given(code(d.text(i, "subject")))
		}
		t.add(name, r.b.claim("decode", i, "decode_tok_s"), or("n"), or("output_tokens"), or("e2e_ns"))
	}
	return t.String()
}

func (r *derivedRenderer) windows() string {
	w := r.b.result("windows")
	t := newTable("Profile", "Pool, tokens>", "Pool is", "Configured context, tokens>", "Pool / context>")
	for i := range w.rows {
		t.add(r.nameOf(w.text(i, "subject")), r.b.claim("windows", i, "pool_tokens"), literal(w.text(i, "pool_basis")),
			r.b.claim("windows", i, "context_tokens"), r.b.claim("windows", i, "full_windows"))
	}
	return t.String()
}

func (r *derivedRenderer) envelopes() string {
	n := r.b.result("envelopes")
	t := newTable("Candidate", "Concurrency>", "Prompt>", "Output>", "Combined>", "Pool>", "Pool − combined>", "Fits the pool by arithmetic")
	for i := range n.rows {
		fits := "yes"
		if left, _ := n.whole(i, "remaining_tokens"); left < 0 {
			fits = "**no**"
		}
		t.add(r.nameOf(n.text(i, "subject")), r.b.claim("envelopes", i, "concurrency"), r.b.claim("envelopes", i, "prompt_tokens"),
			r.b.or(t, "envelopes", i, "output_tokens", "no output allowance; prompts alone are counted"), r.b.claim("envelopes", i, "combined_tokens"),
			r.b.claim("envelopes", i, "pool_tokens"), r.b.claim("envelopes", i, "remaining_tokens"), fits)
	}
	return t.String()
}

// nameOf is the name fact of a subject, or its key where it has none.
func (r *derivedRenderer) nameOf(subject string) string {
	facts := r.b.result("facts")
	for _, i := range facts.find("fact", subject+".name") {
		return r.b.quote("facts", i, "words")
	}
	return given(code(subject))
}

// facts lists the recorded numbers by what they rest on, so that a configured
// one can never be read as a measured one.
func (r *derivedRenderer) facts() []named {
	var out []named
	facts := r.b.result("facts")
	for _, basis := range []string{"configured", "reported", "measured"} {
		head := []string{"Of", "Fact", "Value>", "Unit", "Source", "Place in it"}
		if basis == "measured" {
			head = append(head, "n>")
		}
		t := newTable(head...)
		for _, i := range facts.find("basis", basis) {
			column := "words"
			if r.b.has("facts", i, "whole") {
				column = "whole"
			}
			value := r.b.claim("facts", i, column)
			if facts.text(i, "attribute") == "decode_tok_s" {
				value = "see [Decode rates](#decode-rates)"
			}
			row := []string{
				given(code(facts.text(i, "subject"))), given(code(facts.text(i, "attribute"))), value,
				literal(facts.text(i, "unit")), given(code(facts.text(i, "source"))), given(literal(facts.text(i, "place"))),
			}
			if basis == "measured" {
				n := notInSource
				if r.b.has("facts", i, "n") {
					n = r.b.claim("facts", i, "n")
				}
				row = append(row, n)
			}
			t.add(row...)
		}
		text := t.String()
		if text == "" {
			text = "The sources have no such fact.\n"
		}
		out = append(out, named{heading(basis), text})
	}
	return out
}

// quoted says how many names and words of the sources are quoted.
func (r *derivedRenderer) quoted() string {
	counts := r.b.result("counts")
	for _, i := range counts.find("basis", "stated") {
		return r.b.claim("counts", i, "facts")
	}
	return "none"
}

func (r *derivedRenderer) sourceTable() string {
	s := r.b.result("sources")
	t := newTable("Source", "Kind", "What it is", "Retrieved", "SHA-256", "Bytes>", "Facts>")
	for i := range s.rows {
		retrieved := "yes"
		if !s.flag(i, "retrieved") {
			retrieved = "**no**: " + r.b.quote("sources", i, "reason")
		}
		digest := missing
		if d := s.text(i, "source_sha256"); d != "" {
			digest = given(code(d))
		}
		t.add(given(code(s.text(i, "source"))), given(literal(s.text(i, "kind"))), given(literal(s.text(i, "name"))), retrieved, digest,
			r.b.claim("sources", i, "bytes"), r.b.claim("sources", i, "facts"))
	}
	return t.String()
}

// post writes the short texts. The ledger lists every claim of the result card
// with its conditions: what it rests on and where it was taken from.
func (r *derivedRenderer) post(v derivedView) postView {
	link := "findings/" + bundle.NarrativeName(r.id)
	p := postView{
		Title: cut(v.Title, titleLimit),
		Short: cut(v.Card.Sentence, shortPost-len([]rune(link))-1) + " " + given(literal(link)),
		Long:  "What is not known comes first: " + v.Outcome[0] + " Beside it: " + v.Card.Caveat,
		Facts: v.Outcome,
	}
	t := newTable("Claim", "Value", "Conditions", "Evidence")
	for _, c := range r.b.printed() {
		for _, place := range c.Places {
			if !strings.HasSuffix(place, ": Result card") {
				continue
			}
			conditions := c.Basis + ", " + c.Label
			if c.N != "" {
				conditions += ", n = " + c.N
			}
			t.add(code(c.ID), literal(c.Text)+unitText(c.Unit), literal(conditions), "`queries/"+c.query()+".sql`, source "+shortDigests(c.Sources))
			break
		}
	}
	p.Ledger = t.String()
	return p
}

// shortDigests names sources by the start of their digests.
func shortDigests(sources []string) string {
	out := make([]string, len(sources))
	for i, s := range sources {
		out[i] = "`" + s[:min(12, len(s))] + "`"
	}
	return strings.Join(out, ", ")
}
