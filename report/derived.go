package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/ingest/store"
	"assay/report/bundle"
)

// Derive renders a derived finding from the data that DeriveData returned, seals
// it in findingsDir, which must exist, and renews the index there. A finding that
// is already published is bundle.ErrExists.
func Derive(ctx context.Context, data Data, findingsDir string, opt Options) (sealed bundle.Sealed, err error) {
	db, err := store.Open("", store.Options{Threads: 1})
	if err != nil {
		return bundle.Sealed{}, err
	}
	builder, err := CurrentBuilder(ctx, db)
	if err = errors.Join(err, db.Close()); err != nil {
		return bundle.Sealed{}, err
	}
	out, err := Render(ctx, Input{Data: data, Builder: builder, Threads: opt.Threads})
	if err != nil {
		return bundle.Sealed{}, err
	}
	return sealFinding(findingsDir, out.Draft, opt)
}

// derivedRenderer holds what a derived finding is made from.
type derivedRenderer struct {
	pages
	words   derivation
	label   string // evidence label of every claim
	sources []derivedSource
}

func renderDerived(ctx context.Context, in Input) (Output, error) {
	r := &derivedRenderer{pages: pages{data: in.Data, kind: bundle.KindDerived}}
	if err := r.read(ctx, in.Threads); err != nil {
		return Output{}, fmt.Errorf("render derived finding: %w", err)
	}
	out, err := r.render(in.Builder)
	if err != nil {
		return Output{}, fmt.Errorf("render finding %s: %w", r.id, err)
	}
	return out, nil
}

// read takes the evidence files and answers the queries over the facts.
func (r *derivedRenderer) read(ctx context.Context, threads int) (err error) {
	var facts struct {
		Label string `json:"label"`
	}
	for _, f := range []struct {
		name   string
		target any
	}{{factsFile, &facts}, {derivationFile, &r.words}, {sourcesFile, &r.sources}, {sanitizeFile, &r.record}} {
		if err := json.Unmarshal(r.data.Files[f.name], f.target); err != nil {
			return fmt.Errorf("%s cannot be read as JSON", f.name)
		}
	}
	if err := bundle.CheckID(r.words.Finding); err != nil {
		return err
	}
	r.id, r.folder = r.words.Finding, bundle.FolderName(r.words.Finding)
	if r.queries, err = loadDerivedQueries(); err != nil {
		return err
	}
	db, err := store.Open("", store.Options{Threads: threads})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := loadFacts(ctx, db, r.data.Files); err != nil {
		return err
	}
	if err := r.ask(ctx, db.SQL()); err != nil {
		return err
	}
	r.label = facts.Label
	title, err := r.expand(r.words.Title)
	r.titled = unmark(title)
	return err
}

// The two tables that the queries of a derived finding read. The bundle has these
// statements in load.sql, so that anyone can run the queries again.
var derivedTables = []struct{ file, load string }{
	{factsFile, `CREATE TABLE facts AS SELECT unnest(facts, recursive := true) FROM read_json(%s, columns = {facts:
    'STRUCT(fact VARCHAR, subject VARCHAR, attribute VARCHAR, basis VARCHAR, whole BIGINT, words VARCHAR, unit VARCHAR, n BIGINT, source VARCHAR, source_sha256 VARCHAR, place VARCHAR)[]'})`},
	{sourcesFile, `CREATE TABLE sources AS SELECT * FROM read_json(%s, columns = {source: 'VARCHAR', kind: 'VARCHAR', name: 'VARCHAR', retrieved: 'BOOLEAN', sha256: 'VARCHAR', bytes: 'BIGINT', reason: 'VARCHAR'})`},
}

func loadFacts(ctx context.Context, db *store.DB, files map[string][]byte) (err error) {
	dir, err := os.MkdirTemp("", "assay-derive-*")
	if err != nil {
		return fmt.Errorf("load facts: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, t := range derivedTables {
		path := filepath.Join(dir, t.file)
		if err := os.WriteFile(path, files[t.file], 0o600); err != nil {
			return fmt.Errorf("load facts: %w", err)
		}
		if _, err := db.SQL().ExecContext(ctx, fmt.Sprintf(t.load, quoted(path))); err != nil {
			return store.Error("read "+t.file, err)
		}
	}
	return nil
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func (r *derivedRenderer) render(builder bundle.Builder) (Output, error) {
	files := r.evidence(isDerivedEvidence)
	r.addQueries(files)
	for _, t := range derivedTables {
		files["load.sql"] = append(files["load.sql"], fmt.Sprintf(t.load, quoted(t.file))+";\n"...)
	}
	if err := r.addTables(files); err != nil {
		return Output{}, err
	}
	v, err := r.view()
	if err != nil {
		return Output{}, err
	}
	marked, err := execute("derived.md.tmpl", v)
	if err != nil {
		return Output{}, err
	}
	r.attribute()
	narrative := r.b.finish("finding", marked)
	v.Post = r.post(v)
	for _, f := range []struct{ template, name string }{{"derived-friction.md.tmpl", "friction.md"}, {"derived-summary.md.tmpl", "publication-summary.md"}} {
		text, err := execute(f.template, v)
		if err != nil {
			return Output{}, err
		}
		files[f.name] = []byte(r.b.finish(f.name, text))
	}
	if err := r.addClaims(files); err != nil {
		return Output{}, err
	}
	if err := r.addMap(files, r.roles(), "derived-readme.md.tmpl"); err != nil {
		return Output{}, err
	}
	return Output{
		Draft:  bundle.Draft{Predicate: r.predicate(builder), Folder: r.folder, Narrative: []byte(narrative), Files: files},
		Claims: r.b.printed(), marked: marked,
	}, nil
}

// attribute notes in every claim what it rests on and which sources it comes from:
// the columns basis and source_sha256 of its row.
func (r *derivedRenderer) attribute() {
	for i := range r.b.claims {
		c := &r.b.claims[i]
		res := r.b.result(c.query())
		key := strings.TrimPrefix(c.ID[:strings.LastIndexByte(c.ID, ':')], c.query()+":")
		for row := range res.rows {
			if res.key(row) == key {
				c.Basis, c.Label, c.Sources = res.text(row, "basis"), r.label, strings.Fields(res.text(row, "source_sha256"))
			}
		}
	}
}

// isDerivedEvidence reports whether a file of a derived bundle is one that the
// others follow from.
func isDerivedEvidence(name string) bool {
	return slices.Contains([]string{factsFile, derivationFile, sourcesFile, sanitizeFile}, name)
}

func (r *derivedRenderer) predicate(builder bundle.Builder) bundle.Predicate {
	p := bundle.Predicate{
		Format:  bundle.Format,
		Finding: bundle.Finding{ID: r.id, Kind: r.kind, Supersedes: r.words.Supersedes},
		Roles:   r.roles(),
		Sanitizer: &bundle.Sanitizer{
			RulesSHA256: r.record.RulesSHA256, Dropped: r.record.Dropped, Replaced: r.record.Replaced, AllowEntries: int64(len(r.record.Allow)),
		},
		Limits: bundle.DefaultLimits(), NonClaims: nonClaims(r.kind), Builder: builder,
	}
	for _, s := range r.sources {
		if s.Retrieved && s.SHA256 != nil && s.Bytes != nil {
			p.Inputs = append(p.Inputs, bundle.Input{Name: s.Source, Kind: s.Kind, SHA256: *s.SHA256, Size: *s.Bytes})
		}
	}
	return p
}

// noRequest is why a derived finding has no part that a campaign would have.
const noRequest = "a derived finding sends no request"

func (r *derivedRenderer) roles() []bundle.Role {
	files := map[bundle.RoleName][]string{
		bundle.RoleEvidenceIndex:      {"README.md"},
		bundle.RoleSourceRegistry:     {sourcesFile},
		bundle.RoleConfiguration:      {factsFile},
		bundle.RoleFailures:           {"friction.md"},
		bundle.RolePublicationSummary: {"publication-summary.md"},
	}
	var roles []bundle.Role
	for _, name := range bundle.RoleNames() {
		role := bundle.Role{Role: name, State: bundle.RoleRetained, Files: []string{}}
		for _, f := range files[name] {
			role.Files = append(role.Files, bundle.SubjectName(r.folder, f))
		}
		switch {
		case name == bundle.RoleDecisionSummary:
			role.Files = []string{bundle.NarrativeName(r.id)}
		case len(role.Files) == 0:
			role.State, role.Reason = bundle.RoleNotApplicable, noRequest
		}
		roles = append(roles, role)
	}
	return roles
}
