package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"assay/collect/record"
	"assay/ingest/store"
)

// parquetMagic opens and closes every Parquet file.
var parquetMagic = []byte("PAR1")

// tableFile is a Parquet file that passed its check.
type tableFile struct {
	path    string // on disk
	table   record.Described
	columns map[string]string // DuckDB type by column name
}

// checkFolder looks at the files of a folder before any is loaded. Requests
// and events must be there; another table may be missing and is then empty.
// Any file that is there must be whole and of the right table, schema and plan.
func (l *loader) checkFolder(ctx context.Context, f *folder) (map[string]tableFile, error) {
	good := map[string]tableFile{}
	for _, d := range record.AllTables {
		name := path.Join(f.path, d.TableName()+".parquet")
		if !f.has(name) {
			f.broken = f.broken || d.TableName() == record.Requests.Name || d.TableName() == record.Events.Name
			f.add(Problem{Code: CodeMissingFile, Source: name, Detail: "the attempt has no such file"})
			continue
		}
		t, found, err := l.checkFile(ctx, name, d)
		if err != nil {
			return nil, err
		}
		if found != nil {
			f.broken = true
			f.add(*found)
			continue
		}
		good[d.TableName()] = t
	}
	return good, nil
}

func (f *folder) has(name string) bool {
	for _, x := range f.files {
		if x.path == name {
			return true
		}
	}
	return false
}

func (l *loader) checkFile(ctx context.Context, name string, d record.Described) (tableFile, *Problem, error) {
	t := tableFile{path: filepath.Join(l.tree.dir, filepath.FromSlash(name)), table: d}
	if whole, err := hasFooter(t.path); err != nil {
		return t, &Problem{Code: CodeUnreadableFile, Source: name, Detail: "the file cannot be read"}, nil
	} else if !whole {
		return t, &Problem{Code: CodeIncompleteFile, Source: name, Detail: "incomplete (no footer)"}, nil
	}
	if cut, err := l.cutInside(ctx, t.path); unreadable(err) {
		return t, &Problem{Code: CodeIncompleteFile, Source: name, Detail: "incomplete (its footer cannot be read)"}, nil
	} else if err != nil {
		return t, nil, err
	} else if cut {
		return t, &Problem{Code: CodeIncompleteFile, Source: name, Detail: "incomplete (its footer names bytes the file does not have)"}, nil
	}
	if found, err := l.checkMeta(ctx, t, name); err != nil || found != nil {
		return t, found, err
	}
	return l.checkColumns(ctx, t, name)
}

// hasFooter reports whether a file starts and ends as a Parquet file does.
func hasFooter(path string) (whole bool, err error) {
	in, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	info, err := in.Stat()
	if err != nil || info.Size() < 12 {
		return false, err
	}
	head, tail := make([]byte, 4), make([]byte, 4)
	if _, err := io.ReadFull(in, head); err != nil {
		return false, err
	}
	if _, err := in.ReadAt(tail, info.Size()-4); err != nil {
		return false, err
	}
	return bytes.Equal(head, parquetMagic) && bytes.Equal(tail, parquetMagic), nil
}

// cutInside reports whether the footer points behind the bytes there are. A
// column chunk starts at its dictionary page, or at its first data page.
func (l *loader) cutInside(ctx context.Context, path string) (bool, error) {
	const query = `SELECT coalesce(max(coalesce(dictionary_page_offset, data_page_offset) + total_compressed_size), 0)
		> (SELECT any_value(file_size_bytes - footer_size) - 8 FROM parquet_file_metadata(?)) FROM parquet_metadata(?)`
	rows, err := l.db.Query(ctx, "read parquet footer", query, path, path)
	cut, err := store.Collect(rows, err, func(b *bool) []any { return []any{b} })
	if err != nil {
		return false, err
	}
	return len(cut) > 0 && cut[0], nil
}

// unreadable says whether a failed statement is the fault of the file it read.
func unreadable(err error) bool {
	var f *store.Failure
	if !errors.As(err, &f) {
		return false
	}
	switch f.Class {
	case store.ClassIO, store.ClassInput, store.ClassConversion, store.ClassConstraint, store.ClassOther:
		return true
	}
	return false
}

func (l *loader) checkMeta(ctx context.Context, t tableFile, name string) (*Problem, error) {
	type pair struct{ key, value []byte }
	rows, err := l.db.Query(ctx, "read parquet metadata", "SELECT key, value FROM parquet_kv_metadata(?)", t.path)
	pairs, err := store.Collect(rows, err, func(p *pair) []any { return []any{&p.key, &p.value} })
	if err != nil {
		return nil, err
	}
	meta := map[string]string{}
	for _, p := range pairs {
		meta[string(p.key)] = string(p.value)
	}
	switch {
	case meta["assay.table"] != t.table.TableName():
		return &Problem{Code: CodeWrongSchema, Source: name, Position: "assay.table", Detail: "the file holds another table than its name says"}, nil
	case meta["assay.schema"] != record.SchemaVersion:
		return &Problem{Code: CodeWrongSchema, Source: name, Position: "assay.schema", Detail: "the file was written by another schema version"}, nil
	case meta["assay.plan_sha256"] != l.campaign.digest:
		return &Problem{Code: CodeOtherPlan, Source: name, Position: "assay.plan_sha256", Detail: "the file belongs to a run of another plan"}, nil
	}
	return nil, nil
}

func (l *loader) checkColumns(ctx context.Context, t tableFile, name string) (tableFile, *Problem, error) {
	type column struct{ name, kind string }
	rows, err := l.db.Query(ctx, "read parquet columns", "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet("+literal(t.path)+", hive_partitioning = false))")
	columns, err := store.Collect(rows, err, func(c *column) []any { return []any{&c.name, &c.kind} })
	if err != nil {
		return t, nil, err
	}
	t.columns = map[string]string{}
	for _, c := range columns {
		t.columns[c.name] = c.kind
	}
	for _, want := range t.table.TableColumns() {
		have, ok := t.columns[want.Name]
		if ok && have != want.Type || !ok && !want.Nullable {
			return t, &Problem{Code: CodeWrongSchema, Source: name, Position: want.Name, Detail: "the column is missing or of another type"}, nil
		}
	}
	return t, nil, nil
}

// rawView is the statement that shows a file to the SQL files as raw_TABLE:
// every column of the table by name, those a file of an older version lacks as
// null. A missing file has no rows. The keys come from the plan and the folder
// name, not from the path: an arm named 01 would be read as a number, and a
// folder above the run may look like a key as well.
func rawView(d record.Described, t tableFile, present bool, where string) string {
	columns := make([]string, 0, len(d.TableColumns()))
	for _, c := range d.TableColumns() {
		quoted := `"` + c.Name + `"` // trailing is a word of SQL
		expr := fmt.Sprintf("CAST(NULL AS %s) AS %s", c.Type, quoted)
		if _, ok := t.columns[c.Name]; present && ok {
			expr = quoted
		}
		columns = append(columns, expr)
	}
	from := " WHERE false"
	if present {
		from = " FROM read_parquet(" + literal(t.path) + ", hive_partitioning = false, file_row_number = true)" + where
	}
	return "CREATE OR REPLACE TEMP VIEW raw_" + d.TableName() + " AS SELECT " + strings.Join(columns, ", ") + from
}

// literal writes a value into a statement that takes no parameters.
func literal(value any) string {
	switch v := value.(type) {
	case int64:
		return fmt.Sprintf("%d::BIGINT", v)
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	panic(fmt.Sprintf("ingest: no literal for %T", value))
}
