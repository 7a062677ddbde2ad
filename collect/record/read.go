package record

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// ReadTable reads a table's file of an attempt folder, whole. It is for small
// tables; the database reads the large ones.
func ReadTable[T any](folder string, t *Table[T]) (rows []T, err error) {
	in, err := file.OpenParquetFile(filepath.Join(folder, t.Name+".parquet"), false)
	if err != nil {
		return nil, fmt.Errorf("open %s.parquet: %w", t.Name, err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	reader, err := pqarrow.NewFileReader(in, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return nil, fmt.Errorf("read %s.parquet: %w", t.Name, err)
	}
	table, err := reader.ReadTable(context.Background())
	if err != nil {
		return nil, fmt.Errorf("read %s.parquet: %w", t.Name, err)
	}
	defer table.Release()
	rows = make([]T, table.NumRows())
	for _, c := range t.Columns {
		at := table.Schema().FieldIndices(c.Name)
		if len(at) == 0 {
			continue // an older file does not have the column
		}
		row := 0
		for _, chunk := range table.Column(at[0]).Data().Chunks() {
			for i := range chunk.Len() {
				if err := setValue(reflect.ValueOf(&rows[row]).Elem().Field(c.field), chunk, i); err != nil {
					return nil, fmt.Errorf("read %s.parquet, column %s: %w", t.Name, c.Name, err)
				}
				row++
			}
		}
	}
	return rows, nil
}

var errColumnType = errors.New("the column has another type")

// setValue copies one value of an Arrow column into a field; null stays nil.
func setValue(field reflect.Value, column arrow.Array, i int) error {
	if column.IsNull(i) {
		return nil
	}
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	switch values := column.(type) {
	case *array.Int64:
		if field.Kind() == reflect.Int64 {
			field.SetInt(values.Value(i))
			return nil
		}
	case *array.Float64:
		if field.Kind() == reflect.Float64 {
			field.SetFloat(values.Value(i))
			return nil
		}
	case *array.Boolean:
		if field.Kind() == reflect.Bool {
			field.SetBool(values.Value(i))
			return nil
		}
	case *array.String:
		if field.Kind() == reflect.String {
			field.SetString(values.Value(i))
			return nil
		}
	case *array.Binary:
		if field.Kind() == reflect.Slice {
			field.SetBytes(append([]byte{}, values.Value(i)...))
			return nil
		}
	}
	return errColumnType
}
