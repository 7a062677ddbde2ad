package recompute

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/report"
	"assay/report/bundle"
	"assay/report/sanitize"
)

const columnsFile = "data/columns.json"

// tableData is what is kept of a data file: its rows, and the columns that other
// checks read, by name.
type tableData struct {
	rows    int
	columns map[string]*column
}

// kept are the columns other checks read without the database.
var kept = map[string][]string{
	"request_facts":  {"arm", "cell", "attempt", "request_index", "dispatched", "end_kind"},
	"attempts":       {"arm", "cell", "attempt", "run_state", "counted"},
	"cells":          {"arm", "cell", "requests"},
	"engine_samples": {"cell", "attempt", "page_seq", "phase", "series", "labels", "value"},
	"pages":          {"cell", "attempt", "page_seq", "phase", "error", "series"},
	"gpu_samples":    {"cell"}, "cgroup_samples": {"cell"}, "host_samples": {"cell"}, "identities": {"cell"},
}

// described is data/columns.json.
type described struct {
	Schema string         `json:"schema"`
	Tables []tableRecords `json:"tables"`
}

type tableRecords struct {
	File    string `json:"file"`
	Table   string `json:"table"`
	Rows    int64  `json:"rows"`
	Thinned *struct {
		KeepEvery int64 `json:"keep_every"`
		RowsAll   int64 `json:"rows_all"`
	} `json:"thinned"`
	Columns []struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Unit string `json:"unit"`
	} `json:"columns"`
}

// dataFiles lists the Parquet files of a bundle, sorted.
func dataFiles(l *bundle.Loaded) []string {
	var out []string
	for name := range l.Files {
		if file, ok := strings.CutPrefix(name, l.Folder+"/"); ok && strings.HasSuffix(file, ".parquet") {
			out = append(out, file)
		}
	}
	slices.Sort(out)
	return out
}

// checkData is V-15: each data file is of the published form and decodes within
// its bounds, is what data/columns.json says of it, carries the plan's digest,
// and holds no value that cannot be: no NaN, no negative duration.
func (s *shared) checkData(l *bundle.Loaded) []bundle.Problem {
	if isDerived(l) {
		return s.checkFacts(l)
	}
	p := &problems{code: "V-15", folder: l.Folder}
	s.tables = map[string]*tableData{}
	var d described
	if err := readJSON(l, columnsFile, &d); err != nil {
		p.add(columnsFile, "%v", err)
		return p.all()
	}
	byFile := map[string]tableRecords{}
	for _, t := range d.Tables {
		byFile[t.File] = t
	}
	published := report.PublishedTables()
	for _, file := range dataFiles(l) {
		t, ok := byFile[file]
		switch {
		case !ok:
			p.add(file, "not described in %s", columnsFile)
		case published[file].Table != t.Table:
			p.add(file, "described as table %q, which this file does not hold", t.Table)
		default:
			s.checkTable(l, p, file, d.Schema, t)
		}
		delete(byFile, file)
	}
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		p.add(file, "described, but not in the bundle")
	}
	for _, file := range slices.Sorted(maps.Keys(published)) {
		if fileData(l, file) == nil && !published[file].Optional {
			p.add(file, "not in the bundle")
		}
	}
	return p.all()
}

func (s *shared) checkTable(l *bundle.Loaded, p *problems, file, schema string, t tableRecords) {
	data := fileData(l, file)
	if data == nil { // larger than is read, by an exception
		p.add(file, "was not read, so nothing is known of it")
		return
	}
	r, err := newTableReader(data)
	if err != nil {
		p.add(file, "%v", err)
		return
	}
	defer r.close()
	for _, why := range formProblems(r.t, schema, t, planDigest(l)) {
		p.add(file, "%s", why)
	}
	out := s.tables[t.Table]
	if out == nil {
		out = &tableData{columns: map[string]*column{}}
		s.tables[t.Table] = out
	}
	for i, c := range r.t.columns {
		decoded, err := r.column(i)
		if err != nil {
			p.add(file, "%v", err)
			return
		}
		if why := decoded.valueProblem(t.Table); why != "" {
			p.add(file, "column %s: %s", c.name, why)
		}
		if slices.Contains(kept[t.Table], c.name) {
			out.append(decoded)
		}
	}
	out.rows += int(r.t.rows)
}

// append adds the rows of a column to those of another file of its table.
func (t *tableData) append(c *column) {
	known := t.columns[c.name]
	if known == nil {
		t.columns[c.name] = c
		return
	}
	known.null, known.flags, known.wholes = append(known.null, c.null...), append(known.flags, c.flags...), append(known.wholes, c.wholes...)
	known.nums, known.texts = append(known.nums, c.nums...), append(known.texts, c.texts...)
}

func planDigest(l *bundle.Loaded) string {
	if lock := l.Manifest.Predicate.PlanLock; lock != nil {
		return lock.CanonicalSHA256
	}
	return ""
}

// formProblems compares a file's own description with columns.json.
func formProblems(t table, schema string, want tableRecords, digest string) []string {
	var out []string
	bad := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	expected := map[string]string{
		"assay.schema": schema, "assay.table": want.Table, "assay.rows": strconv.FormatInt(want.Rows, 10), "assay.plan_sha256": digest,
	}
	if want.Thinned != nil {
		expected["assay.keep_every"] = strconv.FormatInt(want.Thinned.KeepEvery, 10)
	}
	if t.rows != want.Rows {
		bad("has %d rows, %s says %d", t.rows, columnsFile, want.Rows)
	}
	if len(t.columns) != len(want.Columns) {
		bad("has %d columns, %s says %d", len(t.columns), columnsFile, len(want.Columns))
		return out
	}
	for i, c := range want.Columns {
		if got := t.columns[i]; got.name != c.Name || string(got.kind) != c.Type {
			bad("column %d is %s %s, %s says %s %s", i+1, got.name, got.kind, columnsFile, c.Name, c.Type)
		}
		if c.Unit != "" {
			expected["unit."+c.Name] = c.Unit
		}
	}
	for _, key := range slices.Sorted(maps.Keys(expected)) {
		if t.meta[key] != expected[key] {
			bad("metadata %s is %q, expected %q", key, t.meta[key], expected[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.meta)) {
		if _, ok := expected[key]; !ok && (strings.HasPrefix(key, "unit.") || strings.HasPrefix(key, "assay.")) {
			bad("metadata %s stands for nothing", key)
		}
	}
	return out
}

// signed are the whole-number columns that may be negative: positions on a clock
// whose zero is the run's anchor, differences of clocks, and what has no unit.
var signed = []string{"at_ns", "start_ns", "t0_ns", "attempts.end_ns", "pages.end_ns", "clock_drift_ns", "lag_p99_ns", "idle_gap_ns", "temperature_c"}

// valueProblem says what is wrong with the values of a column, or "".
func (c *column) valueProblem(table string) string {
	for i, v := range c.nums {
		switch {
		case math.IsNaN(v) && (table != "engine_samples" || c.name != "value"): // an engine may print one
			return fmt.Sprintf("row %d is not a number", i+1)
		case math.IsInf(v, -1) || math.IsInf(v, 1) && c.name != "le" && c.name != "value":
			return fmt.Sprintf("row %d is not finite", i+1)
		}
	}
	unit := report.UnitOf(c.name)
	if unit == "" || slices.Contains(signed, c.name) || slices.Contains(signed, table+"."+c.name) {
		return ""
	}
	for i, v := range c.wholes {
		if v < 0 {
			return fmt.Sprintf("row %d is negative", i+1)
		}
	}
	return ""
}

// readTexts gives V-13 the texts of a data file. One that V-15 will refuse is
// decoded by nobody else.
func readTexts(file []byte) (sanitize.Table, error) {
	r, err := newTableReader(file)
	if err != nil {
		return sanitize.Table{}, err
	}
	defer r.close()
	for i := range r.t.columns {
		if _, err := r.column(i); err != nil {
			return sanitize.Table{}, err
		}
	}
	return sanitize.ReadTable(file)
}
