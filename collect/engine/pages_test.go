package engine

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func edge(v float64) *float64 { return &v }

func readPage(t *testing.T, name string) Page {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", "pages", name))
	if err != nil {
		t.Fatal(err)
	}
	page, problems := ParsePage(body)
	if len(problems) > 0 {
		t.Fatalf("%s has problems: %v", name, problems)
	}
	return page
}

func TestParsePageKeepsTheGoodLinesAroundABadOne(t *testing.T) {
	text := strings.Join([]string{
		"# HELP x_total Things.",
		"# TYPE x_total counter",
		`x_total{b="2",a="a\"b\\c\n"} 1e3`,
		"x_total{a=} 4", // line 4
		"9lives 1",      // line 5
		"# TYPE g gauge",
		"g NaN",
		"# TYPE g counter", // line 8
		"h_bucket{le=\"1\"} 2",
		"# TYPE h histogram",
		"h_sum nonsense", // line 11
		"# TYPE k weird", // line 12
		"# TYPE i histogram",
		"n 1 yesterday",          // line 14
		"g 5",                    // line 15
		"s{a=\"1\",a=\"2\"} 1",   // line 16
		"bad{a=\"\xff\"} 1",      // line 17
		`i_bucket{le="many"} 2`,  // line 18
		"inf +Inf 1712345678901", // a timestamp
		`e_total 5 # {trace="}"} 0.7 1712345678.9`,
		"# EOF",
		"torn 12", // line 22, without its end
	}, "\n")
	page, problems := ParsePage([]byte(text))
	want := []PageProblem{
		{4, PageBadLabels}, {5, PageBadName}, {8, PageSecondType}, {11, PageBadValue}, {12, PageBadType},
		{14, PageBadTime}, {15, PageDuplicate}, {16, PageBadLabels}, {17, PageBadEncoding}, {18, PageBadEdge}, {22, PageTornLine},
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error("problems (-want +got):\n", diff)
	}
	series := []Series{
		{Name: "x_total", Labels: `{"a":"a\"b\\c\n","b":"2"}`, Value: 1000, Family: "x_total", Type: TypeCounter},
		{Name: "g", Labels: "{}", Value: math.NaN(), Family: "g", Type: TypeGauge},
		{Name: "h_bucket", Labels: "{}", LE: edge(1), Value: 2, Family: "h_bucket", Type: TypeUntyped},
		{Name: "inf", Labels: "{}", Value: math.Inf(1), Family: "inf", Type: TypeUntyped},
		{Name: "e_total", Labels: "{}", Value: 5, Family: "e_total", Type: TypeUntyped},
	}
	if diff := cmp.Diff(series, page.Series, cmpopts.EquateNaNs()); diff != "" {
		t.Error("series (-want +got):\n", diff)
	}
	families := map[string]string{"x_total": TypeCounter, "g": TypeGauge, "h": TypeHistogram, "i": TypeHistogram}
	if diff := cmp.Diff(families, page.Families); diff != "" {
		t.Error("families (-want +got):\n", diff)
	}
}

func TestParsePageReadsBothLineEndsAlike(t *testing.T) {
	body, err := os.ReadFile(filepath.Join("testdata", "pages", "vllm_new.prom"))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := ParsePage(body)
	got, problems := ParsePage([]byte(strings.ReplaceAll(string(body), "\n", "\r\n")))
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" || len(problems) > 0 {
		t.Errorf("problems %v, page (-LF +CRLF):\n%s", problems, diff)
	}
}

// A page cut anywhere gives what its whole lines say and nothing else: never a
// value whose last digits are missing.
func TestParsePageNeverReadsACutValue(t *testing.T) {
	body, err := os.ReadFile(filepath.Join("testdata", "pages", "vllm_new.prom"))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(body); n++ {
		cut := body[:n]
		whole := cut[:strings.LastIndexByte(string(cut), '\n')+1]
		got, problems := ParsePage(cut)
		want, _ := ParsePage(whole)
		if len(whole) > 0 {
			if !slices.EqualFunc(want.Series, got.Series, sameSeries) {
				t.Fatalf("cut at %d: series differ from those of its whole lines", n)
			}
		}
		if len(whole) < len(cut) && len(problems) != 1 {
			t.Fatalf("cut at %d: problems %v, want one", n, problems)
		}
		if len(got.Series) > strings.Count(string(whole), "\n") {
			t.Fatalf("cut at %d: more series than lines", n)
		}
	}
}

func sameSeries(a, b Series) bool {
	value := a.Value == b.Value || math.IsNaN(a.Value) && math.IsNaN(b.Value)
	return value && a.Name == b.Name && a.Labels == b.Labels && (a.LE == nil) == (b.LE == nil) && (a.LE == nil || *a.LE == *b.LE)
}

func TestParsePageRefusesWhatIsNoMetricsPage(t *testing.T) {
	for _, tt := range []struct{ name, body, code string }{
		{"nothing", "", PageEmpty},
		{"white space", " \r\n\t\n", PageEmpty},
		{"login page", "<!DOCTYPE html>\n<html><body>\nlogin 1\n</body></html>\n", PageNotMetrics},
		{"JSON object", `{"detail":"Not Found"}`, PageNotMetrics},
		{"JSON list of iteration statistics", `[{"iter":1}]` + "\n", PageNotMetrics},
		{"cut JSON", `{"detail":"Not` + "\n", PageNotMetrics},
		{"prose", "Service is not available.\nTry again.\n", PageNotMetrics},
		{"binary", "\x00\x01\x02\n\xff\xfe\n", PageNotMetrics},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page, problems := ParsePage([]byte(tt.body))
			if diff := cmp.Diff([]PageProblem{{0, tt.code}}, problems); diff != "" {
				t.Error("problems (-want +got):\n", diff)
			}
			if len(page.Series) != 0 {
				t.Errorf("%d series read from it", len(page.Series))
			}
		})
	}
}

func TestParsePageReadsOpenMetrics(t *testing.T) {
	page, problems := ParsePage([]byte("# TYPE x counter\n# UNIT x tokens\nx_total{a=\"1\"} 3 # {t=\"1\"} 1\nx_created{a=\"1\"} 1.79e9\n" +
		"# TYPE m info\nm_info{v=\"2\"} 1\n# TYPE u unknown\nu 1\n# TYPE gh gaugehistogram\ngh_bucket{le=\"+Inf\"} 2\n{\"q\",a=\"1\"} 4\n# EOF\n"))
	if len(problems) > 0 {
		t.Error("problems:", problems)
	}
	want := []Series{
		{Name: "x_total", Labels: `{"a":"1"}`, Value: 3, Family: "x", Type: TypeCounter},
		{Name: "x_created", Labels: `{"a":"1"}`, Value: 1.79e9, Family: "x_created", Type: TypeUntyped}, // a time, never a counter
		{Name: "m_info", Labels: `{"v":"2"}`, Value: 1, Family: "m_info", Type: TypeUntyped},
		{Name: "u", Labels: "{}", Value: 1, Family: "u", Type: TypeUntyped},
		{Name: "gh_bucket", Labels: "{}", LE: edge(math.Inf(1)), Value: 2, Family: "gh", Type: TypeHistogram},
		{Name: "q", Labels: `{"a":"1"}`, Value: 4, Family: "q", Type: TypeUntyped},
	}
	if diff := cmp.Diff(want, page.Series); diff != "" {
		t.Error("series (-want +got):\n", diff)
	}
}

func TestParsePageKeepsLEThatIsNoEdge(t *testing.T) {
	page, problems := ParsePage([]byte("# TYPE g gauge\ng{le=\"Tuesday\"} 1\ng{le=\"1\"} 2\nplain{le=\"1\"} 3\nodd_bucket{le=\"x\"} 4\n"))
	if len(problems) > 0 {
		t.Error("problems:", problems)
	}
	for _, s := range page.Series {
		if s.LE != nil || !strings.Contains(s.Labels, `"le"`) {
			t.Errorf("%s%s: le taken for the edge of a bucket", s.Name, s.Labels)
		}
	}
}

func TestParsePageTellsEdgesApartByNumber(t *testing.T) {
	page, problems := ParsePage([]byte("# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"1.0\"} 2\nh_bucket{le=\"0\"} 1\nh_count 2\n"))
	if diff := cmp.Diff([]PageProblem{{3, PageDuplicate}}, problems); diff != "" {
		t.Error("problems (-want +got):\n", diff)
	}
	if len(page.Series) != 3 {
		t.Errorf("%d series, want 3", len(page.Series))
	}
}

func TestABadLineDoesNotSpoilTheTypeAfterIt(t *testing.T) {
	page, problems := ParsePage([]byte("x_total oops\n# TYPE x_total counter\nx_total 1\n"))
	if diff := cmp.Diff([]PageProblem{{1, PageBadValue}}, problems); diff != "" {
		t.Error("problems (-want +got):\n", diff)
	}
	if len(page.Series) != 1 || page.Series[0].Type != TypeCounter {
		t.Errorf("series = %+v, want one counter", page.Series)
	}
}

func TestPageKeepsFamiliesWithoutSeries(t *testing.T) {
	page, _ := ParsePage([]byte("# TYPE a_total counter\n# HELP b Only a text.\n# HELP c Text first.\n# TYPE c gauge\nc 1\n"))
	want := map[string]string{"a_total": TypeCounter, "b": TypeUntyped, "c": TypeGauge}
	if diff := cmp.Diff(want, page.Families); diff != "" {
		t.Error("families (-want +got):\n", diff)
	}
}

// Every name and label ends in a text column, where one byte that is no UTF-8
// spoils the file.
func FuzzParsePage(f *testing.F) {
	f.Add([]byte("# TYPE x counter\nx_total{a=\"1\"} 3\n"))
	f.Add([]byte("# TYPE \"\xff\" gauge\n{\"\xff\"} 1\n{\"q\",le=\"1\"} 2 # {} 1\r\n"))
	f.Add([]byte("<html>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		page, _ := ParsePage(body)
		for _, s := range page.Series {
			if !utf8.ValidString(s.Name) || !json.Valid([]byte(s.Labels)) || !utf8.ValidString(s.Labels) || s.Family == "" || s.Type == "" {
				t.Errorf("series %+v", s)
			}
		}
		for name := range page.Families {
			if name == "" || !utf8.ValidString(name) {
				t.Errorf("family %q", name)
			}
		}
	})
}
