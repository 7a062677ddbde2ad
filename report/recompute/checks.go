package recompute

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"assay/report"
	"assay/report/bundle"
	"assay/report/sanitize"
)

// Options select how a bundle is recomputed.
type Options struct {
	// Level is 2 to recompute; below that the plan and its lock alone are checked.
	Level int
	// RequireBuilder makes an empty record of the builder a problem, at any level.
	RequireBuilder bool
	// Threads of the database in memory; 0 leaves the choice to it.
	Threads int
	// Extra are checks that need more than the bundle: the list of signers, the
	// raw run.
	Extra []bundle.Check
}

// Verify runs all checks of package bundle and of this one on a loaded bundle.
func Verify(ctx context.Context, l *bundle.Loaded, opt Options) (bundle.Result, error) {
	checks, done := Checks(ctx, opt)
	r := bundle.Verify(l, bundle.Options{Level: opt.Level, Extra: slices.Concat(checks, opt.Extra)})
	if err := done(); err != nil {
		return r, fmt.Errorf("verify %s: %w", l.Folder, err)
	}
	return r, nil
}

// Checks returns the rows of this package, for one bundle. Those of level 2 share
// the database they ask, which is made when the first needs it; done closes it.
func Checks(ctx context.Context, opt Options) (checks []bundle.Check, done func() error) {
	s := &shared{ctx: ctx, opt: opt}
	return s.checks(), s.close
}

func (s *shared) checks() []bundle.Check {
	opt := s.opt
	data := []bundle.Code{"V-01", "V-02", "V-03", "V-04", "V-15"}
	builderLevel := 2
	if opt.RequireBuilder {
		builderLevel = 1
	}
	checks := []bundle.Check{
		{Code: "V-10", Level: 1, Title: "plan, lock and manifest agree", Needs: data[:4], SkipReason: noPlan, Run: checkPlan},
		{Code: "V-11", Level: 1, Title: "locked before the first request", Needs: data[:4], SkipReason: requestless, Run: checkLockTime},
		{Code: "V-15", Level: 2, Title: "data files as described", Needs: data[:4], SkipReason: noData, Run: s.checkData},
		{Code: "V-16", Level: 2, Title: "every planned request has its row", Needs: data, SkipReason: requestless, Run: s.checkCells},
		{Code: "V-17", Level: 2, Title: "verdicts recomputed", Needs: data, SkipReason: noCampaign, Run: s.checkVerdicts},
		{Code: "V-18", Level: 2, Title: "histogram deltas recomputed", Needs: data, SkipReason: s.notEvaluated(requestless), Run: s.checkDeltas},
		{Code: "V-19", Level: 2, Title: "quantiles recomputed, with their labels", Needs: data, SkipReason: s.notEvaluated(noCampaign), Run: s.checkQuantiles},
		{Code: "V-20", Level: 2, Title: "claims recomputed from their queries", Needs: data, SkipReason: s.notEvaluated(noEvidence), Run: s.checkClaims},
		{Code: "V-21", Level: 2, Title: "rendered again to the same bytes", Needs: data, SkipReason: s.notEvaluated(s.notRendered), Run: s.checkRendering},
		{Code: "V-22", Level: builderLevel, Title: "builder record", Needs: data[:1], Run: s.checkBuilder, Warn: s.warnBuilder},
	}
	if opt.Level >= 2 { // at level 1 the structural row of V-13 stands
		checks = append(checks, sanitize.BundleCheck(readTexts))
	}
	return checks
}

// requestless says why a check of requests does not apply to a bundle's kind.
func requestless(l *bundle.Loaded) string {
	if k := l.Manifest.Predicate.Finding.Kind; k == bundle.KindDerived || k == bundle.KindExternalPrior {
		return fmt.Sprintf("a %s finding sends no request", k)
	}
	return ""
}

// campaignPart is a file that only the bundle of a campaign has, or "". A kind
// that sends no request must not have one: its name would keep the campaign from
// being recomputed.
func campaignPart(l *bundle.Loaded) string {
	if l.Manifest.Predicate.PlanLock != nil {
		return bundle.ManifestName
	}
	for _, file := range append([]string{planFile, lockFile}, dataFiles(l)...) {
		if l.Files[bundle.SubjectName(l.Folder, file)] != nil {
			return file
		}
	}
	return ""
}

func noPlan(l *bundle.Loaded) string {
	if campaignPart(l) != "" {
		return ""
	}
	return requestless(l)
}

func noData(l *bundle.Loaded) string {
	if why := requestless(l); why != "" && !isDerived(l) && len(dataFiles(l)) == 0 {
		return why + ", so there are no data files"
	}
	return ""
}

// noCampaign leaves out the kinds whose evidence is no campaign.
func noCampaign(l *bundle.Loaded) string {
	if why := requestless(l); why != "" {
		return why + ", so there is no cell to judge"
	}
	return ""
}

// noEvidence leaves out the kind whose evidence is somebody else's.
func noEvidence(l *bundle.Loaded) string {
	if why := requestless(l); why != "" && !isDerived(l) {
		return why + " of ours, and its evidence is not recomputed"
	}
	return ""
}

// shared is what the checks of one run have in common.
type shared struct {
	ctx context.Context
	opt Options

	tables map[string]*tableData   // by table name, once V-15 has read them
	counts map[sampleKey][]float64 // see samples

	evaluated bool
	opened    *report.Evidence // to be closed
	evidence  *evaluation
	err       error // why there is no evidence
}

// evaluation is what the evidence of a bundle comes to. evidence is nil for a
// derived finding, whose claims are those of its rendering.
type evaluation struct {
	evidence *report.Evidence
	out      report.Output
}

func (s *shared) close() error {
	if s.opened == nil {
		return nil
	}
	return s.opened.Close()
}

// evaluate opens the evidence and renders it, once.
func (s *shared) evaluate(l *bundle.Loaded) (*evaluation, error) {
	if s.evaluated {
		return s.evidence, s.err
	}
	s.evaluated = true
	in := report.PublishedInput(l, s.opt.Threads)
	if isDerived(l) {
		s.evidence, s.err = evaluateFacts(s.ctx, in)
		return s.evidence, s.err
	}
	e, err := report.OpenEvidence(s.ctx, in)
	if err != nil {
		s.err = err
		return nil, err
	}
	s.opened = e
	out, err := e.Render()
	if err != nil {
		s.err = err
		return nil, err
	}
	s.evidence = &evaluation{e, out}
	return s.evidence, nil
}

// notEvaluated skips a check when the evidence cannot be evaluated, which V-17
// reports, or V-15 where there are only facts, so that one fault is one problem.
func (s *shared) notEvaluated(other func(*bundle.Loaded) string) func(*bundle.Loaded) string {
	return func(l *bundle.Loaded) string {
		if why := other(l); why != "" {
			return why
		}
		if _, err := s.evaluate(l); err != nil {
			return "the evidence cannot be evaluated; see V-15 and V-17"
		}
		return ""
	}
}

// readJSON decodes a file of the bundle. A file that is not there is an error.
func readJSON(l *bundle.Loaded, file string, into any) error {
	data := fileData(l, file)
	if data == nil {
		return fmt.Errorf("%s is not in the bundle", file)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s cannot be read as JSON", file)
	}
	return nil
}

// fileData is the content of a file of the bundle, nil when it was not read.
func fileData(l *bundle.Loaded, file string) []byte {
	e := l.Files[bundle.SubjectName(l.Folder, file)]
	if e == nil {
		return nil
	}
	return e.Data
}

// mostProblems is how many problems of one check are listed: a hostile file could
// hold millions. The last one says how many more there are.
const mostProblems = 100

// problems collects what one check finds.
type problems struct {
	code   bundle.Code
	folder string
	list   []bundle.Problem
	more   int
}

func (p *problems) add(file, format string, args ...any) {
	if len(p.list) == mostProblems {
		p.more++
		return
	}
	if file != "" {
		file = bundle.SubjectName(p.folder, file)
	}
	p.list = append(p.list, bundle.Problem{Code: p.code, File: file, Detail: fmt.Sprintf(format, args...)})
}

// all is what the check found.
func (p *problems) all() []bundle.Problem {
	if p.more > 0 {
		return append(p.list, bundle.Problem{Code: p.code, Detail: fmt.Sprintf("and %d more problems of this check", p.more)})
	}
	return p.list
}
