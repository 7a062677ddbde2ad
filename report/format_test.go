package report

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

func TestFormatValue(t *testing.T) {
	for _, row := range []struct {
		value any
		unit  string
		want  string
	}{
		{nil, "ns", "—"}, {int64(0), "", "0"}, {int64(304491), "tokens", "304,491"}, {int64(-393216), "tokens", "-393,216"},
		{int64(640), "ns", "640 ns"}, {int64(812_345_678), "ns", "812.3 ms"}, {int64(1_234_567_890), "ns", "1.235 s"}, {float64(999_960_000), "ns", "1.000 s"},
		{int64(0), "ns", "0 s"}, {float64(57.3142), "tok/s", "57.31"}, {float64(12914.2), "tok/s", "12,910"}, {float64(0.98765), "share", "98.77 %"},
		{float64(4.7566), "contexts", "4.76"}, {float64(1), "contexts", "1.00"}, {int64(96) << 30, "B", "96.00 GiB"}, {int64(1), "B", "1 B"}, {float64(2.25), "s", "2.250 s"},
		{float64(0.004), "s", "4.000 ms"}, {math.Inf(1), "s", "∞"}, {math.NaN(), "", "NaN"}, {float64(123456), "rounds", "123,456"}, {true, "", "yes"}, {"text", "", "text"}, {float64(2493817), "tokens", "2,493,817"},
	} {
		if got := strings.ReplaceAll(formatValue(row.value, row.unit), space, " "); got != row.want {
			t.Errorf("formatValue(%v, %q) = %q, want %q", row.value, row.unit, got, row.want)
		}
	}
}

func TestNoteMarksGoOnAfterZ(t *testing.T) {
	for i, want := range map[int]string{0: "(a)", 25: "(z)", 26: "(aa)", 52: "(ba)"} {
		if got := noteMark(i); got != want {
			t.Errorf("noteMark(%d) = %s, want %s", i, got, want)
		}
	}
}

func TestLiteralEscapesOnlyWhatIsActive(t *testing.T) {
	for in, want := range map[string]string{
		"1.627 s": "1.627 s", "-102.0 ms": "-102.0 ms", "prompt_tokens": "prompt_tokens", "a|b": `a\|b`, "- item": `\- item`, "3. item": `3\. item`,
		"x*y": `x\*y`, "a\nb": "a b", "http://x": `http\://x`, "_em_": `\_em\_`,
	} {
		if got := literal(in); got != want {
			t.Errorf("literal(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTicks(t *testing.T) {
	labels := func(ticks []plot.Tick) string {
		var out []string
		for _, k := range ticks {
			if k.Label != "" {
				out = append(out, k.Label)
			}
		}
		return strings.Join(out, " ")
	}
	for _, row := range []struct {
		ticks []plot.Tick
		want  string
	}{
		{niceTicks{5}.Ticks(0, 10), "0 2 4 6 8 10"}, {niceTicks{5}.Ticks(0, 0.03), "0 0.01 0.02 0.03"}, {niceTicks{5}.Ticks(0, 23000), "0 5,000 10,000 15,000 20,000"},
		{niceTicks{5}.Ticks(3, 3), "3"}, {logTicks{}.Ticks(0.15, 12), "0.2 0.5 1 2 5 10"}, {logTicks{}.Ticks(1, 1e5), "1 10 100 1,000 10,000 100,000"},
	} {
		if got := labels(row.ticks); got != row.want {
			t.Errorf("ticks %q, want %q", got, row.want)
		}
	}
	if low, high := logRange(5, 5); !(low > 0 && low < 5 && high > 5 && high/low >= 4) {
		t.Errorf("logRange(5, 5) = %g, %g", low, high)
	}
}
