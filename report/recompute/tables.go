package recompute

import (
	"bytes"
	"encoding/csv"
	"slices"

	"assay/report/bundle"
)

// mostShown is how many differences of one file are listed; the last problem
// says how many more there are.
const mostShown = 5

// csvTable is a table of a bundle: a header and rows of texts.
type csvTable struct {
	columns []string
	rows    [][]string
}

func parseTable(data []byte) (csvTable, bool) {
	records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil || len(records) == 0 {
		return csvTable{}, false
	}
	return csvTable{records[0], records[1:]}, true
}

// value is a cell by the name of its column; empty where there is no such column.
func (t csvTable) value(row int, column string) string {
	if i := slices.Index(t.columns, column); i >= 0 {
		return t.rows[row][i]
	}
	return ""
}

// compareTables compares published tables with those the evidence comes to, in
// the columns both have: a table of an earlier format may have others.
func compareTables(p *problems, l *bundle.Loaded, recomputed map[string][]byte, names ...string) {
	for _, name := range names {
		file := "tables/" + name + ".csv"
		published, ok := parseTable(fileData(l, file))
		if !ok {
			p.add(file, "is no table")
			continue
		}
		want, ok := parseTable(recomputed[file])
		if !ok {
			continue // of an earlier format; nothing to compare it with
		}
		compareTable(p, file, published, want)
	}
}

func compareTable(p *problems, file string, published, want csvTable) {
	if len(published.rows) != len(want.rows) {
		p.add(file, "has %d rows, the evidence comes to %d", len(published.rows), len(want.rows))
		return
	}
	different := 0
	for i := range want.rows {
		for _, column := range want.columns {
			got := published.value(i, column)
			if !slices.Contains(published.columns, column) || got == want.value(i, column) {
				continue
			}
			if different++; different <= mostShown {
				p.add(file, "row %d, %s: %q, the evidence comes to %q", i+1, column, got, want.value(i, column))
			}
		}
	}
	if different > mostShown {
		p.add(file, "and %d more values", different-mostShown)
	}
}
