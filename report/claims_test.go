package report

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/analyze"
	"assay/ingest/store"
)

// rowsOf splits the rows line of a query into a file of queries/rows and the
// condition on its rows; without rows the file is empty and the rest the reason.
func (q query) rowsOf() (file, condition string) {
	if reason, ok := strings.CutPrefix(q.rows, "none: "); ok {
		return "", reason
	}
	file, condition, _ = strings.Cut(q.rows, " where ")
	return file, condition
}

// walk follows claims from their ids, with nothing but the files of a bundle.
type walk struct {
	t       *testing.T
	db      *store.DB
	files   map[string][]byte
	results map[string]*result
	behind  map[string]map[string][]int // rows query of a query: positions by key
}

func newWalk(t *testing.T, data Data, out Output) *walk {
	t.Helper()
	db, err := load(context.Background(), data.Files, 0, analyze.CreateViews)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &walk{t: t, db: db, files: out.Draft.Files, results: map[string]*result{}, behind: map[string]map[string][]int{}}
}

// result runs a published query file once.
func (w *walk) result(file string) *result {
	w.t.Helper()
	if w.results[file] == nil {
		text, ok := w.files["queries/"+file+".sql"]
		if !ok {
			w.t.Fatalf("the bundle has no queries/%s.sql", file)
		}
		r, err := run(context.Background(), w.db.SQL(), parseQuery(file, string(text)))
		if err != nil {
			w.t.Fatal(err)
		}
		w.results[file] = r
	}
	return w.results[file]
}

// rows returns what stands behind a row of a query: the result of its rows query,
// with its condition, and the rows of the same key.
func (w *walk) rows(name string, row int) (*result, []int) {
	w.t.Helper()
	q := w.result(name)
	file, condition := q.query.rowsOf()
	if file == "" {
		return nil, nil
	}
	at := name + ", rows"
	if w.results[at] == nil {
		parsed := parseQuery(at, string(w.files["queries/rows/"+file+".sql"]))
		w.result("rows/" + file) // its own key is unique
		if condition != "" {
			parsed.text = "SELECT * FROM (" + strings.TrimSuffix(strings.TrimSpace(parsed.text), ";") + ") WHERE " + condition
		}
		r, err := run(context.Background(), w.db.SQL(), parsed)
		if err != nil {
			w.t.Fatal(err)
		}
		w.results[at] = r
		byKey := map[string][]int{}
		for i := range r.rows {
			key := sharedKey(q, r, r, i)
			byKey[key] = append(byKey[key], i)
		}
		w.behind[at] = byKey
	}
	r := w.results[at]
	return r, w.behind[at][sharedKey(q, r, q, row)]
}

// sharedKey is the key of a row in the key columns of q that behind has too.
func sharedKey(q, behind, of *result, row int) string {
	var parts []string
	for _, k := range q.query.key {
		if behind.column(k) >= 0 {
			parts = append(parts, rawText(of.value(row, k)))
		}
	}
	return strings.Join(parts, "/")
}

// claimFile is claims.json.
type claimFile struct {
	Places []string      `json:"places"`
	Rows   [][2]string   `json:"rows"`
	Claims []claimRecord `json:"claims"`
}

func readClaims(t *testing.T, out Output) claimFile {
	t.Helper()
	var file claimFile
	if err := json.Unmarshal(out.Draft.Files["claims.json"], &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Claims) != len(out.Claims) || len(file.Claims) == 0 {
		t.Fatalf("%d claims in the file, %d returned", len(file.Claims), len(out.Claims))
	}
	return file
}

// repeated is a campaign with a repeat.
var repeated = campaign{kind: "measured", repeat: 7_000_000}

// TestEveryClaimLeadsToItsQueryAndItsRequests walks every claim of three findings
// by its id alone: the query, the row with its key, the value; then the rows query
// and the requests behind the row, which are as many as the claim says, and give
// its number again.
func TestEveryClaimLeadsToItsQueryAndItsRequests(t *testing.T) {
	for name, c := range map[string]campaign{"passing": passing, "failing": failing, "repeated": repeated} {
		t.Run(name, func(t *testing.T) {
			out := finding(t, name, c)
			w := newWalk(t, export(t, name, c), out)
			file := readClaims(t, out)
			behind := map[string]string{}
			for _, r := range file.Rows {
				behind[r[0]] = r[1]
			}
			for _, claim := range file.Claims {
				w.follow(claim, behind)
			}
			t.Logf("%d claims, each followed", len(file.Claims))
		})
	}
}

func (w *walk) follow(c claimRecord, behind map[string]string) {
	w.t.Helper()
	first, last := strings.IndexByte(c.ID, ':'), strings.LastIndexByte(c.ID, ':')
	name, key, column := c.ID[:first], c.ID[first+1:last], c.ID[last+1:]
	r := w.result(name)
	row := -1
	for i := range r.rows {
		if r.key(i) == key {
			row = i
		}
	}
	if row < 0 {
		w.t.Errorf("%s: no such row", c.ID)
		return
	}
	if got := rawText(r.value(row, column)); got != c.Value || c.Value == "" {
		w.t.Errorf("%s is %q, recomputed %q", c.ID, c.Value, got)
	}
	if got := formatValue(r.value(row, column), c.Unit); got != c.Text {
		w.t.Errorf("%s prints %q, recomputed %q", c.ID, c.Text, got)
	}
	if len(c.Places) == 0 {
		w.t.Errorf("%s is printed nowhere", c.ID)
	}
	if strings.Contains(c.ID, "distributions:") && c.N == "" {
		w.t.Errorf("%s has no n", c.ID)
	}
	if behind[name] == "" || behind[name] != r.query.rows {
		w.t.Errorf("%s: claims.json names the rows %q, its query %q", c.ID, behind[name], r.query.rows)
	}
	rows, found := w.rows(name, row)
	if rows == nil {
		return
	}
	if len(found) == 0 {
		w.t.Errorf("%s: no row stands behind it in %s", c.ID, r.query.rows)
	}
	w.recount(c, r, row, column, rowsBehind{rows, found})
}

// rowsBehind is what stands behind a claim.
type rowsBehind struct {
	r    *result
	rows []int
}

// count counts the rows that hold a condition.
func (b rowsBehind) count(holds func(row int) bool) string {
	n := 0
	for _, i := range b.rows {
		if holds(i) {
			n++
		}
	}
	return strconv.Itoa(n)
}

// numbers are the values of one side that are not null, ascending.
func (b rowsBehind) numbers(side string) []float64 {
	var out []float64
	for _, i := range b.rows {
		if v, ok := b.r.number(i, "value"); ok && (side == "" || b.r.text(i, "side") == side) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// ratios are candidate / baseline of the requests with one index, ascending.
func (b rowsBehind) ratios() []float64 {
	base := map[int64]float64{}
	for _, i := range b.rows {
		if v, ok := b.r.number(i, "value"); ok && b.r.text(i, "side") == "baseline" {
			index, _ := b.r.whole(i, "request_index")
			base[index] = v
		}
	}
	var out []float64
	for _, i := range b.rows {
		index, _ := b.r.whole(i, "request_index")
		v, ok := b.r.number(i, "value")
		if low, has := base[index]; ok && has && low != 0 && b.r.text(i, "side") == "candidate" {
			out = append(out, v/low)
		}
	}
	slices.Sort(out)
	return out
}

// recount computes the number of a claim from the rows behind it, for the queries
// that count or summarise requests.
func (w *walk) recount(c claimRecord, r *result, row int, column string, b rowsBehind) {
	w.t.Helper()
	want := ""
	switch r.query.name {
	case "cells", "groups", "tally":
		want = recountRequests(b, strings.TrimPrefix(column, "requests_"))
	case "distributions", "sensitivity":
		want = order(b.numbers(""), column)
	case "comparisons":
		side, what, _ := strings.Cut(column, "_")
		switch side {
		case "baseline", "candidate":
			want = order(b.numbers(side), what)
		case "pairs":
			want = order(b.ratios(), "n")
		case "ratio":
			want = order(b.ratios(), what)
		}
	case "rules", "verdicts":
		verdict, ok := map[string]string{"passing": "pass", "failing": "fail", "not_applicable": "not_applicable", "not_evaluable": "not_evaluable"}[column]
		if ok && r.text(row, "scope") != "cell" {
			want = b.count(func(i int) bool { return b.r.text(i, "verdict") == verdict })
		}
	case "outcomes":
		if column == "requests" {
			want = fmt.Sprint(len(b.rows))
		}
	}
	if want != "" && want != c.Value {
		w.t.Errorf("%s is %s, its %d rows give %s", c.ID, c.Value, len(b.rows), want)
	}
}

func recountRequests(b rowsBehind, what string) string {
	switch what {
	case "planned":
		return fmt.Sprint(len(b.rows))
	case "dispatched":
		return b.count(func(i int) bool { return b.r.flag(i, "dispatched") })
	case "terminal":
		return b.count(func(i int) bool { return b.r.flag(i, "terminal") })
	case "passing":
		return b.count(func(i int) bool { return b.r.flag(i, "passes") })
	case "eligible":
		return b.count(func(i int) bool { return b.r.flag(i, "passes") && b.r.text(i, "eligibility") == "eligible" })
	}
	return ""
}

// order is n, an extreme or a nearest rank of sorted numbers.
func order(sorted []float64, what string) string {
	n := len(sorted)
	if what == "n" {
		return strconv.Itoa(n)
	}
	rank, ok := map[string]int{"min": 1, "p50": (n + 1) / 2, "p95": (95*n + 99) / 100, "max": n}[what]
	if !ok || n == 0 {
		return ""
	}
	return rawText(sorted[rank-1])
}

func TestEveryQueryNamesItsRows(t *testing.T) {
	queries, err := loadQueries()
	if err != nil {
		t.Fatal(err)
	}
	all, err := loadRowsQueries()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, q := range queries {
		file, condition := q.rowsOf()
		if file == "" && (!slices.Contains([]string{"capacity", "restoration", "smoke"}, q.name) || condition == "") {
			t.Errorf("query %s names no rows: %q", q.name, q.rows)
		}
		if file != "" && !slices.ContainsFunc(all, func(r query) bool { return r.name == file }) {
			t.Errorf("query %s names rows %s, which is no file", q.name, file)
		}
		used[file] = true
	}
	for _, r := range all {
		if !used[r.name] || r.title == "" || len(r.key) == 0 {
			t.Errorf("rows query %s is used by none, or has no title or no key", r.name)
		}
	}
}
