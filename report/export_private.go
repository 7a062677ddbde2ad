package report

import (
	"slices"
	"strings"

	"assay/collect/private"
	"assay/report/sanitize"
)

// cleanRows replaces what is private in the texts of a table. The same text under
// the same name is looked at once.
func (e *exporter) cleanRows(p published, rows *result) {
	type place struct{ key, text string }
	type outcome struct {
		text   string
		counts private.Counts
	}
	fact := slices.Index(rows.columns, "fact")
	for i, column := range rows.columns {
		where := "data/" + p.file + ".parquet:" + column
		known := map[place]outcome{}
		for _, row := range rows.rows {
			text, ok := row[i].(string)
			if !ok || text == "" {
				continue
			}
			if column == "settings" {
				var dropped int64
				if text, dropped = sanitize.Settings(text); dropped > 0 {
					e.record.Dropped[p.table+"."+column+" members"] += dropped
				}
				row[i] = text
			}
			at := place{column, text}
			if name, isFact := factOf(row, fact); isFact && column == "value" {
				at.key = name
			}
			done, seen := known[at]
			if !seen {
				before := e.redactor.Counts
				e.redactor.Counts = private.Counts{}
				done = outcome{e.cleanAt(where, at.key, text, e.opt.Allow), e.redactor.Counts}
				e.redactor.Counts = before
				known[at] = done
			}
			for class, n := range done.counts {
				e.record.Replaced[p.table+"."+column+":"+string(class)] += n
			}
			row[i] = done.text
		}
	}
}

// factOf is the name of the fact whose value a row holds.
func factOf(row []any, at int) (string, bool) {
	if at < 0 {
		return "", false
	}
	name, ok := row[at].(string)
	return name, ok
}

// clean replaces what is private in one text outside the tables.
func (e *exporter) clean(file, key, text string) string {
	e.redactor.Counts = private.Counts{}
	out := e.cleanAt(file, key, text, e.opt.Allow)
	for class, n := range e.redactor.Counts {
		e.record.Replaced[file+":"+string(class)] += n
	}
	return out
}

// cleanAt redacts a text, but for the values that an entry allows there.
func (e *exporter) cleanAt(where, key, text string, allow []sanitize.AllowEntry) string {
	for i, a := range allow {
		if !sanitize.Covers(a, where) || !strings.Contains(text, a.Value) {
			continue
		}
		parts := strings.Split(text, a.Value)
		for j := range parts {
			parts[j] = e.cleanAt(where, key, parts[j], allow[i+1:])
		}
		return strings.Join(parts, a.Value)
	}
	if strings.HasSuffix(where, ":labels") {
		return sanitize.Labels(e.redactor, text)
	}
	return e.redactor.Value(key, text)
}
