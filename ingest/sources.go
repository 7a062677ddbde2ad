package ingest

import (
	"context"
	"path"
	"strings"

	"assay/ingest/store"
)

// known is the set of sources the database holds for a campaign: path to
// SHA-256.
type known map[string]string

func (l *loader) knownSources(ctx context.Context) (known, error) {
	type row struct{ path, sum string }
	rows, err := l.db.Query(ctx, "read sources", "SELECT path, sha256 FROM sources WHERE campaign = ?", l.campaign.plan.CampaignID)
	all, err := store.Collect(rows, err, func(r *row) []any { return []any{&r.path, &r.sum} })
	k := known{}
	for _, r := range all {
		k[r.path] = r.sum
	}
	return k, err
}

// holds reports whether a directory is loaded just as it is.
func (k known) holds(t tree) bool {
	n := len(t.files)
	if !k.all(t.files) {
		return false
	}
	for _, f := range t.folders {
		if f.spool || !k.all(f.files) {
			return false
		}
		n += len(f.files)
	}
	return n == len(k)
}

func (k known) all(files []file) bool {
	for _, f := range files {
		if k[f.path] != f.sha256 {
			return false
		}
	}
	return true
}

// below counts the known files of a folder.
func (k known) below(folder string) int {
	n := 0
	for p := range k {
		if path.Dir(p) == folder {
			n++
		}
	}
	return n
}

// clashes looks for another plan, or another run of the same plan, under this
// campaign id, and returns the digest of the plan that came second. Two runs
// of one plan have locks of their own.
func (l *loader) clashes(ctx context.Context) (string, error) {
	type row struct {
		plan   string
		locked *int64
	}
	rows, err := l.db.Query(ctx, "read campaign", "SELECT plan_sha256, locked_at_unix_ns FROM campaigns WHERE campaign = ?", l.campaign.plan.CampaignID)
	all, err := store.Collect(rows, err, func(r *row) []any { return []any{&r.plan, &r.locked} })
	if err != nil || len(all) == 0 {
		return "", err
	}
	other := l.campaign.lock != nil && all[0].locked != nil && *all[0].locked != l.campaign.lock.LockedAtUnixNs
	if all[0].plan != l.campaign.digest || other {
		return l.campaign.digest, nil
	}
	return "", nil
}

// writeSources notes files as read; f is nil for files of the whole run.
func writeSources(tx *store.Tx, campaign string, f *folder, files []file) error {
	var arm, cell, number any
	if f != nil {
		arm, cell, number = f.arm, f.cell, f.attempt
	}
	return tx.Append("sources", func(add func(...any) error) error {
		for _, s := range files {
			name := strings.ToValidUTF8(s.path, "\uFFFD")
			if err := add(s.sha256, name, s.kind, s.bytes, campaign, arm, cell, number); err != nil {
				return err
			}
		}
		return nil
	})
}
