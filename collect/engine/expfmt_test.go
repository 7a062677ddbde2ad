package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// samples maps a sample's name, labels and edge to its values.
type samples map[string][]float64

func (s samples) add(name string, labels map[string]string, extra string, v float64) {
	text, err := json.Marshal(labels)
	if err != nil {
		panic(err)
	}
	key := name + string(text) + extra
	s[key] = append(s[key], v)
}

// ours flattens a page of this package. What expfmt has no place for is left out:
// lines of a histogram or summary that are no bucket, quantile, sum or count.
func ours(page Page) samples {
	all := samples{}
	for _, s := range page.Series {
		set := labelMap(s.Labels)
		part := strings.HasSuffix(s.Name, "_sum") || strings.HasSuffix(s.Name, "_count")
		part = part && s.Name != s.Family
		switch {
		case s.Type == TypeHistogram && part:
			all.add(s.Name, set, "", s.Value)
		case s.Type == TypeHistogram:
			if s.LE != nil {
				all.add(s.Family+"_bucket", set, edgeText(*s.LE), s.Value)
			}
		case s.Type == TypeSummary && part:
			delete(set, "quantile")
			all.add(s.Name, set, "", s.Value)
		case s.Type == TypeSummary:
			if q, ok := readFloat(set["quantile"]); ok && !math.IsNaN(q) {
				delete(set, "quantile")
				all.add(s.Name, set, edgeText(q), s.Value)
			}
		case s.LE != nil:
			all.add(s.Name, set, edgeText(*s.LE), s.Value)
		default:
			all.add(s.Name, set, "", s.Value)
		}
	}
	return all
}

func edgeText(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// theirs flattens what expfmt read.
func theirs(families map[string]*dto.MetricFamily) samples {
	all := samples{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			set := map[string]string{}
			for _, l := range m.GetLabel() {
				set[l.GetName()] = l.GetValue()
			}
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				all.add(name, set, "", m.GetCounter().GetValue())
			case dto.MetricType_GAUGE:
				all.add(name, set, "", m.GetGauge().GetValue())
			case dto.MetricType_SUMMARY:
				addSummary(all, name, set, m.GetSummary())
			case dto.MetricType_HISTOGRAM, dto.MetricType_GAUGE_HISTOGRAM:
				addHistogram(all, name, set, m.GetHistogram())
			default:
				extra := ""
				v, ok := readFloat(set["le"])
				if ok && !math.IsNaN(v) && strings.HasSuffix(name, "_bucket") {
					extra = edgeText(v)
					delete(set, "le")
				}
				all.add(name, set, extra, m.GetUntyped().GetValue())
			}
		}
	}
	return all
}

func addSummary(all samples, name string, set map[string]string, s *dto.Summary) {
	if s.SampleCount != nil {
		all.add(name+"_count", set, "", float64(s.GetSampleCount()))
	}
	if s.SampleSum != nil {
		all.add(name+"_sum", set, "", s.GetSampleSum())
	}
	for _, q := range s.GetQuantile() {
		all.add(name, set, edgeText(q.GetQuantile()), q.GetValue())
	}
}

func addHistogram(all samples, name string, set map[string]string, h *dto.Histogram) {
	switch {
	case h.SampleCountFloat != nil:
		all.add(name+"_count", set, "", h.GetSampleCountFloat())
	case h.SampleCount != nil:
		all.add(name+"_count", set, "", float64(h.GetSampleCount()))
	}
	if h.SampleSum != nil {
		all.add(name+"_sum", set, "", h.GetSampleSum())
	}
	for _, b := range h.GetBucket() {
		v := float64(b.GetCumulativeCount())
		if b.CumulativeCountFloat != nil {
			v = b.GetCumulativeCountFloat()
		}
		all.add(name+"_bucket", set, edgeText(b.GetUpperBound()), v)
	}
}

// accepts runs expfmt; a panic of it counts as a refusal.
func accepts(text string) (families map[string]*dto.MetricFamily, ok bool) {
	defer func() {
		if recover() != nil {
			families, ok = nil, false
		}
	}()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	return families, err == nil
}

// difference compares the two readings of a page that expfmt accepts; empty when
// they agree.
func difference(text string, families map[string]*dto.MetricFamily) string {
	page, problems := ParsePage([]byte(text))
	duplicates := false
	for _, p := range problems {
		switch p.Code {
		case PageDuplicate:
			duplicates = true
		case PageEmpty:
		default:
			return fmt.Sprintf("problem %s in line %d", p.Code, p.Line)
		}
	}
	mine, other := ours(page), theirs(families)
	for key, values := range other {
		v, ok := mine[key]
		if !ok {
			// expfmt makes up a count of 0 for a float histogram without one.
			if strings.Contains(key, "_count{") && values[0] == 0 {
				continue
			}
			return "missing " + key
		}
		// With duplicates expfmt keeps all or the last, this package the first.
		if !duplicates && !slices.ContainsFunc(v, same(values[0])) {
			return fmt.Sprintf("%s = %v, expfmt has %v", key, v, values)
		}
	}
	for key := range mine {
		if _, ok := other[key]; !ok {
			return "added " + key
		}
	}
	return differentType(page, families)
}

func differentType(page Page, families map[string]*dto.MetricFamily) string {
	for _, s := range page.Series {
		f := families[s.Family]
		if f == nil && s.Type == TypeCounter && strings.HasSuffix(s.Name, "_total") {
			continue // OpenMetrics counter, which expfmt reads as untyped
		}
		want := strings.ToLower(f.GetType().String())
		if want == "gauge_histogram" {
			want = TypeHistogram
		}
		if f != nil && s.Type != want {
			return fmt.Sprintf("type of %s is %s, expfmt has %s", s.Name, s.Type, want)
		}
	}
	return ""
}

func same(a float64) func(float64) bool {
	return func(b float64) bool {
		// A summary's count is cut to an integer by expfmt.
		return a == b || math.IsNaN(a) && math.IsNaN(b) || a == math.Trunc(b)
	}
}

func TestParsePageEqualsExpfmtOnFixtures(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "pages", "*.prom"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		families, ok := accepts(string(body))
		if !ok {
			t.Errorf("expfmt refuses %s", file)
			continue
		}
		if d := difference(string(body), families); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
}

// Pages made at random and pages damaged in a few bytes: wherever expfmt accepts
// one, the readings agree; where it does not, this reader must not fail.
func TestParsePageEqualsExpfmtOnRandomPages(t *testing.T) {
	const pages = 2000
	accepted := 0
	for seed := range uint64(pages) {
		r := rand.New(rand.NewPCG(seed, 7))
		text := randomPage(r)
		if seed%3 != 0 {
			text = damaged(r, text)
		}
		families, ok := accepts(text)
		if !ok {
			ParsePage([]byte(text))
			continue
		}
		accepted++
		if d := difference(text, families); d != "" {
			t.Fatalf("seed %d: %s\n%s", seed, d, text)
		}
	}
	if accepted < pages/3 {
		t.Errorf("expfmt accepted %d of %d pages: too few to compare", accepted, pages)
	}
}

func randomPage(r *rand.Rand) string {
	var b strings.Builder
	for i := range 1 + r.IntN(5) {
		name := fmt.Sprintf("%s%d", pick(r, "vllm:a", "b", "_c", "d_total", "e_count", "f_bucket"), i)
		kind := pick(r, "counter", "gauge", "untyped", "histogram", "summary", "HISTOGRAM", "")
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, "# HELP %s Some %s.\n", name, pick(r, "text", `back\\slash`, "  blanks "))
		}
		if kind != "" {
			fmt.Fprintf(&b, "%sTYPE %s\t%s\n", pick(r, "# ", "#", "#  "), name, kind)
		}
		for j := range 1 + r.IntN(3) {
			labels := fmt.Sprintf("engine=\"%d\"", j) + pick(r, "", ",", `,m="a\"b\\c\n"`, `, z = "}{,#"`, `,k="<&>é"`)
			writeFamily(&b, r, name, strings.ToLower(kind), labels)
		}
		b.WriteString(pick(r, "", "\n", "# a comment\n", "#\n", "# EOF\n", "  \n"))
	}
	return b.String()
}

func writeFamily(b *strings.Builder, r *rand.Rand, name, kind, labels string) {
	switch kind {
	case "histogram":
		for _, le := range []string{"0", "0.5", "1e3", "+Inf"} {
			fmt.Fprintf(b, "%s_bucket{%s,le=%q} %s\n", name, strings.TrimSuffix(labels, ","), le, pick(r, "0", "1", "2.5", "1e6"))
		}
		fmt.Fprintf(b, "%s_sum{%s} %s\n%s_count{%s} %d\n", name, labels, number(r), name, labels, r.IntN(9))
	case "summary":
		fmt.Fprintf(b, "%s{quantile=\"0.5\",%s} %s\n", name, labels, number(r))
		fmt.Fprintf(b, "%s_sum{%s} %s\n%s_count{%s} %d\n", name, labels, number(r), name, labels, r.IntN(9))
	default:
		fmt.Fprintf(b, "%s%s{%s}%s%s%s\n", pick(r, "", " "), name, labels, pick(r, " ", "", "\t "), number(r), pick(r, "", " 1712345678901"))
	}
}

func number(r *rand.Rand) string {
	return pick(r, "0", "1", "-2.5", "1e3", "NaN", "+Inf", "-Inf", "1.7976931348623157e308", "4e-320", strconv.Itoa(r.IntN(1000)))
}

func pick(r *rand.Rand, choices ...string) string { return choices[r.IntN(len(choices))] }

// damaged changes a few bytes of a page.
func damaged(r *rand.Rand, text string) string {
	const bytes = "{}\",=# \t\n0azE_:.+"
	b := []byte(text)
	for range 1 + r.IntN(3) {
		at, c := r.IntN(len(b)), bytes[r.IntN(len(bytes))]
		switch r.IntN(3) {
		case 0:
			b[at] = c
		case 1:
			b = slices.Insert(b, at, c)
		default:
			b = slices.Delete(b, at, at+1)
		}
		if len(b) == 0 {
			return ""
		}
	}
	return string(b)
}
