package recompute

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/klauspost/compress/zstd"
)

// published are the data files of the repository's finding.
func published(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("../../findings/*/data/*.parquet")
	if err != nil || len(names) == 0 {
		t.Fatalf("no published data: %v", err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		if out[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// readAll decodes every column of a file, or says at which one it stopped.
func readAll(data []byte) ([]*column, error) {
	r, err := newTableReader(data)
	if err != nil {
		return nil, err
	}
	defer r.close()
	var out []*column
	for i := range r.t.columns {
		c, err := r.column(i)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// TestReaderAgreesWithArrow decodes every published file by both readers.
func TestReaderAgreesWithArrow(t *testing.T) {
	for name, data := range published(t) {
		t.Run(name, func(t *testing.T) {
			columns, err := readAll(data)
			if err != nil {
				t.Fatal(err)
			}
			r, err := file.NewParquetReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			a, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
			if err != nil {
				t.Fatal(err)
			}
			want, err := a.ReadTable(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer want.Release()
			if int(want.NumCols()) != len(columns) {
				t.Fatalf("%d columns, Arrow reads %d", len(columns), want.NumCols())
			}
			for i, c := range columns {
				if c.name != want.Schema().Field(i).Name || len(c.null) != int(want.NumRows()) {
					t.Fatalf("column %d is %s of %d rows, Arrow reads %s of %d", i, c.name, len(c.null), want.Schema().Field(i).Name, want.NumRows())
				}
				sameValues(t, c, want.Column(i).Data())
			}
		})
	}
}

func sameValues(t *testing.T, c *column, want *arrow.Chunked) {
	t.Helper()
	row := 0
	for _, chunk := range want.Chunks() {
		for i := range chunk.Len() {
			same := c.null[row] == chunk.IsNull(i)
			if !chunk.IsNull(i) {
				switch values := chunk.(type) {
				case *array.Int64:
					same = same && c.wholes[row] == values.Value(i)
				case *array.Float64:
					same = same && math.Float64bits(c.nums[row]) == math.Float64bits(values.Value(i))
				case *array.Boolean:
					same = same && c.flags[row] == values.Value(i)
				case *array.String:
					same = same && c.texts[row] == values.Value(i)
				default:
					t.Fatalf("column %s is a %T", c.name, chunk)
				}
			}
			if !same {
				t.Fatalf("column %s, row %d differs", c.name, row)
			}
			row++
		}
	}
}

// TestReaderDecodesEveryWholeNumber writes hard numbers as the published form
// has them: every width of a difference, nulls, overflow of the differences.
func TestReaderDecodesEveryWholeNumber(t *testing.T) {
	rng := rand.New(rand.NewPCG(20261017, 3))
	var want []int64
	for i := range 3000 {
		want = append(want, int64(rng.Uint64()>>(i%64)), math.MinInt64, math.MaxInt64, -1, 0)
	}
	data := wholesFile(t, want, 7)
	columns, err := readAll(data)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range want {
		if null := i%7 == 0; columns[0].null[i] != null || !null && columns[0].wholes[i] != v {
			t.Fatalf("row %d: null %v, %d; want %d", i, columns[0].null[i], columns[0].wholes[i], v)
		}
	}
}

// wholesFile writes one column of whole numbers; every nth row is null.
func wholesFile(t testing.TB, values []int64, nth int) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	build := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer build.Release()
	column, ok := build.Field(0).(*array.Int64Builder)
	if !ok {
		t.Fatal("no column of whole numbers")
	}
	for i, v := range values {
		if i%nth == 0 {
			column.AppendNull()
			continue
		}
		column.Append(v)
	}
	batch := build.NewRecordBatch()
	defer batch.Release()
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &buf, parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithDictionaryDefault(false), parquet.WithEncodingFor("v", parquet.Encodings.DeltaBinaryPacked)), pqarrow.DefaultWriterProps())
	if err == nil {
		err = w.Write(batch)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestReaderSurvivesDamage flips, cuts and repeats bytes of published files. What
// counts is that each is an error or a decoded file, within the bounds.
func TestReaderSurvivesDamage(t *testing.T) {
	files := published(t)
	rng := rand.New(rand.NewPCG(20261017, 4))
	for _, name := range []string{"requests.parquet", "stops.parquet", "gpu.parquet", "cells.parquet", "problems.parquet"} {
		whole := files[name]
		noticed := 0
		for range 300 {
			data := bytes.Clone(whole)
			footer := len(data) - 8 - int(binary.LittleEndian.Uint32(data[len(data)-8:]))
			for range 1 + rng.IntN(3) {
				at := rng.IntN(len(data))
				if rng.IntN(2) == 0 {
					at = footer + rng.IntN(len(data)-footer)
				}
				switch rng.IntN(4) {
				case 0:
					data[at] ^= 1 << rng.IntN(8)
				case 1:
					data[at] = 0xff
				case 2:
					copy(data[at:], data[rng.IntN(len(data)):])
				default:
					data = append(data[:at:at], data[min(at+1+rng.IntN(64), len(data)):]...)
				}
				if len(data) < 12 {
					break
				}
				footer = min(footer, len(data)-1)
			}
			if _, err := readAll(data); err != nil {
				noticed++
			}
		}
		if noticed < 200 {
			t.Errorf("%s: only %d of 300 damages are noticed", name, noticed)
		}
	}
}

// FuzzReader holds that no input makes the reader panic.
func FuzzReader(f *testing.F) {
	for _, data := range published(f) {
		if len(data) < 8000 {
			f.Add(data)
		}
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = readAll(data) })
}

// forge builds a file of one column by hand.
type forge struct {
	rows, values, pageValues int64
	unpacked                 int64  // claimed of the page; 0 is the truth
	body                     []byte // of the page, before it is packed
	listed                   uint64 // elements the list of columns claims
}

func (f forge) file(t *testing.T) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := z.EncodeAll(f.body, nil)
	unpacked := f.unpacked
	if unpacked == 0 {
		unpacked = int64(len(f.body))
	}
	var page compact
	page.i32(1, pageData)
	page.i32(1, unpacked)
	page.i32(1, int64(len(packed)))
	page.field(2, thriftStruct)
	page.i32(1, f.pageValues)
	page.i32(1, encodingDelta)
	page.i32(1, encodingRLE)
	page.i32(1, encodingRLE)
	page.bytes = append(page.bytes, 0, 0)
	chunk := append(page.bytes, packed...)

	var c compact
	c.i32(1, 1)
	c.field(1, thriftList)
	if f.listed > 0 {
		c.bytes = binary.AppendUvarint(append(c.bytes, 0xfc), f.listed)
	} else {
		c.bytes = append(c.bytes, 0x2c)
	}
	c.field(4, thriftBinary)
	c.text("schema")
	c.i32(1, 1)
	c.bytes = append(c.bytes, 0)
	c.i32(1, 2)
	c.i32(2, optional)
	c.field(1, thriftBinary)
	c.text("v")
	c.bytes = append(c.bytes, 0)
	c.i64(1, f.rows)
	c.field(1, thriftList)
	c.bytes = append(c.bytes, 0x1c)
	c.field(1, thriftList)
	c.bytes = append(c.bytes, 0x1c)
	c.field(3, thriftStruct)
	c.i32(1, 2)
	c.i32(3, codecZstd)
	c.i64(1, f.values)
	c.i64(1, int64(len(chunk)))
	c.i64(1, int64(len(chunk)))
	c.i64(2, 4)
	c.bytes = append(c.bytes, 0, 0)
	c.i64(1, int64(len(chunk)))
	c.i64(1, f.rows)
	c.bytes = append(c.bytes, 0, 0)

	out := append([]byte("PAR1"), chunk...)
	out = append(out, c.bytes...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(c.bytes)))
	return append(out, "PAR1"...)
}

// compact writes Thrift's compact protocol; fields are given as steps.
type compact struct{ bytes []byte }

func (c *compact) field(step, kind byte) { c.bytes = append(c.bytes, step<<4|kind) }
func (c *compact) i32(step byte, v int64) {
	c.field(step, thriftI32)
	c.bytes = binary.AppendVarint(c.bytes, v)
}

func (c *compact) i64(step byte, v int64) {
	c.field(step, thriftI64)
	c.bytes = binary.AppendVarint(c.bytes, v)
}

func (c *compact) text(s string) {
	c.bytes = append(binary.AppendUvarint(c.bytes, uint64(len(s))), s...)
}

// deltaPage is a page of n times one value: a run of levels, then the header and
// blocks of the deltas.
func deltaPage(n uint64, deltas ...byte) []byte {
	levels := append(binary.AppendUvarint(nil, n<<1), 1)
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(levels)))
	return append(append(out, levels...), deltas...)
}

func numbers(values ...uint64) (out []byte) {
	for _, v := range values {
		out = binary.AppendUvarint(out, v)
	}
	return out
}

// TestReaderTrustsNoCount gives the reader files that claim more than they hold.
// Each is refused, and none makes it take memory for what is claimed.
func TestReaderTrustsNoCount(t *testing.T) {
	honest := forge{rows: 1, values: 1, pageValues: 1, body: deltaPage(1, numbers(128, 4, 1, 10)...)}
	if columns, err := readAll(honest.file(t)); err != nil || columns[0].wholes[0] != 5 {
		t.Fatalf("the honest file: %v, %v", columns, err)
	}
	const absurd = int64(1) << 40
	for name, f := range map[string]forge{
		"rows":                    {rows: absurd, values: absurd, pageValues: 1, body: honest.body},
		"rows below zero":         {rows: -1, values: -1, pageValues: -1, body: honest.body},
		"rows of nothing":         {rows: maxRows, values: maxRows, pageValues: maxRows, body: nil},
		"values":                  {rows: 1, values: absurd, pageValues: 1, body: honest.body},
		"values of a page":        {rows: 1, values: 1, pageValues: math.MaxInt32, body: honest.body},
		"bytes of a page":         {rows: 1, values: 1, pageValues: 1, body: honest.body, unpacked: math.MaxInt32},
		"fewer bytes of a page":   {rows: 1, values: 1, pageValues: 1, body: honest.body, unpacked: 3},
		"a bomb":                  {rows: 1, values: 1, pageValues: 1, body: make([]byte, 200<<20), unpacked: 100},
		"columns":                 {rows: 1, values: 1, pageValues: 1, body: honest.body, listed: math.MaxUint32},
		"a run of levels":         {rows: 1, values: 1, pageValues: 1, body: deltaPage(math.MaxUint32, numbers(128, 4, 1, 10)...)},
		"a block":                 {rows: 1, values: 1, pageValues: 1, body: deltaPage(1, numbers(math.MaxUint64, 4, 1, 10)...)},
		"parts of a block":        {rows: 1, values: 1, pageValues: 1, body: deltaPage(1, numbers(128, 1<<31, 1, 10)...)},
		"no parts of a block":     {rows: 1, values: 1, pageValues: 1, body: deltaPage(1, numbers(128, 0, 1, 10)...)},
		"numbers":                 {rows: 1, values: 1, pageValues: 1, body: deltaPage(1, numbers(128, 4, math.MaxUint64, 10)...)},
		"bits of a number":        {rows: 2, values: 2, pageValues: 2, body: deltaPage(2, append(numbers(128, 4, 2, 10, 0), 65, 0, 0, 0)...)},
		"bits that are not there": {rows: 2, values: 2, pageValues: 2, body: deltaPage(2, append(numbers(128, 4, 2, 10, 0), 64, 0, 0, 0)...)},
	} {
		t.Run(name, func(t *testing.T) {
			data := f.file(t)
			f.body = nil
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := readAll(data)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("the file is read")
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 64<<20 {
				t.Errorf("%d bytes were taken", taken)
			}
		})
	}
}

func TestThriftIsReadAsDeepAsParquetGoes(t *testing.T) {
	nested := append(bytes.Repeat([]byte{0x1c}, 200), make([]byte, 201)...)
	if _, _, err := decodeThrift(nested); err == nil {
		t.Error("200 structs inside each other are read")
	}
	if _, _, err := decodeThrift([]byte{0x15, 2, 0x05, 2, 4, 0}); err == nil {
		t.Error("a field that stands twice is read")
	}
	got, used, err := decodeThrift([]byte{0x15, 3, 0x19, 0x21, 1, 2, 0x17, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0})
	flags, _ := got[2].([]any)
	if err != nil || used != 16 || got[1] != int32(-2) || !slices.Equal(flags, []any{true, false}) || got[3] != 1.0 {
		t.Errorf("got %v after %d bytes, %v", got, used, err)
	}
}

func TestProblemsOfACheckAreBounded(t *testing.T) {
	p := &problems{code: "V-16", folder: "f"}
	for i := range 3 * mostProblems {
		p.add("data/x", "%d", i)
	}
	all := p.all()
	if len(all) != mostProblems+1 || all[mostProblems].Detail != "and 200 more problems of this check" {
		t.Errorf("%d problems, the last %v", len(all), all[len(all)-1])
	}
}
