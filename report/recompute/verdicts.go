package recompute

import (
	"encoding/json"
	"maps"
	"slices"

	"assay/report/bundle"
)

const verdictsFile = "verdicts.json"

// verdictList is verdicts.json with its fields left open: those of an earlier
// format are compared as far as both have them.
type verdictList struct {
	Cells []map[string]any `json:"cells"`
	Pairs []map[string]any `json:"pairs"`
}

// checkVerdicts is V-17: every verdict of every cell and every pair is the one
// the rules give over the data again.
func (s *shared) checkVerdicts(l *bundle.Loaded) []bundle.Problem {
	p := &problems{code: "V-17", folder: l.Folder}
	e, err := s.evaluate(l)
	if err != nil {
		p.add("", "the evidence cannot be evaluated: %v", err)
		return p.all()
	}
	var published, want verdictList
	if err := readJSON(l, verdictsFile, &published); err != nil {
		p.add(verdictsFile, "%v", err)
		return p.all()
	}
	if err := json.Unmarshal(e.out.Draft.Files[verdictsFile], &want); err != nil {
		p.add(verdictsFile, "cannot be compared: %v", err)
		return p.all()
	}
	compareVerdicts(p, "cell", published.Cells, want.Cells)
	compareVerdicts(p, "pair", published.Pairs, want.Pairs)
	compareTables(p, l, e.out.Draft.Files, "verdicts", "cells", "pairs", "rules", "withheld")
	return p.all()
}

// compareVerdicts compares lists of verdicts in order, by the field that names
// them.
func compareVerdicts(p *problems, name string, published, want []map[string]any) {
	if len(published) != len(want) {
		p.add(verdictsFile, "has %d %ss, the evidence comes to %d", len(published), name, len(want))
		return
	}
	for i := range want {
		if published[i][name] != want[i][name] {
			p.add(verdictsFile, "%s %d is %v, the evidence comes to %v", name, i+1, published[i][name], want[i][name])
			continue
		}
		for _, field := range slices.Sorted(maps.Keys(want[i])) {
			got, ok := published[i][field]
			if ok && text(got) != text(want[i][field]) {
				p.add(verdictsFile, "%s %v: %s is %.200s, the evidence comes to %.200s", name, want[i][name], field, text(got), text(want[i][field]))
			}
		}
	}
}

// text is a decoded JSON value as JSON again: keys sorted, so that equal values
// have one text.
func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
