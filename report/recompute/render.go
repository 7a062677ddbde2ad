package recompute

import (
	"fmt"
	"strings"

	"assay/report"
	"assay/report/bundle"
)

// notRendered says why a bundle cannot be expected to render to the same bytes.
func (s *shared) notRendered(l *bundle.Loaded) string {
	if why := noEvidence(l); why != "" {
		return why
	}
	pre := l.Manifest.Predicate
	if pre.Format != bundle.Format {
		return fmt.Sprintf("the bundle is of format %d, this version renders format %d", pre.Format, bundle.Format)
	}
	e, err := s.evaluate(l)
	if err != nil {
		return "" // notEvaluated says so
	}
	if e.evidence == nil {
		return ""
	}
	if other := e.evidence.OtherLibraries(pre.Builder); len(other) > 0 {
		return "rendered with " + strings.Join(other, ", ")
	}
	return ""
}

// checkRendering is V-21: the whole bundle and the narrative, rendered again from
// the evidence, are the published bytes. The builder is taken from the manifest.
func (s *shared) checkRendering(l *bundle.Loaded) []bundle.Problem {
	e, err := s.evaluate(l)
	if err != nil {
		return nil // notEvaluated skips this
	}
	differences, err := report.Differences(l, e.out)
	if err != nil {
		return []bundle.Problem{{Code: "V-21", Detail: err.Error()}}
	}
	var out []bundle.Problem
	for _, d := range differences {
		what := d.What
		if d.At >= 0 {
			what += fmt.Sprintf(", first at byte %d", d.At)
		}
		out = append(out, bundle.Problem{Code: "V-21", File: d.File, Detail: what})
	}
	return out
}

// builderLacks says what an outsider would miss to build the same program, or "".
func builderLacks(b bundle.Builder) string {
	var missing []string
	for _, f := range []struct{ name, value string }{{"module", b.Module}, {"Go version", b.Go}, {"DuckDB version", b.DuckDB}, {"architecture", b.GOARCH}} {
		if f.value == "" {
			missing = append(missing, f.name)
		}
	}
	if b.VCSRevision == "" && (b.Version == "" || b.Version == "unknown" || b.Version == "(devel)") {
		missing = append(missing, "version or revision of the source")
	}
	if len(missing) == 0 {
		return ""
	}
	return "the builder record has no " + strings.Join(missing, ", no ")
}

// checkBuilder is V-22 under --require-builder; without it warnBuilder speaks.
func (s *shared) checkBuilder(l *bundle.Loaded) []bundle.Problem {
	if why := builderLacks(l.Manifest.Predicate.Builder); why != "" && s.opt.RequireBuilder {
		return []bundle.Problem{{Code: "V-22", File: bundle.ManifestName, Detail: why}}
	}
	return nil
}

func (s *shared) warnBuilder(l *bundle.Loaded) []bundle.Warning {
	if why := builderLacks(l.Manifest.Predicate.Builder); why != "" && !s.opt.RequireBuilder {
		return []bundle.Warning{{Code: "V-22", File: bundle.ManifestName, Detail: why}}
	}
	return nil
}
