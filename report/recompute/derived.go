package recompute

import (
	"context"
	"errors"

	"assay/report"
	"assay/report/bundle"
)

func isDerived(l *bundle.Loaded) bool {
	return l.Manifest.Predicate.Finding.Kind == bundle.KindDerived
}

// evaluateFacts renders a derived finding from its recorded facts.
func evaluateFacts(ctx context.Context, in report.Input) (*evaluation, error) {
	out, err := report.Render(ctx, in)
	if err != nil {
		return nil, err
	}
	return &evaluation{out: out}, nil
}

// checkFacts is V-15 of a derived finding: its facts, sources and words can be
// read and are of this form.
func (s *shared) checkFacts(l *bundle.Loaded) []bundle.Problem {
	p := &problems{code: "V-15", folder: l.Folder}
	if _, err := s.evaluate(l); err != nil {
		p.add("", "the recorded facts cannot be evaluated: %v", err)
	}
	return p.list
}

// claim is the claim of an ID as it follows from the evidence.
func (e *evaluation) claim(ctx context.Context, id string) (report.Claim, error) {
	if e.evidence != nil {
		return e.evidence.Recompute(ctx, id)
	}
	for _, c := range e.out.Claims {
		if c.ID == id {
			return c, nil
		}
	}
	return report.Claim{}, errors.New("no query over the facts gives it")
}
