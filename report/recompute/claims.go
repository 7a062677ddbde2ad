package recompute

import (
	"strings"

	"assay/report"
	"assay/report/bundle"
)

const claimsFile = "claims.json"

// claimList is claims.json.
type claimList struct {
	Places []string `json:"places"`
	Claims []struct {
		ID     string `json:"id"`
		Value  string `json:"value"`
		Unit   string `json:"unit"`
		N      string `json:"n"`
		Text   string `json:"text"`
		Places []int  `json:"places"`
	} `json:"claims"`
}

// checkClaims is V-20: each claim's query, run as the bundle publishes it over
// the bundle's data, gives the claim's raw value, unit and n, and its text is that
// value as it is printed. Whether the text stands where the claim says is for
// V-21, which compares all bytes; where that is skipped, it is looked for here.
func (s *shared) checkClaims(l *bundle.Loaded) []bundle.Problem {
	p := &problems{code: "V-20", folder: l.Folder}
	e, err := s.evaluate(l)
	if err != nil {
		return nil // notEvaluated skips this
	}
	var list claimList
	if err := readJSON(l, claimsFile, &list); err != nil {
		p.add(claimsFile, "%v", err)
		return p.all()
	}
	if len(list.Claims) == 0 {
		p.add(claimsFile, "has no claim")
	}
	var printed *places
	if s.notRendered(l) != "" {
		printed = newPlaces(l, list.Places)
	}
	last := ""
	for _, c := range list.Claims {
		if c.ID <= last {
			p.add(claimsFile, "%s: twice, or out of order", c.ID)
		}
		last = c.ID
		want, err := e.claim(s.ctx, c.ID)
		if err != nil {
			p.add(claimsFile, "%s: %v", c.ID, err)
			continue
		}
		same := func(what, got, want string) {
			if got != want {
				p.add(claimsFile, "%s: %s is %.200q, its query gives %.200q", c.ID, what, got, want)
			}
		}
		same("value", c.Value, want.Value)
		same("unit", c.Unit, want.Unit)
		same("n", c.N, want.N)
		same("text", c.Text, want.Text)
		if len(c.Places) == 0 {
			p.add(claimsFile, "%s: is printed nowhere", c.ID)
		}
		for _, at := range c.Places {
			if why := printed.problem(at, report.Literal(c.Text)); why != "" {
				p.add(claimsFile, "%s: %s", c.ID, why)
			}
		}
	}
	return p.all()
}

// places finds the part of a text that a place names: "FILE: HEADING".
type places struct {
	names    []string
	sections map[string]string
}

func newPlaces(l *bundle.Loaded, names []string) *places {
	p := &places{names: names, sections: map[string]string{}}
	narrative := l.Files[bundle.NarrativeName(l.Manifest.Predicate.Finding.ID)]
	if narrative != nil && narrative.Data != nil {
		p.read("finding", narrative.Data[:narrative.Region])
	}
	for _, file := range []string{"friction.md", "publication-summary.md"} {
		p.read(file, fileData(l, file))
	}
	return p
}

// read splits a Markdown text at its headings; headings of one name are joined.
func (p *places) read(file string, data []byte) {
	at := file + ": "
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			at = file + ": " + strings.TrimSpace(strings.TrimLeft(line, "# "))
		}
		p.sections[at] += line
	}
}

// problem says why a text is not at a place, or "". A nil list of places is not
// asked for.
func (p *places) problem(at int, text string) string {
	if p == nil {
		return ""
	}
	if at < 0 || at >= len(p.names) {
		return "is printed at a place that is not listed"
	}
	section, ok := p.sections[p.names[at]]
	switch {
	case !ok:
		return "is printed under \"" + p.names[at] + "\", which is not there"
	case !strings.Contains(section, text):
		return "is not printed under \"" + p.names[at] + "\""
	}
	return ""
}
