package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Claim is one number, or one text of the evidence, that the finding prints, with
// everything needed to check it: the named query is run over the bundle's data,
// the row with the key is found, and its column has the value. The query names a
// rows query, which returns the requests behind the row; claims.json lists both.
type Claim struct {
	// ID is QUERY:KEY:COLUMN. QUERY is a file of queries/ without its ending, KEY
	// the values of the query's key columns joined by slashes. Neither QUERY nor
	// COLUMN holds a colon.
	ID     string
	Value  string // exact: a decimal number, true or false, or a text
	Unit   string // of Value; empty for counts and texts
	N      string // how many values stand behind it; empty for what is no statistic
	Text   string // as printed, before Markdown's escapes
	Places []string
	// Basis, Label and Sources are those of a derived finding's claims: configured,
	// reported, measured, stated or arithmetic; the evidence label; and the SHA-256
	// of each source the value was taken or computed from.
	Basis, Label string
	Sources      []string
}

// claimRecord is a claim as claims.json holds it, one a line; places are
// positions in the file's list of places.
type claimRecord struct {
	ID     string `json:"id"`
	Value  string `json:"value"`
	Unit   string `json:"unit"`
	N      string `json:"n"`
	Text   string `json:"text"`
	Places []int  `json:"places"`

	Basis   string   `json:"basis,omitempty"`
	Label   string   `json:"label,omitempty"`
	Sources []string `json:"sources,omitempty"`
}

// encodeClaims writes claims.json. It is laid out by hand because a finding has
// thousands of claims, and a line for each keeps the file small and its diffs
// readable. rows has the rows line of each query by name.
func encodeClaims(claims []Claim, rows map[string]string) ([]byte, error) {
	var places, names []string
	for _, c := range claims {
		places, names = append(places, c.Places...), append(names, c.query())
	}
	slices.Sort(places)
	places = slices.Compact(places)
	slices.Sort(names)
	names = slices.Compact(names)
	var b strings.Builder
	lines := func(name string, n int, line func(int) (any, error)) error {
		fmt.Fprintf(&b, "  %q: [", name)
		for i := range n {
			v, err := line(i)
			if err != nil {
				return err
			}
			text, err := compactJSON(v)
			if err != nil {
				return err
			}
			b.WriteString(map[bool]string{true: ",\n    ", false: "\n    "}[i > 0] + text)
		}
		b.WriteString("\n  ]")
		return nil
	}
	b.WriteString("{\n")
	if err := lines("places", len(places), func(i int) (any, error) { return places[i], nil }); err != nil {
		return nil, err
	}
	b.WriteString(",\n")
	if err := lines("rows", len(names), func(i int) (any, error) { return [2]string{names[i], rows[names[i]]}, nil }); err != nil {
		return nil, err
	}
	b.WriteString(",\n")
	err := lines("claims", len(claims), func(i int) (any, error) {
		c := claims[i]
		r := claimRecord{ID: c.ID, Value: c.Value, Unit: c.Unit, N: c.N, Text: c.Text, Places: []int{}, Basis: c.Basis, Label: c.Label, Sources: c.Sources}
		for _, p := range c.Places {
			r.Places = append(r.Places, slices.Index(places, p))
		}
		return r, nil
	})
	b.WriteString("\n}\n")
	return []byte(b.String()), err
}

// compactJSON is one line of JSON without HTML escapes.
func compactJSON(v any) (string, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(buf.String(), "\n"), err
}

// Marks of the private area that stand in a text while it is being made: a claim
// is open number middle text end, a configured value given text end.
const (
	markOpen   = '\uE000'
	markMiddle = '\uE001'
	markEnd    = '\uE002'
	markGiven  = '\uE003'
)

var (
	claimMark = regexp.MustCompile("\uE000([0-9]+)\uE001([^\uE002]*)\uE002")
	givenMark = regexp.MustCompile("\uE003([^\uE002]*)\uE002")
)

// book holds the results of all queries and the claims made from them.
type book struct {
	results map[string]*result
	claims  []Claim
	byID    map[string]int
}

func newBook(results map[string]*result) *book {
	return &book{results: results, byID: map[string]int{}}
}

// result returns the result of a named query; a name that is not there is a
// mistake of ours.
func (b *book) result(name string) *result {
	r, ok := b.results[name]
	if !ok {
		panic("report: no query " + name)
	}
	return r
}

// claim prints the value of one column of one row and notes where it came from.
// A missing value is a dash and no claim.
func (b *book) claim(name string, row int, column string) string {
	r := b.result(name)
	v := r.value(row, column)
	if v == nil {
		return missing
	}
	id := name + ":" + r.key(row) + ":" + column
	at, ok := b.byID[id]
	if !ok {
		at = len(b.claims)
		b.byID[id] = at
		b.claims = append(b.claims, b.newClaim(r, row, column, id))
	}
	return fmt.Sprintf("%c%d%c%s%c", markOpen, at, markMiddle, literal(b.claims[at].Text), markEnd)
}

func (b *book) newClaim(r *result, row int, column, id string) Claim {
	v := r.value(row, column)
	c := Claim{ID: id, Unit: claimUnit(r, row, column), Value: rawText(v)}
	if r.query.count != "" {
		c.N = rawText(r.value(row, r.query.count))
	}
	c.Text = formatValue(v, c.Unit)
	return c
}

// quote prints a text of the evidence, which may hold numbers of its own, as a
// claim; nothing when there is none.
func (b *book) quote(name string, row int, column string) string {
	if strings.TrimSpace(b.result(name).text(row, column)) == "" {
		return ""
	}
	return b.claim(name, row, column)
}

// columnUnits are the units of columns whose name does not say it.
var columnUnits = map[string]string{
	"full_share": "share", "covered_share": "share", "cpu_share": "share", "same_read_share": "share", "full_windows": "contexts", "decode_tok_s": "tok/s", "mean_overlap": "requests", "ratio_min": "ratio", "ratio_p50": "ratio", "ratio_max": "ratio",
}

// rowUnits are the columns whose unit is in the row's own unit column.
var rowUnits = []string{
	"min", "p50", "p95", "max", "p50_low", "p50_high", "p95_low", "p95_high", "mean", "sum", "before", "after", "delta",
	"highest", "value", "client_mean", "whole", "words", "baseline_p50", "candidate_p50", "median_difference",
	"baseline_p50_min", "baseline_p50_max", "candidate_p50_min", "candidate_p50_max",
}

// unitNames are the units of the views as they are printed. The time of one
// token is printed as a time; a ratio of a gauge as a share.
var unitNames = map[string]string{"tokens/s": "tok/s", "ns/token": "ns", "bytes": "B", "ratio": "share"}

// claimUnit is the unit of a value: that of its column, else that of its row.
func claimUnit(r *result, row int, column string) string {
	if unit, ok := columnUnits[column]; ok {
		return unit
	}
	if slices.Contains(rowUnits, column) {
		unit := r.text(row, "unit")
		if name, ok := unitNames[unit]; ok {
			return name
		}
		return unit
	}
	if _, isText := r.value(row, column).(string); isText {
		return ""
	}
	return unitOf(column)
}

// has reports whether a value is there.
func (b *book) has(name string, row int, column string) bool {
	return b.result(name).value(row, column) != nil
}

// or prints a claim, or a dash with the reason below the table.
func (b *book) or(t *table, name string, row int, column, reason string) string {
	if b.has(name, row, column) {
		return b.claim(name, row, column)
	}
	return t.dash(reason)
}

// given marks a value that was configured, or an identity: no claim.
func given(text string) string {
	return string(markGiven) + text + string(markEnd)
}

// finish removes the marks and notes where each claim is printed. file names the
// text; a place is the file and the heading the claim stands under.
func (b *book) finish(file, marked string) string {
	heading := ""
	for line := range strings.Lines(marked) {
		if strings.HasPrefix(line, "#") {
			heading = strings.TrimSpace(strings.TrimLeft(unmark(line), "# "))
		}
		for _, m := range claimMark.FindAllStringSubmatch(line, -1) {
			at, err := strconv.Atoi(m[1])
			if err != nil || at >= len(b.claims) {
				continue
			}
			place := file + ": " + heading
			if c := &b.claims[at]; !slices.Contains(c.Places, place) {
				c.Places = append(c.Places, place)
			}
		}
	}
	return unmark(marked)
}

// unmark removes the marks and keeps the texts.
func unmark(marked string) string {
	return givenMark.ReplaceAllString(claimMark.ReplaceAllString(marked, "$2"), "$1")
}

// printed returns the claims that are printed somewhere, sorted by ID.
func (b *book) printed() []Claim {
	out := []Claim{}
	for _, c := range b.claims {
		if len(c.Places) > 0 {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, c Claim) int { return strings.Compare(a.ID, c.ID) })
	return out
}
