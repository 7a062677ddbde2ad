package report

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"assay/report/bundle"
)

// proseDigits are words of the templates that hold a digit and no number.
var proseDigits = []string{"p50", "p95", "p99", "p99s", "E2E", "assay/v1", "assay:result-card/v1", "SHA-256", "e2e"}

var (
	linkTarget = regexp.MustCompile(`\]\([^)]*\)`)
	htmlMark   = regexp.MustCompile(`<!--[^>]*-->`)
	digitWord  = regexp.MustCompile(`[\pL\d:/._-]*\d[\pL\d:/._-]*`)
)

func TestEveryNumberIsAClaimOrConfigured(t *testing.T) {
	for name, c := range map[string]campaign{"passing": passing, "failing": failing} {
		out := finding(t, name, c)
		rest := claimMark.ReplaceAllString(out.marked, "")
		rest = givenMark.ReplaceAllString(rest, "")
		rest = htmlMark.ReplaceAllString(linkTarget.ReplaceAllString(rest, "]"), "")
		for _, word := range digitWord.FindAllString(rest, -1) {
			if w := strings.Trim(word, ":./_-"); !slices.Contains(proseDigits, w) && !canonicalName(out, w) {
				t.Errorf("%s: %q is neither a claim nor configured", name, w)
			}
		}
		if len(out.Claims) < 300 {
			t.Errorf("%s: only %d claims", name, len(out.Claims))
		}
	}
}

// canonicalName reports whether a word is a name of an engine metric.
func canonicalName(out Output, word string) bool {
	return strings.Contains(string(out.Draft.Files["tables/engine_histograms.csv"]), ","+word+",") ||
		strings.Contains(string(out.Draft.Files["tables/engine_counters.csv"]), ","+word+",")
}

func TestConfiguredValuesComeFromPlanIdentityOrProse(t *testing.T) {
	data := export(t, "failing", failing)
	out := finding(t, "failing", failing)
	source := string(data.Files[planFile]) + string(data.Files[lockFile]) + string(out.Draft.Files["environment.json"]) +
		string(out.Draft.Files["tables/campaign.csv"]) + string(out.Draft.Files["tables/stops.csv"]) + string(out.Draft.Files["tables/attempts.csv"]) + testID
	number := regexp.MustCompile(`\d+`)
	for _, m := range givenMark.FindAllStringSubmatch(out.marked, -1) {
		value := strings.ReplaceAll(m[1], ",", "")
		if strings.HasSuffix(value, "UTC") {
			continue // a time of the plan or the campaign, converted
		}
		for _, n := range number.FindAllString(value, -1) {
			if !strings.Contains(source, n) && !slices.Contains([]string{"95", "20", "200"}, n) {
				t.Errorf("%q is given, but %s is in no source of configured values", m[1], n)
			}
		}
	}
}

// TestSeedSizedFindingKeepsTheLimits renders a campaign of the real plan's size.
func TestSeedSizedFindingKeepsTheLimits(t *testing.T) {
	seed, err := os.ReadFile("../../shared/seeds/000_444b2f82a3a4a8f3.json")
	if err != nil {
		t.Skip("the seed plan is not beside this checkout")
	}
	c := campaign{kind: "simulated", planText: seed, failing: []string{"candidate-natural-ctx40960-c2"}, notRun: []string{"candidate-capacity-edge-ctx310272-c4"}}
	data, err := Export(context.Background(), c.store(t), "glm53-serving-performance-20261017")
	if err != nil {
		t.Fatal(err)
	}
	out := render(t, data, 0)
	dir := t.TempDir()
	if _, err := bundle.Seal(dir, out.Draft); err != nil {
		t.Error(err)
	}
	if tally := out.Draft.Predicate.Tally; tally.Cells.Planned != 48 || tally.Requests.Planned != 534 {
		t.Errorf("tally %+v", tally)
	}
	var total int64
	for name, data := range out.Draft.Files {
		total += int64(len(data))
		if int64(len(data)) > bundle.MaxFileBytes*9/10 {
			t.Errorf("%s has %d bytes, too near the limit", name, len(data))
		}
	}
	if total > bundle.MaxBundleBytes*9/10 {
		t.Errorf("the bundle has %d bytes, too near the limit", total)
	}
	checkMarkdown(t, "seed narrative", out.Draft.Narrative, out)
	if keep := os.Getenv("ASSAY_KEEP"); keep != "" {
		if err := os.CopyFS(keep, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHalfFailedCampaignIsCompleteAndPrintsNoZeroForAMissingValue(t *testing.T) {
	good, bad := finding(t, "passing", passing), finding(t, "failing", failing)
	narrative := string(bad.Draft.Narrative)
	for _, cell := range testCells() {
		if !strings.Contains(narrative, "`"+cell.id+"`") {
			t.Errorf("cell %s is not in the narrative", cell.id)
		}
	}
	level2 := func(text string) []string { return regexp.MustCompile(`(?m)^## .*$`).FindAllString(text, -1) }
	if a, b := level2(string(good.Draft.Narrative)), level2(narrative); !slices.Equal(a, b) || len(a) < 15 {
		t.Errorf("sections %q and %q", a, b)
	}
	for _, zero := range []string{"| 0\u00a0s |", "| 0\u00a0ms |", "| 0\u00a0ns |", "NaN", "<nil>", "%!"} {
		if strings.Contains(narrative, zero) {
			t.Errorf("the narrative holds %q", zero)
		}
	}
	results := narrative[strings.Index(narrative, "## Results"):strings.Index(narrative, "## Comparisons")]
	for _, line := range strings.Split(results, "\n") {
		if strings.HasPrefix(line, "| 31,744 ") && strings.Contains(line, "candidate") {
			t.Errorf("a cell that never ran has a row of results: %s", line)
		}
	}
	if strings.Index(narrative, "### Cells that are not eligible") > strings.Index(narrative, "### All cells") {
		t.Error("good news come before bad news")
	}
}

func TestSimulatedFindingsSayThatTheyAre(t *testing.T) {
	out := finding(t, "passing", passing)
	narrative := string(out.Draft.Narrative)
	card := narrative[strings.Index(narrative, "## Result card"):strings.Index(narrative, "## Outcome")]
	if !strings.HasPrefix(narrative, "# SIMULATED") || !strings.Contains(card, "SIMULATED") || out.Draft.Predicate.Finding.Kind != bundle.KindSimulated {
		t.Error("title, card or kind do not say that the engines are simulated")
	}
	plots := 0
	for name, data := range out.Draft.Files {
		if strings.HasSuffix(name, ".svg") {
			plots++
			if !strings.Contains(string(data), "SIMULATED") {
				t.Errorf("%s does not say so", name)
			}
		}
	}
	if plots < 8 {
		t.Errorf("only %d plots", plots)
	}
}

func TestNoWordOfPraiseOrCause(t *testing.T) {
	words := regexp.MustCompile(`(?i)\b(best|fastest|strongest|winner|wins|because of|thanks to|outperforms)\b`)
	for name, c := range map[string]campaign{"passing": passing, "failing": failing} {
		out := finding(t, name, c)
		for _, text := range []string{string(out.Draft.Narrative), string(out.Draft.Files["publication-summary.md"])} {
			if found := words.FindString(text); found != "" {
				t.Errorf("%s: the text says %q", name, found)
			}
		}
	}
}

func TestShortPostFits(t *testing.T) {
	for name, c := range map[string]campaign{"passing": passing, "failing": failing} {
		out := finding(t, name, c)
		_, post, ok := strings.Cut(string(out.Draft.Files["publication-summary.md"]), "## Short post\n\n")
		post, _, _ = strings.Cut(post, "\n\n")
		if n := len([]rune(post)); !ok || n > shortPost || n < 40 {
			t.Errorf("%s: the short post has %d characters: %q", name, n, post)
		}
	}
}

// hostile texts must come out as they went in.
var hostile = []string{
	"pipe | and `tick`", "<script>alert(1)</script>", "line\nbreak\r\nand | more", "[link](http://evil.example)", "![img](x.png)", "**bold** _it_ ~~gone~~",
	"# heading", "<!-- assay:end -->", "$x$ &amp; \\ backslash", "| --- |", "www.evil.example", "1. list", "\u202eright to left\ue000\ue001",
}

func TestHostileTextsStayLiteral(t *testing.T) {
	c := failing
	c.mutate = func(p map[string]any) {
		ledger := p["quality_ledger"].(map[string]any)
		for i, h := range hostile {
			ledger[fmt.Sprintf("area%d %s", i, h)] = h
		}
		controls := p["controls"].(map[string]any)
		controls["hardware"] = hostile[0] + hostile[1]
		p["owner"] = hostile[2]
	}
	c.detail = "bad | `x` <b>\nnew"
	data, err := Export(context.Background(), c.store(t), testName)
	if err != nil {
		t.Fatal(err)
	}
	out := render(t, data, 0)
	checkMarkdown(t, "narrative", out.Draft.Narrative, out)
	plain := plainText(out.Draft.Narrative)
	for _, h := range hostile {
		if want := strings.TrimSpace(clean(h)); !strings.Contains(plain, want) {
			t.Errorf("%q is not in the narrative as it was written", want)
		}
	}
	if bytes := strings.Count(string(out.Draft.Narrative), bundle.EndMark); bytes != 1 {
		t.Errorf("%d end marks", bytes)
	}
	if _, err := bundle.Seal(t.TempDir(), out.Draft); err != nil {
		t.Error(err)
	}
}

func TestOldEvidenceIsLinkedWhereThePlanNamesAFinding(t *testing.T) {
	for text, want := range map[string]string{
		"docs/findings/2026-09-03-older.md": "[2026-09-03-older](2026-09-03-older.md)",
		"2026-09-03-older.md":               "[2026-09-03-older](2026-09-03-older.md)",
		"keep the old campaign":             "keep the old campaign",
		"2026-13-03-no-date.md":             "2026-13-03-no-date.md",
		"2026-09-03-a](x).md":               "2026-09-03-a\\](x).md",
	} {
		if got := unmark(oldEvidence(text)); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestMarkdownIsWellFormed(t *testing.T) {
	for name, c := range map[string]campaign{"passing": passing, "failing": failing} {
		out := finding(t, name, c)
		checkMarkdown(t, name+" narrative", out.Draft.Narrative, out)
		for _, file := range []string{"README.md", "friction.md", "publication-summary.md"} {
			checkMarkdown(t, name+" "+file, out.Draft.Files[file], out)
		}
	}
}

func markdown() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
}

// checkMarkdown looks at headings, tables, links and raw HTML.
func checkMarkdown(t *testing.T, name string, source []byte, out Output) {
	t.Helper()
	checkRectangles(t, name, string(source))
	doc := markdown().Parser().Parse(text.NewReader(source))
	ids := map[string]bool{}
	var links []string
	tables, level := 0, 0
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level > level+1 || (n.Level == 1) != (level == 0) {
				t.Errorf("%s: a heading of level %d after one of level %d: %s", name, n.Level, level, n.Lines().Value(source))
			}
			level = n.Level
			if id, ok := n.AttributeString("id"); ok {
				ids["#"+string(id.([]byte))] = true
			}
		case *ast.Link:
			links = append(links, string(n.Destination))
		case *ast.Image:
			links = append(links, string(n.Destination))
		case *ast.AutoLink:
			t.Errorf("%s: a text became a link: %s", name, n.URL(source))
		case *ast.RawHTML:
			t.Errorf("%s: raw HTML", name)
		case *ast.HTMLBlock:
			if line := string(n.Lines().Value(source)); !strings.HasPrefix(line, "<!-- assay:") {
				t.Errorf("%s: HTML block %q", name, line)
			}
		case *east.Table:
			tables++
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if tables == 0 || len(links) == 0 && strings.HasSuffix(name, "narrative") {
		t.Errorf("%s: %d tables, %d links", name, tables, len(links))
	}
	for _, link := range links {
		if !resolves(link, ids, out, strings.HasSuffix(name, "narrative")) {
			t.Errorf("%s: link %s leads nowhere", name, link)
		}
	}
}

// resolves reports whether a link leads to a file of the finding, or a heading.
func resolves(link string, ids map[string]bool, out Output, narrative bool) bool {
	if strings.HasPrefix(link, "#") {
		return ids[link]
	}
	file, _, _ := strings.Cut(link, "#")
	if narrative {
		rest, ok := strings.CutPrefix(file, out.Draft.Folder+"/")
		if !ok {
			return false
		}
		file = rest
	}
	if file == "../"+out.Draft.Predicate.Finding.ID+".md" || file == bundle.ManifestName {
		return true
	}
	_, ok := out.Draft.Files[file]
	return ok
}

// checkRectangles counts the cells of each raw table line, because the parser
// silently mends a row that is too long or too short.
func checkRectangles(t *testing.T, name, source string) {
	t.Helper()
	width := 0
	for i, line := range strings.Split(source, "\n") {
		if !strings.HasPrefix(line, "|") {
			width = 0
			continue
		}
		cells := 0
		for k := 0; k < len(line); k++ {
			if line[k] == '\\' {
				k++
			} else if line[k] == '|' {
				cells++
			}
		}
		if width == 0 {
			width = cells
		}
		if cells != width {
			t.Errorf("%s: line %d has %d cells, its table %d: %s", name, i+1, cells-1, width-1, line)
		}
	}
}

// plainText is what a reader sees.
func plainText(source []byte) string {
	doc := markdown().Parser().Parse(text.NewReader(source))
	var b strings.Builder
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			value := t.Value(source)
			if t.IsRaw() {
				b.Write(value)
			} else {
				b.WriteString(unescape(string(value)))
			}
		}
		if _, ok := n.(*east.TableCell); ok && !entering {
			b.WriteByte('\n')
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

var escaped = regexp.MustCompile("\\\\([!-/:-@\\[-`{-~])")

func unescape(s string) string { return escaped.ReplaceAllString(s, "$1") }
