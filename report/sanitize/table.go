package sanitize

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// Table is what a data file holds as text.
type Table struct {
	Notes   []Column // its metadata: of the file, of its columns
	Columns []Column // every column of bytes
}

// Column is the texts of one column, in the order of the rows; empty for null.
type Column struct {
	Name  string
	Texts []string
	// Extremes are texts that a file keeps of a column beside its rows.
	Extremes []string
}

// TableReader reads a Parquet file. An error means that not all of the file can
// be looked into.
type TableReader func(file []byte) (Table, error)

// Bounds of what ReadTable unpacks, whatever a file claims.
const (
	maxRows     = 4 << 20
	maxUnpacked = 256 << 20 // bytes
)

// ReadTable decodes the texts of a Parquet file of any encoding and compression.
// Bytes that belong to no page and no footer are an error: nothing reads them,
// so anything could be there.
func ReadTable(data []byte) (t Table, err error) {
	defer func() {
		if r := recover(); r != nil { // the library panics on some damaged pages
			t, err = Table{}, errUnreadable
		}
	}()
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		return Table{}, fmt.Errorf("read table: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	meta := r.MetaData()
	if r.NumRows() > maxRows {
		return Table{}, errUnreadable
	}
	if err := whole(meta, int64(len(data))); err != nil {
		return Table{}, err
	}
	t.Notes = []Column{{Name: "created_by", Texts: []string{meta.GetCreatedBy()}}}
	for _, kv := range meta.KeyValueMetadata() {
		t.Notes = append(t.Notes, Column{Name: kv.Key, Texts: []string{kv.GetValue()}})
	}
	for i := range meta.Schema.NumColumns() {
		c := Column{Name: meta.Schema.Column(i).Path()}
		for g := range r.NumRowGroups() {
			if err := readChunk(r.RowGroup(g), i, &c); err != nil {
				return Table{}, fmt.Errorf("read table: %w", err)
			}
		}
		t.Columns = append(t.Columns, c)
	}
	return t, nil
}

// whole says that pages and footer are all there is of a file, and that what it
// claims to unpack to is within the bounds.
func whole(meta *metadata.FileMetaData, size int64) error {
	const ends = 4 + 4 + 4 // the magic on both sides, the footer's length
	at, unpacked := int64(4), int64(0)
	for g := range meta.NumRowGroups() {
		group := meta.RowGroup(g)
		for i := range group.NumColumns() {
			c, err := group.ColumnChunk(i)
			if err != nil || c.FilePath() != "" {
				return errUnreadable
			}
			from := c.DataPageOffset()
			if c.HasDictionaryPage() {
				from = c.DictionaryPageOffset()
			}
			unpacked += c.TotalUncompressedSize()
			switch {
			case from < at || c.TotalCompressedSize() <= 0 || unpacked > maxUnpacked:
				return errUnreadable
			case from > at:
				return errHidden
			}
			at += c.TotalCompressedSize()
		}
	}
	if at+int64(meta.Size())+ends-4 < size {
		return errHidden
	}
	return nil
}

// readChunk adds the texts of one column of one row group, and those of its
// statistics to the end. Columns of numbers and flags have none.
func readChunk(group *file.RowGroupReader, i int, c *Column) error {
	meta, err := group.MetaData().ColumnChunk(i)
	if err != nil {
		return err
	}
	if kind := meta.Type(); kind != parquet.Types.ByteArray && kind != parquet.Types.FixedLenByteArray && kind != parquet.Types.Int96 {
		return nil
	}
	column, err := group.Column(i)
	if err != nil {
		return err
	}
	reader, ok := column.(*file.ByteArrayColumnChunkReader)
	if !ok || column.Descriptor().MaxRepetitionLevel() > 0 {
		return errUnreadable // no published column is of fixed length or a list
	}
	if err := readTexts(reader, column.Descriptor().MaxDefinitionLevel(), c); err != nil {
		return err
	}
	stats, err := meta.Statistics()
	if err != nil {
		return err
	}
	if stats != nil && stats.HasMinMax() {
		c.Extremes = append(c.Extremes, string(stats.EncodeMin()), string(stats.EncodeMax()))
	}
	return nil
}

func readTexts(reader *file.ByteArrayColumnChunkReader, present int16, c *Column) error {
	const batch = 1024
	values, levels := make([]parquet.ByteArray, batch), make([]int16, batch)
	for reader.HasNext() {
		rows, n, err := reader.ReadBatch(batch, values, levels, nil)
		if err != nil {
			return err
		}
		if rows == 0 {
			return errUnreadable
		}
		next := 0
		for row := range int(rows) {
			text := ""
			if (present == 0 || levels[row] == present) && next < n {
				text = string(values[next])
				next++
			}
			c.Texts = append(c.Texts, text)
		}
	}
	return reader.Err()
}
