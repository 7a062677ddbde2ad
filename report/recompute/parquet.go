package recompute

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Bounds of what is decoded of one data file, whatever it claims. A file is at
// most a megabyte on disk (V-06), so they are reached by hostile files only.
const (
	maxRows       = 2 << 20   // rows
	maxValues     = 64 << 20  // rows times columns
	maxPageBytes  = 16 << 20  // one page, unpacked
	maxTableBytes = 256 << 20 // all pages, unpacked
	maxColumns    = 200
)

// kind is the type of a published column, by DuckDB's name of it.
type kind string

// The four types that are published, and their numbers in Parquet.
const (
	kindFlag   kind = "BOOLEAN"
	kindWhole  kind = "BIGINT"
	kindNumber kind = "DOUBLE"
	kindText   kind = "VARCHAR"
)

var physical = map[int64]kind{0: kindFlag, 2: kindWhole, 5: kindNumber, 6: kindText}

// Numbers of Parquet's format
// (https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift).
const (
	codecZstd     = 6
	encodingPlain = 0
	encodingRLE   = 3
	encodingDelta = 5
	pageData      = 0
	optional      = 1
)

// table is a data file's description of itself.
type table struct {
	rows    int64
	meta    map[string]string
	columns []columnForm
	groups  []rowGroup
}

type columnForm struct {
	name string
	kind kind
}

type rowGroup struct {
	rows   int64
	chunks []chunk // one for each column, in their order
}

// chunk is where the pages of a column are in the file.
type chunk struct{ from, to int64 }

var errForm = errors.New("not in the form that is published")

// describe reads the footer of a Parquet file of the one form that is published:
// flat optional columns of four types, zstd, no dictionary, no encryption. Any
// other form is an error, and so is a count that the file could not hold.
func describe(file []byte) (table, error) {
	const ends = 4 + 4 + 4 // the magic on both sides, the footer's length
	if len(file) < ends || string(file[:4]) != "PAR1" || string(file[len(file)-4:]) != "PAR1" {
		return table{}, errors.New("no Parquet file: the magic bytes are not there")
	}
	size := int64(binary.LittleEndian.Uint32(file[len(file)-8:]))
	start := int64(len(file)) - 8 - size
	if start < 4 {
		return table{}, errors.New("the footer is longer than the file")
	}
	footer, used, err := decodeThrift(file[start : len(file)-8])
	if err != nil || int64(used) != size {
		return table{}, fmt.Errorf("the footer: %w", errThrift)
	}
	t := table{meta: map[string]string{}}
	if err := t.schema(footer); err != nil {
		return table{}, err
	}
	if err := t.metadata(footer); err != nil {
		return table{}, err
	}
	return t, t.rowGroups(footer, start)
}

// schema reads the list of columns: a root, then nothing but leaves.
func (t *table) schema(footer tree) error {
	list, ok := footer.trees(2)
	if !ok || len(list) < 2 || len(list) > maxColumns+1 {
		return fmt.Errorf("the list of columns: %w", errForm)
	}
	if n, _ := list[0].i32(5); n != int64(len(list)-1) {
		return fmt.Errorf("the root has %d columns, %d are listed", n, len(list)-1)
	}
	seen := map[string]bool{}
	for _, e := range list[1:] {
		number, typed := e.i32(1)
		repetition, _ := e.i32(3)
		c := columnForm{name: e.text(4), kind: physical[number]}
		if _, nested := e[5]; nested || !typed || c.kind == "" || repetition != optional || c.name == "" || seen[c.name] {
			return fmt.Errorf("column %q: %w", c.name, errForm)
		}
		seen[c.name] = true
		t.columns = append(t.columns, c)
	}
	return nil
}

func (t *table) metadata(footer tree) error {
	pairs, _ := footer.trees(5)
	for _, p := range pairs {
		key := p.text(1)
		if _, twice := t.meta[key]; twice {
			return fmt.Errorf("metadata %q stands twice", key)
		}
		t.meta[key] = p.text(2)
	}
	return nil
}

func (t *table) rowGroups(footer tree, end int64) error {
	var ok bool
	if t.rows, ok = footer.i64(3); !ok || t.rows < 0 || t.rows > maxRows || t.rows*int64(len(t.columns)) > maxValues {
		return fmt.Errorf("claims %d rows of %d columns, more than a file of this size may", t.rows, len(t.columns))
	}
	groups, _ := footer.trees(4)
	rows, at := int64(0), int64(4)
	for _, g := range groups {
		n, _ := g.i64(3)
		chunks, _ := g.trees(1)
		if n <= 0 || n > t.rows || len(chunks) != len(t.columns) {
			return fmt.Errorf("a row group of %d rows and %d columns: %w", n, len(chunks), errForm)
		}
		rows += n
		group := rowGroup{rows: n}
		for i, c := range chunks {
			placed, err := t.chunk(c, i, n, at, end)
			if err != nil {
				return fmt.Errorf("column %s: %w", t.columns[i].name, err)
			}
			at = placed.to
			group.chunks = append(group.chunks, placed)
		}
		t.groups = append(t.groups, group)
	}
	if rows != t.rows {
		return fmt.Errorf("claims %d rows, its row groups have %d", t.rows, rows)
	}
	return nil
}

// chunk reads where one column of a row group is. Chunks follow each other, so
// that no part of the file is decoded twice.
func (t *table) chunk(c tree, i int, rows, from, end int64) (chunk, error) {
	_, elsewhere := c[1]
	meta, _ := c[3].(tree)
	number, typed := meta.i32(1)
	codec, coded := meta.i32(4)
	values, _ := meta.i64(5)
	size, _ := meta.i64(7)
	offset, _ := meta.i64(9)
	_, dictionary := meta[11]
	switch {
	case elsewhere || dictionary || !typed || !coded || codec != codecZstd || physical[number] != t.columns[i].kind:
		return chunk{}, errForm
	case values != rows:
		return chunk{}, fmt.Errorf("claims %d values in %d rows", values, rows)
	case offset < from || size <= 0 || offset > end || size > end-offset:
		return chunk{}, errors.New("lies outside the file")
	}
	return chunk{offset, offset + size}, nil
}
