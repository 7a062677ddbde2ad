package ingest

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"assay/collect/record"
	"assay/ingest/store"
)

// gpuAlias is the public name of a GPU.
type gpuAlias struct{ uuid, alias string }

// gpuAliases names the GPUs of a campaign in the order in which they were
// first read, so that a run that grows never renames one. The driver's ids
// stay in the run directory.
func (l *loader) gpuAliases(ctx context.Context) ([]gpuAlias, error) {
	type seen struct {
		uuid    string
		unixNs  int64
		ordinal int64
	}
	first := map[string]seen{}
	for i := range l.tree.folders {
		f := &l.tree.folders[i]
		name := path.Join(f.path, record.GPU.Name+".parquet")
		if !l.planned(f) || !f.has(name) {
			continue
		}
		rows, err := l.db.Query(ctx, "read GPU ids", `SELECT gpu_uuid, min(at_unix_ns), coalesce(min(gpu_index), 0) FROM read_parquet(`+
			literal(filepath.Join(l.tree.dir, filepath.FromSlash(name)))+`, hive_partitioning = false) WHERE gpu_uuid <> '' GROUP BY gpu_uuid`)
		all, err := store.Collect(rows, err, func(s *seen) []any { return []any{&s.uuid, &s.unixNs, &s.ordinal} })
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			continue // the file's own check says what is wrong with it
		}
		for _, s := range all {
			if known, ok := first[s.uuid]; !ok || s.unixNs < known.unixNs {
				first[s.uuid] = s
			}
		}
	}
	order := make([]seen, 0, len(first))
	for _, s := range first {
		order = append(order, s)
	}
	slices.SortFunc(order, func(a, b seen) int {
		return cmp.Or(cmp.Compare(a.unixNs, b.unixNs), cmp.Compare(a.ordinal, b.ordinal), cmp.Compare(a.uuid, b.uuid))
	})
	aliases := make([]gpuAlias, len(order))
	for i, s := range order {
		aliases[i] = gpuAlias{uuid: s.uuid, alias: fmt.Sprintf("gpu-%d", i+1)}
	}
	return aliases, nil
}

func (l *loader) writeGPUAliases(ctx context.Context, tx *store.Tx) error {
	if err := tx.Exec(ctx, "name GPUs", "CREATE OR REPLACE TEMP TABLE gpu_aliases (gpu_uuid VARCHAR, alias VARCHAR)"); err != nil {
		return err
	}
	for _, g := range l.gpus {
		if err := tx.Exec(ctx, "name GPUs", "INSERT INTO gpu_aliases VALUES (?, ?)", g.uuid, g.alias); err != nil {
			return err
		}
	}
	return nil
}
