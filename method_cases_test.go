package main

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/collect/plan"
	"assay/collect/record"
	"assay/ingest/ingesttest"
)

// methodCase is one case of cases.md, parts C and H. All go through ingest and the
// views in one database, each as a campaign of its own name; those with a look are
// published too.
type methodCase struct {
	id     string
	cells  []ingesttest.CellSpec
	change func(p map[string]any) // of the plan
	build  func(run *ingesttest.Run)
	// want has for each query the rows it returns, fields joined by |, rows by a
	// line feed. $c stands for the campaign.
	want map[string]string
	// look reads the published narrative: of this campaign, or of another case's.
	of   string
	look func(t *testing.T, narrative string)
}

// pairOf is a matched cell of both arms.
func pairOf(spec ingesttest.CellSpec, more ...ingesttest.CellSpec) []ingesttest.CellSpec {
	var out []ingesttest.CellSpec
	for _, arm := range []string{"baseline", "candidate"} {
		for i, s := range append([]ingesttest.CellSpec{spec}, more...) {
			s.ID, s.Arm = arm+"-"+s.ID, arm
			if s.Seed == 0 {
				s.Seed = int64(900 + i)
			}
			out = append(out, s)
		}
	}
	return out
}

// timed is a sound answer with a first output, a last one and usage of these
// counts; the marker is the whole text. It ends with the last output.
func timed(c plan.Cell, index int64, first, last time.Duration, usage string) []ingesttest.Chunk {
	return []ingesttest.Chunk{
		ingesttest.Role(first), ingesttest.Content(first, ingesttest.Marker(c, index)), ingesttest.Content(last, " end"),
		ingesttest.Finish(last, "stop"), ingesttest.Raw(last, `{"choices":[],"usage":`+usage+`}`), ingesttest.Done(last),
	}
}

const plainUsage = `{"prompt_tokens":100,"completion_tokens":3}`

// fillTimed answers every request of a cell in the same way.
func fillTimed(a *ingesttest.Attempt, first, last time.Duration, usage string) *ingesttest.Attempt {
	for i := range a.Plan.Requests {
		a.Stream(i, timed(a.Plan, i, first, last, usage)...)
	}
	return identified(a)
}

// moved starts a request at another time of the run.
func moved(a *ingesttest.Attempt, index int64, at time.Duration) {
	row := a.Row(index)
	*row.T0Ns, *row.T0UnixNs = int64(at), ingesttest.AnchorUnixNs+int64(at)
}

const (
	mainRows   = "SELECT n, p50::BIGINT, p95::BIGINT, max::BIGINT, note FROM cell_distributions WHERE campaign = $c AND population = 'eligible' AND metric = 'e2e_ns' ORDER BY cell"
	comparable = "SELECT comparable, reasons FROM pair_comparability WHERE campaign = $c ORDER BY pair"
)

func methodCases() []methodCase {
	return slices.Concat(workloadCases(), statisticsCases(), clockCases(), comparisonCases(), planCases())
}

// methodCaseIDs are the cases of parts C and H. Their numbering has gaps.
var methodCaseIDs = []string{
	"C01", "C02", "C03", "C04", "C06", "C07", "C08", "C09", "C10", "C11", "C12", "C13", "C14", "C15", "C17", "C18", "C19", "C21", "C22", "C23",
	"H02", "H03", "H04", "H05", "H07",
}

func TestEveryMethodCaseIsTested(t *testing.T) {
	everyCaseIsTested(t, methodCases(), methodCaseIDs, methodCaseIDs, `(?m)^### ([CH]\d+) `)
}

// everyCaseIsTested holds the cases of a table against the ids they must have, and
// those that the page of cases states under a heading.
func everyCaseIsTested(t *testing.T, cases []methodCase, ids, onPage []string, heading string) {
	t.Helper()
	var have []string
	for _, c := range cases {
		have = append(have, c.id)
		if len(c.want) == 0 {
			t.Errorf("%s asks nothing of the database", c.id)
		}
	}
	slices.Sort(have)
	if !slices.Equal(have, ids) {
		t.Errorf("cases %v, want %v", have, ids)
	}
	page, err := os.ReadFile("../shared/cases.md")
	if err != nil {
		t.Skip("the page of cases is not beside this checkout")
	}
	var stated []string
	for _, m := range regexp.MustCompile(heading).FindAllStringSubmatch(string(page), -1) {
		stated = append(stated, m[1])
	}
	if !slices.Equal(stated, onPage) {
		t.Errorf("the page has %v", stated)
	}
}

func TestMethodCases(t *testing.T) { playMethodCases(t, methodCases()) }

// playMethodCases loads every case into one database, asks the views, and publishes what
// is looked at.
func playMethodCases(t *testing.T, cases []methodCase) {
	t.Helper()
	var runs []*ingesttest.Run
	for _, c := range cases {
		run := ingesttest.NewRun(t, planWith(t, c.id, c.change, c.cells...))
		c.build(run)
		runs = append(runs, run)
	}
	db := methodDatabase(t, runs...)
	narratives := published{db: db, folder: filepath.Join(t.TempDir(), "findings"), texts: map[string]string{}}
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			for query, want := range c.want {
				var lines []string
				for _, row := range rows(t, db, strings.ReplaceAll(query, "$c", "'"+c.id+"'")) {
					lines = append(lines, strings.Join(row, "|"))
				}
				if got := strings.Join(lines, "\n"); got != want {
					t.Errorf("%s\n got: %s\nwant: %s", query, got, want)
				}
			}
			if c.look == nil {
				return
			}
			c.look(t, narratives.text(t, cmp.Or(c.of, c.id)))
		})
	}
}

// published keeps narratives, because publishing takes a while.
type published struct {
	db, folder string
	texts      map[string]string
}

func (p *published) text(t *testing.T, campaign string) string {
	t.Helper()
	if p.texts[campaign] == "" {
		mustRun(t, "report", "--db", p.db, "--campaign", campaign, "-o", p.folder)
		text, err := os.ReadFile(filepath.Join(p.folder, "2026-10-17-"+strings.ToLower(campaign)+".md"))
		if err != nil {
			t.Fatal(err)
		}
		p.texts[campaign] = string(text)
	}
	return p.texts[campaign]
}

// says holds a narrative to texts it must have and to texts it must not have,
// which start with a dash.
func says(wanted ...string) func(*testing.T, string) {
	return func(t *testing.T, narrative string) {
		t.Helper()
		plain := strings.NewReplacer("\\", "", "\u00a0", " ").Replace(narrative)
		for _, w := range wanted {
			if unwanted, ok := strings.CutPrefix(w, "-"); ok {
				if strings.Contains(plain, unwanted) {
					t.Errorf("the finding says %q", unwanted)
				}
			} else if !strings.Contains(plain, w) {
				t.Errorf("the finding does not say %q", w)
			}
		}
	}
}

// gpuClocks adds readings of one GPU during an attempt.
func gpuClocks(a *ingesttest.Attempt, mhz, reasons int64, n int) {
	for i := range n {
		seq, index, power, temperature := int64(i), int64(0), int64(300_000), int64(71)
		a.GPU = append(a.GPU, record.GPUSample{
			Seq: seq, Phase: "during", AtNs: a.StartNs + seq, Status: "ok", GPUIndex: &index, UUID: "GPU-1", Name: "Example GPU",
			SMClockMHz: &mhz, ThrottleReasons: &reasons, PowerMilliwatts: &power, TemperatureC: &temperature,
		})
	}
}
