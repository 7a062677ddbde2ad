package ingest

import (
	"context"
	"strings"

	"assay/ingest/store"
)

// footer is what a Parquet file says about itself.
type footer struct {
	cut     bool // it names bytes the file does not have
	meta    map[string]string
	columns map[string]string // DuckDB type by column name
}

// readFooters reads the footers of several files, by path. A file whose footer
// cannot be read has none. All are asked for at once, because a statement costs
// more than a footer; only when that fails is each asked alone.
func (l *loader) readFooters(ctx context.Context, paths []string) (map[string]*footer, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	all, err := l.askFooters(ctx, paths)
	if !unreadable(err) {
		return all, err
	}
	all = map[string]*footer{}
	for _, path := range paths {
		one, err := l.askFooters(ctx, []string{path})
		if err != nil && !unreadable(err) {
			return nil, err
		}
		all[path] = one[path]
	}
	return all, nil
}

// The three questions to the footers of a list of files. A column chunk starts
// at its dictionary page, or at its first data page. No table has a nested
// column, so the columns of a file that has one are not looked at.
const (
	cutSQL = `SELECT file_name, 'cut', (coalesce(last_byte > file_size_bytes - footer_size - 8, false))::VARCHAR FROM parquet_file_metadata(FILES)
		LEFT JOIN (SELECT file_name, max(coalesce(dictionary_page_offset, data_page_offset) + total_compressed_size) AS last_byte
			FROM parquet_metadata(FILES) GROUP BY file_name) USING (file_name)`
	metaSQL    = "SELECT file_name, key, value FROM parquet_kv_metadata(FILES)"
	columnsSQL = `SELECT file_name, name, duckdb_type FROM parquet_schema(FILES)
		QUALIFY duckdb_type IS NOT NULL AND count(*) FILTER (num_children > 0) OVER (PARTITION BY file_name) = 1`
)

func (l *loader) askFooters(ctx context.Context, paths []string) (map[string]*footer, error) {
	all, literals := map[string]*footer{}, make([]string, len(paths))
	for i, path := range paths {
		all[path], literals[i] = &footer{meta: map[string]string{}, columns: map[string]string{}}, literal(path)
	}
	list := "[" + strings.Join(literals, ", ") + "]"
	type answer struct {
		file       string
		key, value []byte
	}
	for _, ask := range []struct {
		query string
		take  func(f *footer, key, value string)
	}{
		{cutSQL, func(f *footer, _, value string) { f.cut = value == "true" }},
		{metaSQL, func(f *footer, key, value string) { f.meta[key] = value }},
		{columnsSQL, func(f *footer, key, value string) { f.columns[key] = value }},
	} {
		rows, err := l.db.Query(ctx, "read parquet footers", strings.ReplaceAll(ask.query, "FILES", list))
		answers, err := store.Collect(rows, err, func(a *answer) []any { return []any{&a.file, &a.key, &a.value} })
		if err != nil {
			return nil, err
		}
		for _, a := range answers {
			if f, ok := all[a.file]; ok {
				ask.take(f, string(a.key), string(a.value))
			}
		}
	}
	return all, nil
}
