package report

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/analyze"
)

// section is the text of a narrative between two headings of the second level.
func section(t *testing.T, out Output, heading string) string {
	t.Helper()
	_, text, ok := strings.Cut(string(out.Draft.Narrative), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("the narrative has no section %s", heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

func TestDifferencesStandBesideTheSpreadOfRepeatsOrSayThatThereIsNone(t *testing.T) {
	with, without := section(t, finding(t, "repeated", repeated), "Comparisons"), section(t, finding(t, "passing", passing), "Comparisons")
	rows := regexp.MustCompile(`(?m)^\| .*, C\d+ \|.*$`)
	if n := len(rows.FindAllString(with, -1)); n < 20 || n != len(rows.FindAllString(without, -1)) {
		t.Fatalf("%d rows of comparisons", n)
	}
	for _, row := range rows.FindAllString(without, -1) {
		if !strings.Contains(row, "| no repeat |") {
			t.Errorf("without a repeat: %s", row)
		}
	}
	if !strings.Contains(without, "has no repeat") || !strings.Contains(with, "`small-serving-test-again` (18 of 18 cells with a median)") {
		t.Error("the section does not say which repeats there are")
	}
	spread := regexp.MustCompile(`\| [^|]+ to [^|]+, n 2; [^|]+ to [^|]+, n 2 \|`)
	for _, row := range rows.FindAllString(with, -1) {
		if !spread.MatchString(row) {
			t.Errorf("with a repeat: %s", row)
		}
	}
	// Each first output comes 7 ms later in the repeat.
	low := map[string]int64{}
	for _, c := range finding(t, "repeated", repeated).Claims {
		if pair, ok := strings.CutSuffix(c.ID, "/ttfo_ns:baseline_p50_min"); ok {
			low[pair], _ = strconv.ParseInt(c.Value, 10, 64)
		}
	}
	for _, c := range finding(t, "repeated", repeated).Claims {
		if pair, ok := strings.CutSuffix(c.ID, "/ttfo_ns:baseline_p50_max"); ok {
			if high, _ := strconv.ParseInt(c.Value, 10, 64); high-low[pair] != repeated.repeat {
				t.Errorf("%s: from %d to %d", pair, low[pair], high)
			}
			delete(low, pair)
		}
	}
	if len(low) > 0 {
		t.Errorf("spreads without an upper end: %v", low)
	}
}

// TestBundleHasTheSpreadThatTheDatabaseHas compares the comparisons of a campaign
// with repeats in its database with those of its bundle, which holds of the other
// campaign only the medians.
func TestBundleHasTheSpreadThatTheDatabaseHas(t *testing.T) {
	ctx := context.Background()
	db := repeated.store(t)
	data, err := Export(ctx, db, testName)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := load(ctx, data.Files, 2, analyze.CreateViews)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	for _, view := range []string{"comparisons", "repeat_spread", "campaign_repeats"} {
		q := query{name: view, text: "SELECT * FROM " + view + " WHERE campaign = '" + testName + "'"}
		q.key = map[string][]string{"comparisons": {"pair", "metric"}, "repeat_spread": {"cell", "metric"}, "campaign_repeats": {"repeat"}}[view]
		want, err := run(ctx, db.SQL(), q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := run(ctx, loaded.SQL(), q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.rows, got.rows); diff != "" || len(got.rows) == 0 {
			t.Errorf("%s (-database +bundle), %d rows: %s", view, len(got.rows), diff)
		}
	}
	if _, ok := export(t, "passing", passing).Files["data/repeats.parquet"]; ok {
		t.Error("a campaign without a repeat publishes an empty table of repeats")
	}
}

func TestRequestsThatFailARuleAreNamed(t *testing.T) {
	text := section(t, finding(t, "failing", failing), "Eligibility")
	for _, want := range []string{
		"| `baseline-natural-ctx16384-c2` | partial | `usage_exact` | \\[1,2\\] | 0 |",
		"| `baseline-natural-ctx16384-c2` | partial | `terminal` | \\[2\\] | 0 |",
		"| `baseline-natural-ctx16384-c2` | partial | `cell_complete` | \\[2\\] | 0 |",
		"| `candidate-natural-ctx16384-c2` | not run deadline | nothing was sent, so no rule could be judged |  |  |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestSensitivityIsApartAndSaysKOfN(t *testing.T) {
	out := finding(t, "failing", failing)
	sensitivity, results := section(t, out, "Sensitivity"), section(t, out, "Results")
	if !strings.Contains(sensitivity, "| `baseline-natural-ctx16384-c2` | TTFO | 6 of 8 |") {
		t.Errorf("the six passing requests of eight are not shown:\n%s", sensitivity)
	}
	if strings.Contains(sensitivity, "p95") {
		t.Error("a p95 of a cell that is not eligible")
	}
	if strings.Contains(sensitivity, "`candidate-natural-ctx16384-c2`") {
		t.Error("a cell that sent nothing has a row of its passing requests")
	}
	if strings.Contains(results, "6 of 8") {
		t.Error("a part of a cell stands in a main table")
	}
}

// TestReasonsStandWhereANumberWould renders a campaign in which metrics are
// withheld: the dash, or the number with fewer values, refers to its reason.
func TestReasonsStandWhereANumberWould(t *testing.T) {
	c := campaign{kind: "measured", change: func(table string, row map[string]any) {
		if table != "request_facts" || row["outcome"] != "complete" {
			return
		}
		switch row["cell"] {
		case "baseline-natural-ctx4096-c1": // every answer in bursts
			row["short_gaps"] = row["output_events"]
		case "candidate-natural-ctx4096-c1": // one of them
			if row["request_index"] == int64(3) {
				row["short_gaps"] = row["output_events"]
			}
		case "baseline-natural-ctx4096-c2": // a warm cache
			row["cached_tokens"] = row["prompt_tokens"]
		}
	}}
	out := finding(t, "withheld", c)
	results, comparisons := section(t, out, "Results"), section(t, out, "Comparisons")
	for _, want := range []string{
		"no value; withheld: burst\\_delivery (8 of 8)", "withheld: burst\\_delivery (1 of 8)", "cache\\_assisted: 8 of 8, not compared",
	} {
		if !strings.Contains(strings.ReplaceAll(results, "\\_", "_"), strings.ReplaceAll(want, "\\_", "_")) {
			t.Errorf("the results do not say %q", want)
		}
	}
	line := regexp.MustCompile(`(?m)^\| 4,096 \| 1 / \d+ \| baseline \| .* \| — \(\w\) \| .*$`)
	if !line.MatchString(results) {
		t.Error("a withheld rate is no dash with its reason")
	}
	if !strings.Contains(strings.ReplaceAll(comparisons, "\\_", "_"), "withheld: cache_assisted (baseline: 8 requests, candidate: 0)") {
		t.Error("the comparison of prefill does not say why it is withheld")
	}
}

// A counter of seconds rises by fractions: rounding each cell's delta first would
// make short cells nothing.
func TestSumsOfCountersKeepTheirFractions(t *testing.T) {
	requests := 0.0
	for _, cell := range testCells() {
		if cell.arm == "baseline" {
			requests += float64(cell.requests)
		}
	}
	want := formatValue(requests*secondsPerRequest, "s")
	for row := range strings.Lines(section(t, finding(t, "passing", passing), "Engine metrics")) {
		if strings.HasPrefix(row, "| baseline | `decode_compute_seconds` ") {
			if !strings.Contains(row, " | "+want+" | ") {
				t.Errorf("want %s in %s", want, row)
			}
			return
		}
	}
	t.Error("the counter is not in the section")
}

// What the plan does not state is said not to be stated.
func TestModelSource(t *testing.T) {
	for _, tt := range []struct{ repository, revision, want string }{
		{"example/Tiny", "ab12", "`example/Tiny@ab12`"},
		{"example/Tiny", "", "`example/Tiny`, revision not stated"},
		{"", "ab12", "revision `ab12` of a repository that is not stated"},
		{"", "", "not stated"},
	} {
		if got := modelSource(tt.repository, tt.revision); unmark(got) != tt.want {
			t.Errorf("%q at %q is %s, want %s", tt.repository, tt.revision, unmark(got), tt.want)
		}
	}
}
