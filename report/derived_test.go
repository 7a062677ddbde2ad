package report

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/ingest/store"
	"assay/report/bundle"
)

const (
	derivedSpecFile = "../examples/2026-09-03-glm53-concurrency-and-kv-capacity.yaml"
	derivedSeedFile = "../../shared/seeds/004_c2790c04b82a2bc3.txt"
	derivedSeedSHA  = "4cf1429666250d779e61285f7f8bc007a449b469f7dd87b8967f99e220783b7a"
	derivedID       = "2026-09-03-glm53-concurrency-and-kv-capacity"
)

func derivedExample(t *testing.T, files map[string]string) Data {
	t.Helper()
	spec, err := os.ReadFile(derivedSpecFile)
	if err != nil {
		t.Fatal(err)
	}
	data, problems, err := DeriveData(spec, filepath.Dir(derivedSpecFile), files)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	return data
}

// TestDerivedFindingIsWhatItsSpecMakes compares the published finding with what
// the committed spec renders to, byte by byte.
func TestDerivedFindingIsWhatItsSpecMakes(t *testing.T) {
	l, err := bundle.Load(filepath.Join("../findings", bundle.FolderName(derivedID)))
	if err != nil || l.ManifestErr != nil {
		t.Fatal(err, l.ManifestErr)
	}
	out, err := Render(context.Background(), Input{Data: derivedExample(t, nil), Builder: l.Manifest.Predicate.Builder})
	if err != nil {
		t.Fatal(err)
	}
	a, err := bundle.Assemble(out.Draft)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.ManifestBytes, l.ManifestBytes) {
		t.Error("the manifest differs; run assay report")
	}
	for name, data := range out.Draft.Files {
		if e := l.Files[bundle.SubjectName(l.Folder, name)]; e == nil || !bytes.Equal(e.Data, data) {
			t.Errorf("%s differs; run assay report, or derive again where the spec changed", name)
		}
	}
}

// seedTables cuts the tables out of the source: each is a line of column names and
// the rows below it, up to an empty line or the next table's names.
func seedTables(t *testing.T) (heads []string, rows map[string][]string) {
	t.Helper()
	seed, err := os.ReadFile(derivedSeedFile)
	if err != nil {
		t.Skip("the seed finding (../shared/seeds) is not beside this checkout; its tables are not compared")
	}
	heads = []string{
		"Field Value", "Headline measurement Local result Conditions",
		"Profile Scheduler ceiling Shared/reported token capacity Full configured windows Deepest measured concurrent request Short concurrency evidence",
		"Candidate Prompt + output allowance Combined request tokens Pool remaining Status",
	}
	rows = map[string][]string{}
	table := ""
	for line := range strings.Lines(string(seed)) {
		line = strings.TrimSpace(line)
		switch {
		case slices.Contains(heads, line):
			table = line
		case line == "":
			table = ""
		case table != "":
			rows[table] = append(rows[table], line)
		}
	}
	return heads, rows
}

// markedTables are the tables of a marked narrative as rows of marked cells,
// by their joined heads.
func markedTables(marked string) map[string][][]string {
	out := map[string][][]string{}
	head := ""
	for line := range strings.Lines(marked) {
		inner, ok := strings.CutPrefix(strings.TrimSpace(line), "| ")
		if !ok {
			head = ""
			continue
		}
		cells := strings.Split(strings.TrimSuffix(inner, " |"), " | ")
		switch {
		case head == "":
			head = strings.Join(cells, " ")
		case !strings.HasPrefix(cells[0], "---"):
			out[head] = append(out[head], cells)
		}
	}
	return out
}

// TestEveryTableCellOfTheSourceIsPublished compares the source's four tables with
// the published ones, cell texts joined as the source's plain text has them, and
// holds that each cell of a value is a claim with the source's digest.
func TestEveryTableCellOfTheSourceIsPublished(t *testing.T) {
	heads, rows := seedTables(t)
	out := render(t, derivedExample(t, map[string]string{"interpretation": derivedSeedFile}), 0)
	published, err := os.ReadFile(filepath.Join("../findings", bundle.NarrativeName(derivedID)))
	if err != nil {
		t.Fatal(err)
	}
	plain, marked := markedTables(string(published)), markedTables(out.marked)
	for i, want := range []int{8, 3, 5, 3} {
		head := heads[i]
		if len(rows[head]) != want || len(plain[head]) < want || len(plain[head]) != len(marked[head]) {
			t.Fatalf("table %q: %d rows in the source, %d published; want %d", head, len(rows[head]), len(plain[head]), want)
		}
		for k, row := range rows[head] {
			if got := unescape(strings.Join(plain[head][k], " ")); got != row {
				t.Errorf("published %q\nsource    %q", got, row)
			}
			for c, cell := range marked[head][k] {
				if c > 0 || i > 0 { // the first column of the card is the name of a field
					checkCellClaims(t, cell, out)
				}
			}
		}
	}
}

func checkCellClaims(t *testing.T, cell string, out Output) {
	t.Helper()
	found := claimMark.FindAllStringSubmatch(cell, -1)
	if len(found) == 0 {
		t.Errorf("no claim in cell %q", unmark(cell))
	}
	for _, m := range found {
		at := slices.IndexFunc(out.Claims, func(c Claim) bool {
			return literal(c.Text) == m[2] && slices.Equal(c.Sources, []string{derivedSeedSHA})
		})
		if at < 0 || out.Claims[at].Label != "external-prior" || out.Claims[at].Basis == "" {
			t.Errorf("cell %q: the claim %q does not name its source, label and basis", unmark(cell), m[2])
		}
	}
}

// TestRecordedNumbersStandInTheSource looks each recorded number up in the text it
// is said to come from.
func TestRecordedNumbersStandInTheSource(t *testing.T) {
	seed, err := os.ReadFile(derivedSeedFile)
	if err != nil {
		t.Skip("the seed finding (../shared/seeds) is not beside this checkout; its tables are not compared")
	}
	var facts factsRecord
	if err := json.Unmarshal(derivedExample(t, nil).Files[factsFile], &facts); err != nil {
		t.Fatal(err)
	}
	for _, f := range facts.Facts {
		text := ""
		switch {
		case f.Fact == "vision-fixed.context_tokens": // written as 262K; the windows 2.14 hold it
			text = "262K"
		case f.Whole != nil:
			text = formatValue(*f.Whole, "")
		case f.Attribute != "planned_pool_of" && !strings.HasSuffix(f.Subject, "-short") && !strings.HasSuffix(f.Subject, "-deep"):
			text = *f.Words
		case f.Attribute == "decode_tok_s":
			text = *f.Words
		}
		if !strings.Contains(string(seed), text) {
			t.Errorf("%s: the source does not hold %q", f.Fact, text)
		}
	}
	if len(facts.Facts) < 80 {
		t.Errorf("only %d facts", len(facts.Facts))
	}
}

// TestDerivedFiguresAreThoseOfTheMethod holds the arithmetic of measurement rules.
func TestDerivedFiguresAreThoseOfTheMethod(t *testing.T) {
	out := render(t, derivedExample(t, nil), 0)
	got := map[string]string{}
	for _, c := range out.Claims {
		if c.Basis == "arithmetic" {
			got[c.ID] = c.Text
		}
	}
	for id, want := range map[string]string{
		"windows:current:full_windows": "1.00", "windows:rollback:full_windows": "4.76", "windows:vision-fixed:full_windows": "2.14",
		"windows:text-fixed:full_windows": "1.08", "windows:text-plain:full_windows": "3.06",
		"envelopes:c2-gate:combined_tokens": "368,192", "envelopes:c2-gate:remaining_tokens": "25,024",
		"envelopes:c4-follow-up:combined_tokens": "336,384", "envelopes:c4-follow-up:remaining_tokens": "56,832",
		"envelopes:two-windows:combined_tokens": "786,432", "envelopes:two-windows:remaining_tokens": "-393,216",
	} {
		if got[id] != want {
			t.Errorf("%s is %q, want %s", id, got[id], want)
		}
	}
}

func TestDerivedFindingIsWholeAndWellFormed(t *testing.T) {
	out := render(t, derivedExample(t, nil), 0)
	checkMarkdown(t, "derived narrative", out.Draft.Narrative, out)
	for _, file := range []string{"README.md", "friction.md", "publication-summary.md"} {
		checkMarkdown(t, file, out.Draft.Files[file], out)
	}
	rest := givenMark.ReplaceAllString(claimMark.ReplaceAllString(out.marked, ""), "")
	rest = htmlMark.ReplaceAllString(linkTarget.ReplaceAllString(rest, "]"), "")
	for _, word := range digitWord.FindAllString(rest, -1) {
		if w := strings.Trim(word, ":./_-"); !slices.Contains(proseDigits, w) {
			t.Errorf("%q is no claim", w)
		}
	}
	p := out.Draft.Predicate
	if p.Finding.Kind != bundle.KindDerived || p.PlanLock != nil || p.Tally != (bundle.Tally{}) || len(p.Inputs) != 1 || p.Inputs[0].SHA256 != derivedSeedSHA {
		t.Errorf("finding %+v, lock %v, inputs %+v", p.Finding, p.PlanLock, p.Inputs)
	}
	for _, role := range p.Roles {
		want := bundle.RoleRetained
		if slices.Contains([]bundle.RoleName{bundle.RoleRunPlan, bundle.RoleRawRunEvidence, bundle.RoleRestoration, bundle.RoleWorkloadManifest}, role.Role) {
			want = bundle.RoleNotApplicable
		}
		if role.State != want || want == bundle.RoleNotApplicable && role.Reason != noRequest {
			t.Errorf("role %s is %s (%s)", role.Role, role.State, role.Reason)
		}
	}
	decode := section(t, out, "Decode rates")
	if n := strings.Count(decode, notInSource); n != 4*3 {
		t.Errorf("%d missing lengths, times and counts beside four decode rates", n)
	}
	if n := strings.Count(string(out.Draft.Narrative), "112.07"); n != 1 {
		t.Errorf("a decode rate stands %d times; it stands only in its own table", n)
	}
	_, post, _ := strings.Cut(string(out.Draft.Files["publication-summary.md"]), "## Short post\n\n")
	post, _, _ = strings.Cut(post, "\n\n")
	if n := len([]rune(post)); n < 40 || n > shortPost || !strings.HasSuffix(post, derivedID+".md") {
		t.Errorf("the short post has %d characters: %q", n, post)
	}
	sources := section(t, out, "Sources")
	if n := strings.Count(sources, "**no**: "); n != 3 {
		t.Errorf("%d sources are listed as not retrieved, want 3", n)
	}
	one, eight := render(t, derivedExample(t, nil), 1), render(t, derivedExample(t, nil), 8)
	if !maps.Equal(files(one), files(eight)) {
		t.Error("other bytes with other threads")
	}
}

func newDerivedWalk(t *testing.T, out Output) *walk {
	t.Helper()
	db, err := store.Open("", store.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	t.Chdir(t.TempDir())
	for name, data := range out.Draft.Files {
		if strings.HasSuffix(name, ".json") {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := db.SQL().ExecContext(context.Background(), string(out.Draft.Files["load.sql"])); err != nil {
		t.Fatal(err)
	}
	return &walk{t: t, db: db, files: out.Draft.Files, results: map[string]*result{}, behind: map[string]map[string][]int{}}
}

var numberInText = regexp.MustCompile(`\d`)

// TestEveryDerivedClaimIsRecomputed runs the queries of the bundle again, over the
// tables that its load.sql makes, and finds each claim's row and value.
func TestEveryDerivedClaimIsRecomputed(t *testing.T) {
	out := render(t, derivedExample(t, nil), 0)
	w := newDerivedWalk(t, out)
	for _, c := range out.Claims {
		parts := strings.Split(c.ID, ":")
		r := w.result(parts[0])
		at := -1
		for i := range r.rows {
			if r.key(i) == parts[1] {
				at = i
			}
		}
		if at < 0 || r.key(at) != parts[1] || rawText(r.value(at, parts[2])) != c.Value || formatValue(r.value(at, parts[2]), c.Unit) != c.Text {
			t.Errorf("%s is %q, printed %q; not what its query gives", c.ID, c.Value, c.Text)
		}
		if parts[0] != "sources" && numberInText.MatchString(c.Text) && len(c.Sources) == 0 {
			t.Errorf("%s has no source", c.ID)
		}
	}
}
