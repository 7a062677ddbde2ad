package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"

	"assay/collect/plan"
	"assay/report/bundle"
	"assay/templates"
)

// Input is everything a finding is rendered from.
type Input struct {
	// Data holds the evidence files of the bundle; other files are not looked at.
	Data Data
	// Builder is printed in the manifest and nowhere else. A regeneration takes
	// it from the published manifest.
	Builder bundle.Builder
	// Threads of the database in memory; 0 leaves the choice to it. No byte
	// depends on it.
	Threads int
	// Correction is what the manifest says of one that corrects another finding.
	Correction Correction
}

// Output is a rendered finding, ready to be sealed.
type Output struct {
	Draft  bundle.Draft
	Claims []Claim // as in claims.json

	// marked is the narrative with the marks of claims and configured values,
	// kept so that a test can tell a claim from prose.
	marked string
}

// Render makes a finding from the evidence files of its bundle. It reads no
// clock, no environment and no file that is not in the input; the same input
// gives the same bytes. An error means the evidence cannot be read, or is not of
// this form.
func Render(ctx context.Context, in Input) (Output, error) {
	if _, ok := in.Data.Files[factsFile]; ok {
		return renderDerived(ctx, in)
	}
	r, err := newRenderer(ctx, in)
	if err != nil {
		return Output{}, fmt.Errorf("render finding: %w", err)
	}
	out, err := r.render(in)
	if err != nil {
		return Output{}, fmt.Errorf("render finding %s: %w", r.id, err)
	}
	return out, nil
}

// pages is what findings of every kind are made from.
type pages struct {
	b       *book
	queries []query
	record  sanitizeRecord
	data    Data

	id     string // of the finding
	titled string // its title, plain
	folder string // of the bundle
	kind   bundle.Kind
	// supersedes is the finding this one corrects, "" for none.
	supersedes string
}

// renderer holds what every part of a campaign's finding is made from.
type renderer struct {
	pages
	plan    *plan.Plan
	lock    plan.Lock
	columns []tableColumns
	sources []sourceRecord
}

func newRenderer(ctx context.Context, in Input) (*renderer, error) {
	r := &renderer{pages: pages{data: in.Data}}
	s, err := r.open(ctx, in)
	if err != nil {
		return nil, err
	}
	return r, s.close()
}

// open reads the evidence files and answers the named queries. The session it
// returns can answer more of them.
func (r *renderer) open(ctx context.Context, in Input) (*session, error) {
	if err := r.readFiles(); err != nil {
		return nil, err
	}
	if err := r.name(in.Correction); err != nil {
		return nil, err
	}
	s, err := openSession(ctx, in.Data.Files, in.Threads)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(r.runQueries(ctx, s.conn), r.readKind()); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// readKind takes the kind of the finding from its campaign.
func (r *renderer) readKind() error {
	if r.b == nil {
		return nil // the queries failed, and that is the error
	}
	campaign := r.b.result("campaign")
	if len(campaign.rows) != 1 || len(r.b.result("tally").rows) != 1 {
		return fmt.Errorf("data/campaigns.parquet holds %d campaigns with cells, not one", len(campaign.rows))
	}
	switch kind := bundle.Kind(campaign.text(0, "kind")); kind {
	case bundle.KindMeasured, bundle.KindSimulated:
		r.kind = kind
		r.titled = r.title()
		return nil
	}
	return errors.New("data/campaigns.parquet: the campaign is neither measured nor simulated")
}

func (r *renderer) readFiles() error {
	files := r.data.Files
	p, problems := plan.Decode(files[planFile])
	if p == nil || len(problems) > 0 {
		return fmt.Errorf("%s is not a plan (%d problems)", planFile, len(problems))
	}
	r.plan = p
	var err error
	if r.lock, err = plan.DecodeLock(files[lockFile]); err != nil {
		return fmt.Errorf("%s: %w", lockFile, err)
	}
	var columns struct {
		Tables []tableColumns `json:"tables"`
	}
	for _, f := range []struct {
		name   string
		target any
	}{{columnsFile, &columns}, {sanitizeFile, &r.record}, {sourcesFile, &r.sources}} {
		if err := json.Unmarshal(files[f.name], f.target); err != nil {
			return fmt.Errorf("%s cannot be read as JSON", f.name)
		}
	}
	r.columns = columns.Tables
	return nil
}

// name takes the names of the finding and its bundle from the plan; a correction
// has names of its own.
func (r *renderer) name(c Correction) error {
	if c.Supersedes != "" {
		r.id, r.folder, r.supersedes = c.Name, bundle.FolderName(c.Name), c.Supersedes
		return bundle.CheckID(c.Name)
	}
	finding, _ := r.plan.Publication.Get("finding")
	folder, _ := r.plan.Publication.Get("bundle")
	id, ok := strings.CutSuffix(path.Base(finding), ".md")
	if !ok {
		return errors.New("the plan's publication.finding does not name a Markdown file; give it one such as findings/2026-10-17-name.md")
	}
	r.id, r.folder = id, path.Base(folder)
	if folder == "" {
		r.folder = bundle.FolderName(id)
	}
	return bundle.CheckID(id)
}

// runQueries runs the named queries on the session's connection.
func (r *renderer) runQueries(ctx context.Context, conn querier) (err error) {
	if r.queries, err = loadQueries(); err != nil {
		return err
	}
	return r.ask(ctx, conn)
}

// ask runs the queries and opens the book of claims.
func (p *pages) ask(ctx context.Context, db querier) (err error) {
	results := make(map[string]*result, len(p.queries))
	for _, q := range p.queries {
		if results[q.name], err = run(ctx, db, q); err != nil {
			return err
		}
	}
	p.b = newBook(results)
	return nil
}

func (r *renderer) render(in Input) (Output, error) {
	files := r.evidence(isEvidence)
	r.addQueries(files)
	if err := addRowsQueries(files); err != nil {
		return Output{}, err
	}
	if err := r.addTables(files); err != nil {
		return Output{}, err
	}
	plots, err := r.plots()
	if err != nil {
		return Output{}, err
	}
	for _, p := range plots {
		files["plots/"+p.file] = p.svg
	}
	marked, err := r.addTexts(files, plots)
	if err != nil {
		return Output{}, err
	}
	narrative := r.b.finish("finding", marked)
	if err := r.addRecords(files); err != nil {
		return Output{}, err
	}
	return Output{
		Draft: bundle.Draft{
			Predicate: r.predicate(in.Builder, files),
			Folder:    r.folder, Narrative: []byte(narrative), Files: files,
		},
		Claims: r.b.printed(), marked: marked,
	}, nil
}

// isEvidence reports whether a bundle file comes from Export; every other file
// follows from those.
func isEvidence(name string) bool {
	switch name {
	case planFile, lockFile, sourcesFile, sanitizeFile, columnsFile:
		return true
	}
	return slices.ContainsFunc(publishedTables, func(p published) bool { return name == "data/"+p.file+".parquet" })
}

// evidence returns the files that were not made by rendering.
func (p *pages) evidence(is func(name string) bool) map[string][]byte {
	files := map[string][]byte{}
	for name, data := range p.data.Files {
		if is(name) {
			files[name] = data
		}
	}
	return files
}

func (p *pages) addQueries(files map[string][]byte) {
	for _, q := range p.queries {
		files["queries/"+q.name+".sql"] = []byte(q.text)
	}
}

func addRowsQueries(files map[string][]byte) error {
	rows, err := loadRowsQueries()
	for _, q := range rows {
		files["queries/rows/"+q.name+".sql"] = []byte(q.text)
	}
	return err
}

// addTables writes each result as CSV: a header, exact values, sorted by the
// unique key its query orders by.
func (p *pages) addTables(files map[string][]byte) error {
	for _, q := range p.queries {
		if q.plain {
			continue
		}
		var buf bytes.Buffer
		w := csv.NewWriter(&buf)
		res := p.b.result(q.name)
		if err := w.Write(res.columns); err != nil {
			return fmt.Errorf("table %s: %w", q.name, err)
		}
		for _, row := range res.rows {
			record := make([]string, len(row))
			for i, v := range row {
				record[i] = rawText(v)
			}
			if err := w.Write(record); err != nil {
				return fmt.Errorf("table %s: %w", q.name, err)
			}
		}
		w.Flush()
		if err := w.Error(); err != nil {
			return fmt.Errorf("table %s: %w", q.name, err)
		}
		files["tables/"+q.name+".csv"] = buf.Bytes()
	}
	return nil
}

// addTexts writes the Markdown files of the bundle, and returns the narrative
// with its marks.
func (r *renderer) addTexts(files map[string][]byte, plots []plotFile) (string, error) {
	v := r.view(plots)
	marked, err := execute("finding.md.tmpl", v)
	if err != nil {
		return "", err
	}
	r.b.finish("finding", marked) // so that the summary's ledger knows what is printed
	v.Post = r.post(v, plots)
	for _, f := range []struct{ template, name string }{{"friction.md.tmpl", "friction.md"}, {"summary.md.tmpl", "publication-summary.md"}} {
		text, err := execute(f.template, v)
		if err != nil {
			return "", err
		}
		files[f.name] = []byte(r.b.finish(f.name, text))
	}
	return marked, nil
}

func execute(name string, v any) (string, error) {
	t, err := template.New(name).Funcs(template.FuncMap{"given": given}).ParseFS(templates.FS, "*.tmpl")
	if err != nil {
		return "", fmt.Errorf("templates: %w", err)
	}
	var buf strings.Builder
	if err := t.ExecuteTemplate(&buf, name, v); err != nil {
		return "", fmt.Errorf("template: %w", err)
	}
	return tidy(buf.String()), nil
}

// tidy leaves at most one empty line between blocks and none at the end, so that
// templates can be laid out for their reader.
func tidy(text string) string {
	var b strings.Builder
	empty := true
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\n")
		if line == "" && empty {
			continue
		}
		empty = line == ""
		b.WriteString(line + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// addRecords writes the JSON files that follow from the evidence, and the map of
// the bundle last, because it lists the others.
func (r *renderer) addRecords(files map[string][]byte) error {
	for name, v := range map[string]any{
		"verdicts.json":       r.verdicts(),
		"environment.json":    r.environment(),
		"quality-ledger.json": r.ledger(),
		"restoration.json":    r.restoration(),
	} {
		data, err := encodeJSON(v)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		files[name] = data
	}
	if err := r.addClaims(files); err != nil {
		return err
	}
	return r.addMap(files, r.roles(), "readme.md.tmpl")
}

// addClaims writes claims.json from what was printed so far.
func (p *pages) addClaims(files map[string][]byte) error {
	rows := map[string]string{}
	for _, q := range p.queries {
		rows[q.name] = q.rows
	}
	claims, err := encodeClaims(p.b.printed(), rows)
	if err != nil {
		return fmt.Errorf("claims.json: %w", err)
	}
	files["claims.json"] = claims
	return nil
}

// addMap writes the map of the bundle, which lists every other file.
func (p *pages) addMap(files map[string][]byte, roles []bundle.Role, name string) error {
	names := append(slices.Sorted(maps.Keys(files)), "README.md")
	slices.Sort(names)
	text, err := execute(name, p.readme(names, roles))
	if err != nil {
		return err
	}
	files["README.md"] = []byte(unmark(text))
	return nil
}
