package report

import (
	"fmt"
	"slices"
	"strings"

	"assay/report/bundle"
)

// predicate says everything the manifest says beyond its list of files.
func (r *renderer) predicate(builder bundle.Builder, files map[string][]byte) bundle.Predicate {
	p := bundle.Predicate{
		Format:  bundle.Format,
		Finding: bundle.Finding{ID: r.id, Kind: r.kind, Supersedes: r.supersedes},
		Roles:   r.roles(),
		PlanLock: &bundle.PlanLock{
			CanonicalSHA256: r.lock.CanonicalSHA256, RedactedSHA256: r.lock.RedactedCanonicalSHA256, LockedAtUnixNs: r.lock.LockedAtUnixNs,
		},
		Tally: r.tally(),
		Sanitizer: &bundle.Sanitizer{
			RulesSHA256: r.record.RulesSHA256, Dropped: r.record.Dropped, Replaced: r.record.Replaced,
			AllowEntries: int64(len(r.record.Allow)),
		},
		Limits: bundle.DefaultLimits(), NonClaims: nonClaims(r.kind), Builder: builder,
	}
	for _, s := range r.sources {
		p.Inputs = append(p.Inputs, bundle.Input{Name: s.Path, Kind: s.Kind, SHA256: s.SHA256, Size: s.Bytes})
	}
	return p
}

// nonClaims is what no finding claims.
func nonClaims(kind bundle.Kind) []string {
	list := []string{
		"Nothing proves the identity of the hardware, or the honesty of the operator.",
		"The results hold for these recipes, prompts and lengths, and are not general.",
		"No difference is put down to a cause.",
		"Nothing is promoted or rolled back here; that is a separate decision by a person.",
	}
	if kind == bundle.KindDerived {
		list = slices.Insert(list, 0, "Nothing was measured for this finding, and nothing says what is running anywhere now.")
	}
	if kind == bundle.KindSimulated {
		list = slices.Insert(list, 0, "The engines were simulated: no number says anything about a model, an engine or a GPU.")
	}
	return list
}

func (r *renderer) tally() bundle.Tally {
	count := func(what string) bundle.Counts {
		n := func(column string) int64 {
			v, _ := r.b.result("tally").whole(0, what+"_"+column)
			return v
		}
		return bundle.Counts{
			Planned: n("planned"), Dispatched: n("dispatched"), Terminal: n("terminal"), Passing: n("passing"), Eligible: n("eligible"),
		}
	}
	return bundle.Tally{Cells: count("cells"), Requests: count("requests")}
}

// roles says where each of the ten parts of the evidence is.
func (r *renderer) roles() []bundle.Role {
	in := func(names ...string) []string {
		out := make([]string, len(names))
		for i, n := range names {
			out[i] = bundle.SubjectName(r.folder, n)
		}
		slices.Sort(out)
		return out
	}
	var raw []string
	for _, p := range publishedTables {
		if name := "data/" + p.file + ".parquet"; len(r.data.Files[name]) > 0 {
			raw = append(raw, name)
		}
	}
	files := map[bundle.RoleName][]string{
		bundle.RoleEvidenceIndex:      in("README.md"),
		bundle.RoleSourceRegistry:     in(sourcesFile),
		bundle.RoleWorkloadManifest:   in("data/cells.parquet", "data/requests.parquet"),
		bundle.RoleRunPlan:            in(planFile, lockFile),
		bundle.RoleConfiguration:      in(r.existing("environment.json", "data/identities.parquet", "data/smoke.parquet")...),
		bundle.RoleRawRunEvidence:     in(append(raw, columnsFile)...),
		bundle.RoleFailures:           in("friction.md", "data/problems.parquet", "data/stops.parquet", "verdicts.json"),
		bundle.RoleDecisionSummary:    {bundle.NarrativeName(r.id)},
		bundle.RolePublicationSummary: in("publication-summary.md"),
	}
	var roles []bundle.Role
	for _, name := range bundle.RoleNames() {
		role := bundle.Role{Role: name, State: bundle.RoleRetained, Files: files[name]}
		if name == bundle.RoleRestoration {
			role = r.restorationRole()
		}
		roles = append(roles, role)
	}
	return roles
}

// existing returns the names that are no table of the data, or one this bundle has.
func (r *renderer) existing(names ...string) []string {
	return slices.DeleteFunc(names, func(n string) bool {
		return strings.HasPrefix(n, "data/") && len(r.data.Files[n]) == 0
	})
}

// readmeView is what the map of the bundle is made from.
type readmeView struct {
	Title, ID string
	Files     []readmeFile
	Roles     []readmeRole
}

type readmeFile struct{ Name, What string }

type readmeRole struct{ Role, State, Text string }

// meanings says what the files of a bundle are; tables, queries and data have
// their meaning elsewhere.
var meanings = map[string]string{
	"README.md": "this map", planFile: "the plan as published: private places are redacted",
	lockFile:    "digests of the plan, and when they were written",
	columnsFile: "every column of the data: type, unit, meaning; and what was thinned",
	sourcesFile: "what the numbers were taken from, by digest", sanitizeFile: "what was taken out before publication, as counts",
	"verdicts.json":    "every cell with every rule, every pair with its reasons",
	"claims.json":      "every number the finding prints, with its query, its raw value, and what stands behind it",
	"environment.json": "what the engines, GPUs and the client are, without private names",
	factsFile:          "every recorded fact, with its source and where it stands there", derivationFile: "the finding's words; facts are named in braces",
	"load.sql":    "fills the two tables that the queries read",
	"friction.md": "what went wrong", "restoration.json": "the restoration, or why there is no record",
	"quality-ledger.json": "the plan's quality entries and their state", "publication-summary.md": "short texts and the claims behind them",
}

func (p *pages) readme(names []string, roles []bundle.Role) readmeView {
	v := readmeView{Title: literal(p.titled), ID: p.id}
	for _, n := range names {
		what := meanings[n]
		base := strings.TrimSuffix(n[strings.LastIndexByte(n, '/')+1:], n[max(strings.LastIndexByte(n, '.'), 0):])
		switch folder, _, _ := strings.Cut(n, "/"); folder {
		case "queries", "tables":
			if strings.HasPrefix(n, "queries/rows/") {
				what = "what stands behind the rows of other queries"
				break
			}
			what = literal(p.b.result(base).query.title)
		case "plots":
			what = "plot"
		case "data":
			for _, table := range publishedTables {
				if table.file == base {
					what = table.meaning
				}
			}
		}
		v.Files = append(v.Files, readmeFile{n, what})
	}
	for _, role := range roles {
		text := role.Reason
		if role.State == bundle.RoleRetained {
			text = fmt.Sprintf("%d files", len(role.Files))
			if len(role.Files) == 1 {
				text = "`" + role.Files[0] + "`"
			}
		}
		v.Roles = append(v.Roles, readmeRole{string(role.Role), string(role.State), text})
	}
	return v
}
