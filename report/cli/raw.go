package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/analyze"
	"assay/collect/plan"
	"assay/collect/record"
	"assay/ingest"
	"assay/ingest/store"
	"assay/report"
	"assay/report/bundle"
)

// isRun says in one sentence why dir is no run directory.
func isRun(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, record.PlanName)); err != nil {
		return fmt.Errorf("%s is no run directory: it has no %s; give the -o of the collect that made the finding", dir, record.PlanName)
	}
	return nil
}

// rawCheck is V-23: the files of a run directory are those the manifest names, and
// exporting them again gives the published data.
func rawCheck(ctx context.Context, run string) bundle.Check {
	return bundle.Check{
		Code: "V-23", Level: 3, Title: "exported again from the raw run", Needs: []bundle.Code{"V-01", "V-02", "V-03", "V-04"},
		SkipReason: func(l *bundle.Loaded) string {
			if k := l.Manifest.Predicate.Finding.Kind; k == bundle.KindDerived || k == bundle.KindExternalPrior {
				return fmt.Sprintf("a %s finding sends no request, so it has no raw run", k)
			}
			return ""
		},
		Run: func(l *bundle.Loaded) []bundle.Problem {
			if found := inputProblems(run, l.Manifest.Predicate.Inputs); len(found) > 0 {
				return found
			}
			found, err := exportProblems(ctx, run, l)
			if err != nil {
				return []bundle.Problem{{Code: "V-23", Detail: "the run directory cannot be exported again: " + err.Error()}}
			}
			return found
		},
	}
}

// inputProblems compares the files of a run directory with those a finding was
// made from. Problems are by the manifest's order.
func inputProblems(run string, inputs []bundle.Input) (out []bundle.Problem) {
	bad := func(name, detail string) {
		out = append(out, bundle.Problem{Code: "V-23", File: name, Detail: detail})
	}
	if len(inputs) == 0 {
		bad("", "the manifest names no file of a raw run")
	}
	for _, in := range inputs {
		if !filepath.IsLocal(filepath.FromSlash(in.Name)) {
			bad(in.Name, "leads out of the run directory")
			continue
		}
		size, digest, err := digestOf(filepath.Join(run, filepath.FromSlash(in.Name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			bad(in.Name, "is not in the run directory")
		case err != nil:
			bad(in.Name, "cannot be read in the run directory")
		case size != in.Size || digest != in.SHA256:
			bad(in.Name, fmt.Sprintf("sha256 %s and %d bytes in the run directory, the manifest says %s and %d", digest, size, in.SHA256, in.Size))
		}
	}
	return out
}

func digestOf(name string) (size int64, digest string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// exportProblems takes the run through ingest, analyze and export, and compares
// what comes out with what was published.
func exportProblems(ctx context.Context, run string, l *bundle.Loaded) (out []bundle.Problem, err error) {
	folder, err := os.MkdirTemp("", "assay-verify-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	db, err := store.Open(filepath.Join(folder, "raw.duckdb"), store.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := ingest.Run(ctx, db, []string{run}, slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	if err := analyze.CreateViews(ctx, db); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(run, record.PlanName))
	if err != nil {
		return nil, err
	}
	p, problems := plan.Decode(text)
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s: %s", record.PlanName, problems[0])
	}
	again, err := report.Export(ctx, db, p.CampaignID)
	if err != nil {
		return nil, err
	}
	here, err := report.CurrentBuilder(ctx, db)
	if err != nil {
		return nil, err
	}
	note := ""
	if other := report.OtherLibraries(here, l.Manifest.Predicate.Builder); len(other) > 0 {
		note = "; it was made with " + strings.Join(other, ", ") + ", which may be why"
	}
	published := report.PublishedData(l)
	for _, name := range slices.Sorted(maps.Keys(again.Files)) {
		subject := bundle.SubjectName(l.Folder, name)
		switch got, ok := published.Files[name]; {
		case !ok:
			out = append(out, bundle.Problem{Code: "V-23", File: subject, Detail: "follows from the raw run and is not published"})
		case !bytes.Equal(got, again.Files[name]):
			out = append(out, bundle.Problem{Code: "V-23", File: subject, Detail: "is not what the raw run gives" + note})
		}
	}
	return out, nil
}
