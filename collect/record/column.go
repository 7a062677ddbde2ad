package record

import (
	"fmt"
	"reflect"
	"strings"
)

// SchemaVersion is written into every file of a run directory. It is raised
// when a column changes its meaning; adding a column does not raise it.
const SchemaVersion = "assay/run/v1"

// Kind says what sort of raw fact a column holds. The set is closed: a column
// that fits none of these is derived and does not belong in a run directory.
type Kind string

// The kinds of raw facts.
const (
	KindKey     Kind = "key"     // names the row
	KindClock   Kind = "clock"   // a clock reading, or the distance of one from the request's start
	KindBytes   Kind = "bytes"   // bytes as they came over the wire, or a text taken from them
	KindCount   Kind = "count"   // something counted while it happened
	KindReading Kind = "reading" // a value read from the operating system, a device or an engine
	KindSetting Kind = "setting" // a choice of the collector or the plan
	KindCode    Kind = "code"    // a word of a closed list saying how an operation ended
	KindDigest  Kind = "digest"  // a hash of bytes that are not stored here
)

// Column describes one column of a table.
type Column struct {
	Name     string
	Type     string // DuckDB type: BIGINT, DOUBLE, BOOLEAN, VARCHAR or BLOB
	Kind     Kind
	Unit     string // empty for text, flags and plain counts
	Comment  string
	Nullable bool
	field    int
}

// Table describes one kind of row. T is a flat struct; its pointer fields are
// the nullable columns.
type Table[T any] struct {
	Name    string // file name without ".parquet"
	Comment string
	Columns []Column
	frame   byte
}

// Described is what documentation, DDL and schema checks need of a table.
type Described interface {
	TableName() string
	TableComment() string
	TableColumns() []Column
}

// TableName is the file name without its ending.
func (t *Table[T]) TableName() string { return t.Name }

// TableComment says what one row is.
func (t *Table[T]) TableComment() string { return t.Comment }

// TableColumns lists the columns in file order.
func (t *Table[T]) TableColumns() []Column { return t.Columns }

// newTable reads the column tags of T. A wrong tag is a programming error and
// panics at start-up, so every test run would meet it.
func newTable[T any](name string, frame byte, comment string) *Table[T] {
	row := reflect.TypeFor[T]()
	table := &Table[T]{Name: name, Comment: comment, frame: frame}
	for i := range row.NumField() {
		field := row.Field(i)
		column := Column{
			Name:    field.Tag.Get("col"),
			Kind:    Kind(field.Tag.Get("kind")),
			Unit:    field.Tag.Get("unit"),
			Comment: field.Tag.Get("doc"),
			field:   i,
		}
		column.Type, column.Nullable = duckType(field.Type)
		if column.Name == "" || column.Comment == "" || column.Type == "" {
			panic(fmt.Sprintf("record: %s.%s lacks a name, a comment or a storable type", row.Name(), field.Name))
		}
		table.Columns = append(table.Columns, column)
	}
	return table
}

func duckType(t reflect.Type) (name string, nullable bool) {
	if t.Kind() == reflect.Pointer {
		name, _ = duckType(t.Elem())
		return name, true
	}
	switch t.Kind() {
	case reflect.Int64:
		return "BIGINT", false
	case reflect.Float64:
		return "DOUBLE", false
	case reflect.Bool:
		return "BOOLEAN", false
	case reflect.String:
		return "VARCHAR", false
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "BLOB", true
		}
	}
	return "", false
}

// DDL returns the CREATE TABLE statement of a described table, with extra
// leading key columns such as campaign, arm, cell and attempt.
func DDL(t Described, keys ...Column) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (", t.TableName())
	for i, c := range append(append([]Column{}, keys...), t.TableColumns()...) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", c.Name, c.Type)
		if !c.Nullable {
			b.WriteString(" NOT NULL")
		}
	}
	b.WriteString(");")
	return b.String()
}
