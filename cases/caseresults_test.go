package cases

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/ingest/store"
)

// row is one row of a table as text; a null has no entry.
type row map[string]string

// tables holds what the case files compare, read once.
type tables struct {
	facts, metrics, passes          map[string]row // by cell|request
	cells, overlap                  map[string]row // by cell
	verdicts, problems              map[string]row // by cell|request|rule, cell|request|code
	cellVerdicts, cellDistributions map[string]row // by cell|rule, cell|metric
}

func readTables(t *testing.T, db *store.DB) *tables {
	t.Helper()
	return &tables{
		facts:             keyed(t, db, "request_facts", "cell", "request_index"),
		metrics:           keyed(t, db, "request_metrics", "cell", "request_index"),
		passes:            keyed(t, db, "request_passes", "cell", "request_index"),
		verdicts:          keyed(t, db, "request_verdicts", "cell", "request_index", "rule"),
		problems:          keyed(t, db, "(SELECT cell, replace(position, 'request ', '') AS request, code FROM problems)", "cell", "request", "code"),
		cells:             keyed(t, db, "cell_eligibility", "cell"),
		overlap:           keyed(t, db, "cell_overlap", "cell"),
		cellVerdicts:      keyed(t, db, "cell_verdicts", "cell", "rule"),
		cellDistributions: keyed(t, db, "cell_distributions", "cell", "metric"),
	}
}

// keyed reads a whole table, each row under the values of its key columns.
func keyed(t *testing.T, db *store.DB, table string, key ...string) map[string]row {
	t.Helper()
	result, err := db.SQL().Query("SELECT COLUMNS(*)::VARCHAR FROM " + table)
	if err != nil {
		t.Fatalf("%s: %v", table, err)
	}
	defer result.Close()
	columns, err := result.Columns()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]row{}
	for result.Next() {
		values, targets := make([]*string, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := result.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		r := row{}
		for i, v := range values {
			if v != nil {
				r[columns[i]] = *v
			}
			r[columns[i]+" exists"] = ""
		}
		parts := make([]string, len(key))
		for i, k := range key {
			parts[i] = r[k]
		}
		all[strings.Join(parts, "|")] = r
	}
	if err := result.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// same compares a value with the expected one: as text, as numbers, or as a
// duration in ns.
func same(want, got string) bool {
	if want == got {
		return true
	}
	if d, err := time.ParseDuration(want); err == nil && strings.ContainsAny(want, "smh") {
		want = strconv.FormatInt(int64(d), 10)
	}
	w, errW := strconv.ParseFloat(want, 64)
	g, errG := strconv.ParseFloat(got, 64)
	return errW == nil && errG == nil && w == g
}

func (r row) check(t *testing.T, column, want string) {
	t.Helper()
	got, ok := r[column]
	if !ok {
		got = "null"
	}
	if _, exists := r[column+" exists"]; !exists {
		got = "no such row or column"
	}
	if !same(want, got) {
		t.Errorf("%s = %s, want %s", column, got, want)
	}
}

// checkCell compares one line of a cell.
func (g *tables) checkCell(t *testing.T, cell string, e expectation) {
	t.Helper()
	words := strings.Fields(e.key)
	switch {
	case len(words) == 2 && words[0] == "verdict":
		g.cellVerdicts[cell+"|"+words[1]].check(t, "verdict", e.value)
	case len(words) == 3 && words[0] == "distribution":
		g.cellDistributions[cell+"|"+words[1]].check(t, words[2], e.value)
	case len(words) == 2 && words[0] == "overlap":
		g.overlap[cell].check(t, words[1], e.value)
	default:
		g.cells[cell].check(t, e.key, e.value)
	}
}

// checkStream compares all lines of a stream. Each stream must say what became
// of it and which rules it fails.
func (g *tables) checkStream(t *testing.T, p *played, all []*played) {
	t.Helper()
	for _, key := range []string{"outcome", "fails"} {
		if !slices.ContainsFunc(p.want, func(e expectation) bool { return e.key == key }) {
			t.Errorf("the case does not state %s", key)
		}
	}
	for _, e := range p.want {
		word, rest, _ := strings.Cut(e.key, " ")
		switch word {
		case "fails":
			list(t, e, g.failing(p.key()))
		case "problems":
			list(t, e, under(g.problems, p.key()))
		case "verdict":
			g.verdicts[p.key()+"|"+rest].check(t, "verdict", e.value)
		case "text":
			g.checkText(t, p, e.value)
		case "alike":
			g.checkAlike(t, p, all, e.value)
		default:
			g.checkColumn(t, p.key(), e)
		}
	}
}

// checkColumn compares a column in each of the tables that have it.
func (g *tables) checkColumn(t *testing.T, key string, e expectation) {
	t.Helper()
	found := false
	for _, r := range []row{g.facts[key], g.metrics[key], g.passes[key]} {
		if _, ok := r[e.key+" exists"]; ok {
			found = true
			r.check(t, e.key, e.value)
		}
	}
	if !found {
		t.Errorf("no table has a column %s", e.key)
	}
}

// list compares a sorted list of words; none is the empty one.
func list(t *testing.T, e expectation, got []string) {
	t.Helper()
	want := strings.Fields(e.value)
	if e.value == "none" {
		want = nil
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", e.key, diff)
	}
}

// failing lists the request rules with the verdict fail.
func (g *tables) failing(key string) []string {
	var rules []string
	for _, rule := range under(g.verdicts, key) {
		if g.verdicts[key+"|"+rule]["verdict"] == "fail" {
			rules = append(rules, rule)
		}
	}
	return rules
}

// under lists the last parts of the keys below a request, sorted.
func under(all map[string]row, key string) []string {
	var rest []string
	for k := range all {
		if last, ok := strings.CutPrefix(k, key+"|"); ok {
			rest = append(rest, last)
		}
	}
	slices.Sort(rest)
	return rest
}

// checkText compares the visible text, of which only the hash is stored.
func (g *tables) checkText(t *testing.T, p *played, quoted string) {
	t.Helper()
	text, err := strconv.Unquote(quoted)
	if err != nil {
		t.Fatalf("text: %v", err)
	}
	text = strings.ReplaceAll(text, "{{own}}", g.facts[p.key()]["marker"])
	g.facts[p.key()].check(t, "visible_sha256", fmt.Sprintf("%x", sha256.Sum256([]byte(text))))
}

// textColumns are the facts that depend on what a stream says and not on when
// or in which pieces it came.
var textColumns = strings.Fields(`outcome fault_class error_pattern events bad_events output_events reasoning_events content_events tool_events
	prompt_tokens completion_tokens reasoning_tokens cached_tokens usage_chunks usage_fault finish_reasons reasoning_field alias_conflicts
	visible_chars reasoning_chars visible_sha256 leading_white_chars trailing_bytes tail_bytes`)

// texts are the text columns of a request.
func (g *tables) texts(t *testing.T, key string) row {
	t.Helper()
	picked := row{}
	for _, c := range textColumns {
		if _, ok := g.facts[key][c+" exists"]; !ok {
			t.Fatalf("%s has no %s", key, c)
		}
		picked[c] = g.facts[key][c]
	}
	return picked
}

// checkAlike compares a stream with another one of the same events.
func (g *tables) checkAlike(t *testing.T, p *played, all []*played, name string) {
	t.Helper()
	i := slices.IndexFunc(all, func(o *played) bool { return o.cell == p.cell && o.name == name })
	if i < 0 {
		t.Fatalf("there is no stream %s", name)
	}
	if diff := cmp.Diff(payloadsOf(&all[i].result, g.facts[all[i].key()]["marker"]), payloadsOf(&p.result, g.facts[p.key()]["marker"])); diff != "" {
		t.Errorf("events (-%s +this):\n%s", name, diff)
	}
	want, got := g.texts(t, all[i].key()), g.texts(t, p.key())
	delete(want, "visible_sha256") // the marker differs; the events are compared
	delete(got, "visible_sha256")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-%s +this):\n%s", name, diff)
	}
}
