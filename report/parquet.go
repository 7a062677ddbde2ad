package report

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// dataSchema names the form of the published tables.
const dataSchema = "assay/data/v1"

// unitSuffixes says the unit a column's name ends in.
var unitSuffixes = []struct{ suffix, unit string }{
	{"_unix_ns", "ns since 1970 UTC"}, {"_ns", "ns"}, {"_us", "µs"}, {"_kb_s", "KB/s"}, {"_s", "s"}, {"_bytes", "B"}, {"_tokens", "tokens"},
	{"_chars", "characters"}, {"_percent", "%"}, {"_mw", "mW"}, {"_mj", "mJ"}, {"_mhz", "MHz"}, {"_c", "°C"}, {"_words", "words"},
}

// UnitOf returns the unit that a published column's name says, as in columns.json;
// empty for texts, flags and plain counts.
func UnitOf(column string) string { return unitOf(column) }

// unitOf returns the unit of a column by its name, empty for texts, flags and
// plain counts.
func unitOf(column string) string {
	if strings.HasSuffix(column, "tok_s") {
		return "tok/s"
	}
	for _, u := range unitSuffixes {
		if strings.HasSuffix(column, u.suffix) {
			return u.unit
		}
	}
	return ""
}

// writeParquet encodes a result. Integers are delta-encoded and nothing has a
// dictionary: with one, arrow-go writes the footer of a column that falls back
// from it in map order, and the bytes would differ between runs.
func writeParquet(r *result, meta map[string]string) ([]byte, error) {
	fields := make([]arrow.Field, len(r.columns))
	props := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithDictionaryDefault(false),
		parquet.WithCreatedBy("assay"),
	}
	all := maps.Clone(meta)
	for i, name := range r.columns {
		kind, err := arrowType(r.types[i])
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
		fields[i] = arrow.Field{Name: name, Type: kind, Nullable: true}
		if kind == arrow.PrimitiveTypes.Int64 {
			props = append(props, parquet.WithEncodingFor(name, parquet.Encodings.DeltaBinaryPacked))
		}
		if unit := unitOf(name); unit != "" {
			all["unit."+name] = unit
		}
	}
	keys := slices.Sorted(maps.Keys(all))
	values := make([]string, len(keys))
	for i, k := range keys {
		values[i] = all[k]
	}
	sorted := arrow.NewMetadata(keys, values)
	schema := arrow.NewSchema(fields, &sorted)
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &buf, parquet.NewWriterProperties(props...),
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return nil, fmt.Errorf("start parquet: %w", err)
	}
	if err := writeRows(w, schema, r); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("finish parquet: %w", err)
	}
	return buf.Bytes(), nil
}

func writeRows(w *pqarrow.FileWriter, schema *arrow.Schema, r *result) error {
	if len(r.rows) == 0 {
		return nil
	}
	build := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer build.Release()
	for _, row := range r.rows {
		for i, v := range row {
			if err := appendValue(build.Field(i), v); err != nil {
				return fmt.Errorf("column %s: %w", r.columns[i], err)
			}
		}
	}
	batch := build.NewRecordBatch()
	defer batch.Release()
	if err := w.Write(batch); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return nil
}

func arrowType(duck string) (arrow.DataType, error) {
	switch duck {
	case "BIGINT":
		return arrow.PrimitiveTypes.Int64, nil
	case "DOUBLE":
		return arrow.PrimitiveTypes.Float64, nil
	case "BOOLEAN":
		return arrow.FixedWidthTypes.Boolean, nil
	case "VARCHAR":
		return arrow.BinaryTypes.String, nil
	}
	return nil, fmt.Errorf("type %s is not published", duck)
}

func appendValue(b array.Builder, v any) error {
	if v == nil {
		b.AppendNull()
		return nil
	}
	switch b := b.(type) {
	case *array.Int64Builder:
		if n, ok := v.(int64); ok {
			b.Append(n)
			return nil
		}
	case *array.Float64Builder:
		if f, ok := v.(float64); ok {
			b.Append(f)
			return nil
		}
	case *array.BooleanBuilder:
		if t, ok := v.(bool); ok {
			b.Append(t)
			return nil
		}
	case *array.StringBuilder:
		if s, ok := v.(string); ok {
			b.Append(s)
			return nil
		}
	}
	return fmt.Errorf("a %T in a column of type %s", v, b.Type())
}
