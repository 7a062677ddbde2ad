package report

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// missing is printed where there is no value. It is never a zero.
const missing = "—"

// space stands between a number and its unit; no line breaks there.
const space = "\u00a0"

// figures is the number of significant figures of a rounded number.
const figures = 4

// scale is one step of a unit that is printed with a prefix.
type scale struct {
	factor float64
	name   string
}

// scales lists the units that are scaled for print, smallest step first. Other
// units are printed as they are, and the table's head or the sentence names them.
var scales = map[string][]scale{
	"ns": {{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}},
	"B":  {{1, "B"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}, {1 << 40, "TiB"}},
	"mW": {{1, "mW"}, {1e3, "W"}},
	"mJ": {{1, "mJ"}, {1e3, "J"}, {1e6, "kJ"}},
	"s":  {{1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}},
}

// shownUnits are printed behind the number.
var shownUnits = map[string]string{"%": space + "%", "MHz": space + "MHz", "°C": space + "°C"}

// counted are the units of things that come whole: however many, all digits are
// printed.
var counted = map[string]bool{"tokens": true, "requests": true, "blocks": true, "events": true, "rounds": true}

// formatValue writes a value for a reader: whole numbers with thousands
// separators, times and sizes in the unit that fits, everything else to four
// significant figures. A missing value is a dash.
func formatValue(v any, unit string) string {
	switch v := v.(type) {
	case int64:
		if steps, ok := scales[unit]; ok {
			return scaled(float64(v), steps)
		}
		return grouped(strconv.FormatInt(v, 10)) + shownUnits[unit]
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN"
		case math.IsInf(v, 1):
			return "∞"
		case math.IsInf(v, -1):
			return "-∞"
		}
		if steps, ok := scales[unit]; ok {
			return scaled(v, steps)
		}
		switch unit {
		case "share":
			return rounded(v*100) + space + "%"
		case "contexts": // a pool in windows: two decimals, as capacity is stated
			return grouped(strconv.FormatFloat(v, 'f', 2, 64))
		}
		if v == math.Trunc(v) && math.Abs(v) < 1e15 && counted[unit] {
			return grouped(strconv.FormatFloat(v, 'f', 0, 64))
		}
		return rounded(v) + shownUnits[unit]
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case string:
		return v
	}
	return missing
}

// scaled picks the largest step that leaves at least one before the point.
func scaled(v float64, steps []scale) string {
	if v == 0 {
		return "0" + space + steps[len(steps)-1].name
	}
	pick := steps[0]
	for _, s := range steps {
		if math.Abs(significant(v/s.factor)) >= 1 {
			pick = s
		}
	}
	if pick.factor == 1 && v == math.Trunc(v) {
		return grouped(strconv.FormatFloat(v, 'f', 0, 64)) + space + pick.name
	}
	return rounded(v/pick.factor) + space + pick.name
}

// significant rounds to the printed figures.
func significant(v float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', figures-1, 64), 64)
	if err != nil {
		return v
	}
	return out
}

// rounded writes a number to four significant figures without an exponent.
func rounded(v float64) string {
	v = significant(v)
	if v == 0 {
		return "0"
	}
	decimals := figures - 1 - int(math.Floor(math.Log10(math.Abs(v))))
	return grouped(strconv.FormatFloat(v, 'f', min(max(decimals, 0), 12), 64))
}

// grouped puts a comma between thousands.
func grouped(digits string) string {
	sign, whole, fraction := "", digits, ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	if i := strings.IndexByte(whole, '.'); i >= 0 {
		whole, fraction = whole[:i], whole[i:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return sign + whole + fraction
}

// rawText is the exact value as text: the form of tables, keys and claims.
func rawText(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case string:
		return v
	}
	return ""
}

// instant writes a wall clock reading in UTC, to the second.
func instant(unixNs int64) string {
	return time.Unix(0, unixNs).UTC().Format("2006-01-02 15:04:05 UTC")
}
