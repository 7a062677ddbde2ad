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
	names, files := map[string]string{}, map[string]tableFile{}
	var paths []string
	for _, d := range record.AllTables {
		name := path.Join(f.path, d.TableName()+".parquet")
		if !f.has(name) {
			f.broken = f.broken || d.TableName() == record.Requests.Name || d.TableName() == record.Events.Name
			f.add(Problem{Code: CodeMissingFile, Source: name, Detail: "the attempt has no such file"})
			continue
		}
		t := tableFile{path: filepath.Join(l.tree.dir, filepath.FromSlash(name)), table: d}
		if found := checkEnds(t.path, name); found != nil {
			f.broken = true
			f.add(*found)
			continue
		}
		names[d.TableName()], files[d.TableName()], paths = name, t, append(paths, t.path)
	}
	footers, err := l.readFooters(ctx, paths)
	if err != nil {
		return nil, err
	}
	good := map[string]tableFile{}
	for _, d := range record.AllTables {
		t, ok := files[d.TableName()]
		if !ok {
			continue
		}
		if found := l.checkFooter(t, footers[t.path], names[d.TableName()]); found != nil {
			f.broken = true
			f.add(*found)
			continue
		}
		t.columns = footers[t.path].columns
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

func checkEnds(file, name string) *Problem {
	whole, err := hasFooter(file)
	switch {
	case err != nil:
		return &Problem{Code: CodeUnreadableFile, Source: name, Detail: "the file cannot be read"}
	case !whole:
		return &Problem{Code: CodeIncompleteFile, Source: name, Detail: "incomplete (no footer)"}
	}
	return nil
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

// checkFooter judges one file by its footer; nil is one that cannot be read.
func (l *loader) checkFooter(t tableFile, have *footer, name string) *Problem {
	switch {
	case have == nil:
		return &Problem{Code: CodeIncompleteFile, Source: name, Detail: "incomplete (its footer cannot be read)"}
	case have.cut:
		return &Problem{Code: CodeIncompleteFile, Source: name, Detail: "incomplete (its footer names bytes the file does not have)"}
	case have.meta["assay.table"] != t.table.TableName():
		return &Problem{Code: CodeWrongSchema, Source: name, Position: "assay.table", Detail: "the file holds another table than its name says"}
	case have.meta["assay.schema"] != record.SchemaVersion:
		return &Problem{Code: CodeWrongSchema, Source: name, Position: "assay.schema", Detail: "the file was written by another schema version"}
	case have.meta["assay.plan_sha256"] != l.campaign.digest:
		return &Problem{Code: CodeOtherPlan, Source: name, Position: "assay.plan_sha256", Detail: "the file belongs to a run of another plan"}
	}
	for _, want := range t.table.TableColumns() {
		kind, ok := have.columns[want.Name]
		if ok && kind != want.Type || !ok && !want.Nullable {
			return &Problem{Code: CodeWrongSchema, Source: name, Position: want.Name, Detail: "the column is missing or of another type"}
		}
	}
	return nil
}

// showTable is the statement that shows a file to the SQL files as raw_TABLE: a
// view, or for the few rows of requests a table, since each use of a view opens
// its file again. It has every column of the table by name, those a file of an older version lacks as
// null. A missing file has no rows. The keys come from the plan and the folder
// name, not from the path: an arm named 01 would be read as a number, and a
// folder above the run may look like a key as well.
func showTable(d record.Described, t tableFile, present bool, where string) string {
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
	return "CREATE OR REPLACE TEMP " + shownAs(d) + " raw_" + d.TableName() + " AS SELECT " + strings.Join(columns, ", ") + from
}

// shownAs is the kind of thing that raw_TABLE is.
func shownAs(d record.Described) string {
	if d.TableName() == record.Requests.Name {
		return "TABLE"
	}
	return "VIEW"
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
