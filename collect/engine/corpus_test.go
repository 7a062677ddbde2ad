package engine

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// corpus is testdata/resolved.csv: for each page of the corpus the canonical names
// it has, and the source of each. A canonical name that a page does not list there
// is not available on it.
func corpus(t *testing.T) map[string]map[string]string {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "resolved.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]map[string]string{}
	for _, r := range rows[1:] {
		if pages[r[0]] == nil {
			pages[r[0]] = map[string]string{}
		}
		pages[r[0]][r[1]] = r[2]
	}
	return pages
}

// sourceOn is the name under which a page has a canonical metric; of a histogram
// the family. Empty where it does not have it.
func sourceOn(page Page, canonical string) string {
	for _, m := range Canonical() {
		if m.Canonical != canonical {
			continue
		}
		for _, s := range page.Series {
			if m.Kind == TypeHistogram && s.Name == m.Source+"_count" {
				return m.Source
			}
			if m.Kind != TypeHistogram && m.matches(s) {
				return s.Name
			}
		}
	}
	return ""
}

// Every canonical metric resolves to the right source where an engine has it, and
// is not available where it does not: for eight engines, old and new.
func TestCorpusResolvesWholly(t *testing.T) {
	pages := corpus(t)
	for name, want := range pages {
		page := readPage(t, name+".prom")
		got := map[string]string{}
		for _, m := range names() {
			if source := sourceOn(page, m.Canonical); source != "" {
				got[m.Canonical] = source
			}
			if m.Kind == TypeHistogram {
				continue
			}
			if _, source, _ := Resolve(page, m.Canonical); source != want[m.Canonical] {
				t.Errorf("%s: Resolve takes %s from %q, want %q", name, m.Canonical, source, want[m.Canonical])
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// No newest spelling goes untested.
	for _, m := range Canonical() {
		if m.Engine == "any" || m.Rank > 0 {
			continue
		}
		tested := false
		for _, want := range pages {
			for _, part := range Canonical() {
				source := want[m.Canonical]
				tested = tested || sameStep(part, m) && (source == part.Source || strings.TrimSuffix(source, "_total") == part.Source)
			}
		}
		if !tested {
			t.Errorf("no page of the corpus has %s, the newest source of %s", m.Source, m.Canonical)
		}
	}
}

// On every page of the corpus, a line that cannot be read costs itself and no
// other: expfmt would give up all families after it.
func TestOneBadLineOfAnEnginesPageCostsItsOwnSeriesOnly(t *testing.T) {
	for name := range corpus(t) {
		body, err := os.ReadFile(filepath.Join("testdata", "pages", name+".prom"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(body), "\n")
		whole := readPage(t, name+".prom")
		at := 0 // series of the line
		for i, line := range lines {
			if line == "" || line[0] == '#' {
				continue
			}
			damaged := slices.Clone(lines)
			damaged[i] = []string{"broken{ 1\n", "\xff\xfe\n", strings.TrimSuffix(line, "\n") + " oops\n", strings.Replace(line, " ", " x", 1)}[i%4]
			page, problems := ParsePage([]byte(strings.Join(damaged, "")))
			want := slices.Delete(slices.Clone(whole.Series), at, at+1)
			if at++; len(problems) != 1 || problems[0].Line != int64(i+1) || !slices.EqualFunc(want, page.Series, sameSeries) {
				t.Fatalf("%s, line %d as %q: problems %v, %d series, want %d", name, i+1, damaged[i], problems, len(page.Series), len(want))
			}
		}
	}
}
