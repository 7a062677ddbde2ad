package record

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// Row groups end after this many rows or bytes, whichever comes first: a group
// is held in memory by whoever writes or reads it. Within a group the bytes of
// one column are compressed together, which is what makes metrics pages cheap:
// hundreds fit into a group, and of a page only what differs from the ones before
// takes room.
const (
	groupRows  = 1 << 17
	groupBytes = 64 << 20
)

// Writer writes rows of one table to a Parquet file. Integers are
// delta-encoded and nothing is dictionary-encoded: arrow-go writes the footer
// of a column that falls back from its dictionary in map order, so the bytes
// would differ between runs.
type Writer[T any] struct {
	table *Table[T]
	out   *pqarrow.FileWriter
	build *array.RecordBuilder
	rows  int64
	bytes int64
}

// NewWriter starts a Parquet file on w. meta is kept in the file's key-value
// metadata beside the schema version and the units.
func NewWriter[T any](w io.Writer, t *Table[T], meta map[string]string) (*Writer[T], error) {
	schema := arrowSchema(t, meta)
	props := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithDictionaryDefault(false),
		parquet.WithCreatedBy("assay"),
		parquet.WithMaxRowGroupLength(groupRows),
	}
	for _, c := range t.Columns {
		if c.Type == "BIGINT" {
			props = append(props, parquet.WithEncodingFor(c.Name, parquet.Encodings.DeltaBinaryPacked))
		}
	}
	out, err := pqarrow.NewFileWriter(schema, w, parquet.NewWriterProperties(props...),
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return nil, fmt.Errorf("start parquet %s: %w", t.Name, err)
	}
	return &Writer[T]{table: t, out: out, build: array.NewRecordBuilder(memory.DefaultAllocator, schema)}, nil
}

// Write adds rows; they reach the file at the end of their row group.
func (w *Writer[T]) Write(rows []T) error {
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		for j, c := range w.table.Columns {
			w.bytes += appendArrow(w.build.Field(j), row.Field(c.field))
		}
		w.rows++
		if w.rows >= groupRows || w.bytes >= groupBytes {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close writes the last row group and the footer. It does not close the
// underlying file.
func (w *Writer[T]) Close() error {
	defer w.build.Release()
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.out.Close(); err != nil {
		return fmt.Errorf("finish parquet %s: %w", w.table.Name, err)
	}
	return nil
}

func (w *Writer[T]) flush() error {
	if w.rows == 0 {
		return nil
	}
	batch := w.build.NewRecordBatch()
	defer batch.Release()
	w.rows, w.bytes = 0, 0
	if err := w.out.Write(batch); err != nil {
		return fmt.Errorf("write parquet %s: %w", w.table.Name, err)
	}
	return nil
}

func arrowSchema[T any](t *Table[T], meta map[string]string) *arrow.Schema {
	fields := make([]arrow.Field, len(t.Columns))
	for i, c := range t.Columns {
		fields[i] = arrow.Field{
			Name: c.Name, Type: arrowType(c.Type), Nullable: c.Nullable,
			Metadata: arrow.MetadataFrom(map[string]string{"unit": c.Unit}),
		}
	}
	all := map[string]string{"assay.schema": SchemaVersion, "assay.table": t.Name}
	maps.Copy(all, meta)
	for _, c := range t.Columns {
		if c.Unit != "" {
			all["unit."+c.Name] = c.Unit
		}
	}
	keys := slices.Sorted(maps.Keys(all))
	values := make([]string, len(keys))
	for i, k := range keys {
		values[i] = all[k]
	}
	sorted := arrow.NewMetadata(keys, values)
	return arrow.NewSchema(fields, &sorted)
}

func arrowType(duck string) arrow.DataType {
	switch duck {
	case "BIGINT":
		return arrow.PrimitiveTypes.Int64
	case "DOUBLE":
		return arrow.PrimitiveTypes.Float64
	case "BOOLEAN":
		return arrow.FixedWidthTypes.Boolean
	case "VARCHAR":
		return arrow.BinaryTypes.String
	default:
		return arrow.BinaryTypes.Binary
	}
}

// appendArrow adds one value to its builder and returns the bytes it weighs.
func appendArrow(b array.Builder, v reflect.Value) int64 {
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice {
		if v.IsNil() {
			b.AppendNull()
			return 1
		}
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch b := b.(type) {
	case *array.Int64Builder:
		b.Append(v.Int())
	case *array.Float64Builder:
		b.Append(v.Float())
	case *array.BooleanBuilder:
		b.Append(v.Bool())
	case *array.StringBuilder:
		b.Append(v.String())
		return int64(v.Len())
	case *array.BinaryBuilder:
		b.Append(v.Bytes())
		return int64(v.Len())
	}
	return 8
}
