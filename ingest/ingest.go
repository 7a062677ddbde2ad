package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"assay/ingest/artifact"
	"assay/ingest/store"
)

// Summary counts what one call of Run did.
type Summary struct {
	Runs      int // run directories looked at
	Unchanged int // of these, the ones that were loaded before just as they are
	Folders   int // attempt folders looked at
	Loaded    int // of these, loaded or replaced
	Skipped   int // of these, loaded before just as they are
	Failed    int // of these, not loaded; each has a problem
	Requests  int64
	Events    int64 // rows of the loaded folders
	Problems  int   // problems ingest found, each a row of the table problems
	Artifacts artifact.Summary
}

// String is the summary line of the command.
func (s Summary) String() string {
	runs := fmt.Sprintf("read %d run directories (%d unchanged) with %d attempts: %d loaded, %d unchanged, %d not loaded; wrote %d requests and %d events; %d problems",
		s.Runs, s.Unchanged, s.Folders, s.Loaded, s.Skipped, s.Failed, s.Requests, s.Events, s.Problems)
	a := s.Artifacts
	if a.Files == 0 {
		return runs
	}
	files := fmt.Sprintf("read %d other files: %d loaded with %d runs, %d requests and %d figures, %d known by kind, %d unchanged, %d not used; %d problems",
		a.Files, a.Loaded, a.Runs, a.Requests, a.Stats, a.Named, a.Unchanged, a.Refused, a.Problems)
	if s.Runs == 0 {
		return files
	}
	return runs + "\n" + files
}

// Run loads sources in the order given: a run directory, a result file of
// another tool, or a folder of either. What is wrong with a source becomes rows
// of the table problems; an error means that a source does not exist or that
// the database failed.
func Run(ctx context.Context, db *store.DB, sources []string, log *slog.Logger) (Summary, error) {
	var summary Summary
	if err := db.CreateTables(ctx); err != nil {
		return summary, err
	}
	for _, source := range sources {
		runs, err := findRuns(source)
		if err != nil {
			return summary, err
		}
		files, err := loadArtifacts(ctx, db, source, log)
		if err != nil {
			return summary, err
		}
		summary.Artifacts.Add(files)
		recognised := len(runs) > 0 || files.Files > 0
		if err := noteSource(ctx, db, source, recognised); err != nil {
			return summary, err
		}
		if !recognised {
			summary.Problems++
			log.Warn("source not recognised", "source", filepath.Base(source))
		}
		for _, dir := range runs {
			l := loader{db: db, log: log, summary: &summary}
			if err := l.run(ctx, dir); err != nil {
				return summary, fmt.Errorf("load %s: %w", filepath.Base(dir), err)
			}
		}
	}
	log.Info("ingest done", "summary", summary.String())
	return summary, nil
}

// loadArtifacts loads what is no run directory in a source.
func loadArtifacts(ctx context.Context, db *store.DB, source string, log *slog.Logger) (artifact.Summary, error) {
	if isRun(source) {
		return artifact.Summary{}, nil
	}
	return artifact.Load(ctx, db, source, artifact.Options{IsRun: isRun, Log: log})
}

// RunCell loads one cell of a run directory and nothing of the others, for a
// look at it in a database of its own.
func RunCell(ctx context.Context, db *store.DB, dir, cell string, log *slog.Logger) (Summary, error) {
	var summary Summary
	if err := db.CreateTables(ctx); err != nil {
		return summary, err
	}
	l := loader{db: db, log: log, summary: &summary, onlyCell: cell}
	if err := l.run(ctx, dir); err != nil {
		return summary, fmt.Errorf("load %s: %w", filepath.Base(dir), err)
	}
	return summary, nil
}

// noteSource keeps one problem row for a source in which nothing was
// recognised, and none for the others.
func noteSource(ctx context.Context, db *store.DB, source string, recognised bool) error {
	name := filepath.Base(source)
	return db.Tx(ctx, func(tx *store.Tx) error {
		err := tx.Exec(ctx, "clear source", "DELETE FROM problems WHERE campaign IS NULL AND code = ? AND source = ?", string(CodeUnknownSource), name)
		if err != nil || recognised {
			return err
		}
		return writeProblems(tx, "", []Problem{{Code: CodeUnknownSource, Source: name, Detail: "nothing that ingest reads was recognised here"}})
	})
}

// loader loads one run directory.
type loader struct {
	db      *store.DB
	log     *slog.Logger
	summary *Summary
	// onlyCell, when not empty, is the one cell whose folders are read.
	onlyCell string

	tree     tree
	campaign campaign
	attempts []attempt
	gpus     []gpuAlias
}

func (l *loader) run(ctx context.Context, dir string) error {
	l.summary.Runs++
	var err error
	if l.tree, err = scanRun(dir); err != nil {
		return err
	}
	if l.onlyCell != "" {
		l.tree.folders = slices.DeleteFunc(l.tree.folders, func(f folder) bool { return f.cell != l.onlyCell })
	}
	if l.campaign, err = decodeCampaign(l.tree); err != nil {
		return err
	}
	if l.campaign.plan == nil {
		return l.refuse(ctx, "")
	}
	l.summary.Folders += len(l.tree.folders)
	known, err := l.knownSources(ctx)
	if err != nil {
		return err
	}
	if known.holds(l.tree) {
		l.summary.Unchanged++
		l.summary.Skipped += len(l.tree.folders)
		return nil
	}
	clash, err := l.clashes(ctx)
	if err != nil {
		return err
	}
	if clash != "" {
		return l.refuse(ctx, clash)
	}
	var found []Problem
	l.attempts, found = attemptsOf(l.campaign.plan, l.campaign.journal, l.tree.folders)
	l.campaign.problems = append(l.campaign.problems, found...)
	if err := l.writeCampaign(ctx); err != nil {
		return err
	}
	if l.gpus, err = l.gpuAliases(ctx); err != nil {
		return err
	}
	for i := range l.tree.folders {
		if err := l.loadFolder(ctx, &l.tree.folders[i], known); err != nil {
			return err
		}
	}
	return l.finish(ctx)
}

// planned says whether a folder belongs to a cell of the plan.
func (l *loader) planned(f *folder) bool {
	c, ok := l.campaign.plan.Cell(f.cell)
	return ok && c.Arm == f.arm
}

// refuse loads nothing and says why: the directory has no plan, or its
// campaign id stands for another run in this database.
func (l *loader) refuse(ctx context.Context, clash string) error {
	found := l.campaign.problems
	campaign := ""
	if clash != "" {
		campaign = l.campaign.plan.CampaignID
		found = []Problem{{Code: CodeCampaignClash, Source: "plan.json", Position: clash,
			Detail: "another plan or run is loaded under this campaign id; load this one into a database of its own"}}
	}
	l.summary.Failed += len(l.tree.folders)
	l.summary.Problems += len(found)
	for _, p := range found {
		l.log.Warn("run directory not loaded", "code", string(p.Code), "source", p.Source)
	}
	return l.db.Tx(ctx, func(tx *store.Tx) error {
		for _, p := range found {
			// The same directory may come again: its problems stay single.
			err := tx.Exec(ctx, "clear problem", `DELETE FROM problems WHERE campaign IS NOT DISTINCT FROM nullif(?, '')
				AND stage = 'ingest' AND code = ? AND source = ? AND position = ?`, campaign, string(p.Code), p.Source, p.Position)
			if err != nil {
				return err
			}
		}
		return writeProblems(tx, campaign, found)
	})
}
