package cli

import (
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// text is a database value for people: numbers in full, times in UTC, bytes in
// hex, nested values as JSON.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return hex.EncodeToString(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []any, map[string]any:
		if encoded, err := json.Marshal(plain(v)); err == nil {
			return string(encoded)
		}
	}
	return fmt.Sprint(v)
}

// plain is a value that encoding/json can write without changing it. JSON has
// no NaN and no infinity, so those are their names.
func plain(v any) any {
	switch v := v.(type) {
	case nil, bool, string, int8, int16, int32, int64, uint8, uint16, uint32, uint64:
		return v
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return text(v)
		}
		return v
	case fmt.Stringer: // wide integers and decimals, digit for digit
		if number := json.Number(v.String()); isNumber(string(number)) {
			return number
		}
		return v.String()
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key := range v {
			object[key] = plain(v[key])
		}
		return object
	}
	return text(v)
}

func isNumber(s string) bool {
	var number json.Number
	return json.Unmarshal([]byte(s), &number) == nil && s != ""
}

// writeTable aligns the columns and ends with the number of rows.
func writeTable(w io.Writer, g grid) error {
	columns := g.columns()
	widths := make([]int, len(columns))
	for i, name := range g.names {
		widths[i] = utf8.RuneCountInString(name)
		for r, t := range columns[i] {
			// A line break inside a value would break the table.
			columns[i][r] = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(t)
			widths[i] = max(widths[i], utf8.RuneCountInString(columns[i][r]))
		}
	}
	line := func(cell func(i int) string) error {
		var b strings.Builder
		for i := range columns {
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(cell(i) + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell(i))))
		}
		return printf(w, "%s\n", strings.TrimRight(b.String(), " "))
	}
	if err := line(func(i int) string { return g.names[i] }); err != nil {
		return err
	}
	if err := line(func(i int) string { return strings.Repeat("-", widths[i]) }); err != nil {
		return err
	}
	for r := range g.rows {
		if err := line(func(i int) string { return columns[i][r] }); err != nil {
			return err
		}
	}
	return printf(w, "(%d rows)\n", len(g.rows))
}

// writeCSV prints a header line; null is an empty field.
func writeCSV(w io.Writer, g grid) error {
	out := csv.NewWriter(w)
	if err := out.Write(g.names); err != nil {
		return err
	}
	for _, row := range g.rows {
		record := make([]string, len(row))
		for i, v := range row {
			if v != nil {
				record[i] = text(v)
			}
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// writeJSON prints a list of objects whose keys keep the order of the columns.
func writeJSON(w io.Writer, g grid) error {
	var b strings.Builder
	b.WriteString("[")
	for r, row := range g.rows {
		if r > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n  {")
		for i, v := range row {
			name, err := json.Marshal(g.names[i])
			if err != nil {
				return err
			}
			value, err := json.Marshal(plain(v))
			if err != nil {
				return err
			}
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s: %s", name, value)
		}
		b.WriteString("}")
	}
	b.WriteString("\n]\n")
	_, err := io.WriteString(w, b.String())
	return err
}
