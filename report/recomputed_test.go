package report_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/report"
	"assay/report/bundle"
	"assay/report/recompute"
)

// builder is a full record, so that V-22 has nothing to say of an honest bundle.
var builder = bundle.Builder{Module: "assay", Version: "v1.0.0", Go: "go1.26", DuckDB: "", GOARCH: "amd64", Deps: map[string]string{}}

var (
	evidence sync.Map // name of a small campaign -> report.Data
	drafts   sync.Map // name of a small campaign -> bundle.Draft
)

// small returns a copy of the evidence of a small campaign, to be damaged.
func small(t testing.TB, name string) report.Data {
	t.Helper()
	data, ok := evidence.Load(name)
	if !ok {
		data = report.SmallEvidence(t, name)
		evidence.Store(name, data)
	}
	made, ok := data.(report.Data)
	if !ok {
		t.Fatal("no evidence")
	}
	return report.Data{Files: maps.Clone(made.Files)}
}

func render(t testing.TB, data report.Data) bundle.Draft {
	t.Helper()
	out, err := report.Render(context.Background(), report.Input{Data: data, Builder: recorded(t)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Draft
}

// recorded is the builder of the tests with the version of the database.
func recorded(testing.TB) bundle.Builder {
	b := builder
	b.DuckDB = "v1.5.6"
	return b
}

// draft returns a copy of the rendered finding of a small campaign.
func draft(t testing.TB, name string) bundle.Draft {
	t.Helper()
	d, ok := drafts.Load(name)
	if !ok {
		d = render(t, small(t, name))
		drafts.Store(name, d)
	}
	out, ok := d.(bundle.Draft)
	if !ok {
		t.Fatal("no draft")
	}
	out.Files = maps.Clone(out.Files)
	out.Predicate.Inputs, out.Predicate.Roles = slices.Clone(out.Predicate.Inputs), slices.Clone(out.Predicate.Roles)
	lock := *out.Predicate.PlanLock
	out.Predicate.PlanLock = &lock
	return out
}

// publish writes a draft as a careful forger would, hashed and with its row in
// the index, and loads it. Sealing would refuse some of them.
func publish(t testing.TB, d bundle.Draft) *bundle.Loaded {
	t.Helper()
	a, err := bundle.Assemble(d)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, data []byte) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range d.Files {
		write(bundle.SubjectName(a.Folder, name), data)
	}
	write(bundle.SubjectName(a.Folder, bundle.ManifestName), a.ManifestBytes)
	write(bundle.SubjectName(a.Folder, bundle.SumsName), a.Sums)
	write(a.NarrativeName, d.Narrative)
	rows, err := bundle.Index(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(bundle.IndexName, bundle.RenderIndex(rows))
	l, err := bundle.Load(filepath.Join(dir, a.Folder))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func verify(t testing.TB, l *bundle.Loaded, opt recompute.Options) bundle.Result {
	t.Helper()
	r, err := recompute.Verify(t.Context(), l, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func firstCode(r bundle.Result) bundle.Code {
	if len(r.Problems) == 0 {
		return ""
	}
	return r.Problems[0].Code
}

// tamper is one way to forge a finding and the code that must come first.
type tamper struct {
	name string
	code bundle.Code
	// data changes the evidence, from which the rest is rendered again; then draft
	// changes the finding. Either may be nil.
	data  func(testing.TB, report.Data)
	draft func(testing.TB, *bundle.Draft)
	// requireBuilder and level are those of the options; level 0 is 2.
	requireBuilder bool
	level          int
}

func (row tamper) publish(t testing.TB) *bundle.Loaded {
	t.Helper()
	var d bundle.Draft
	if row.data != nil {
		data := small(t, "failed")
		row.data(t, data)
		d = render(t, data)
	} else {
		d = draft(t, "failed")
	}
	if row.draft != nil {
		row.draft(t, &d)
	}
	return publish(t, d)
}

func (row tamper) options() recompute.Options {
	opt := recompute.Options{Level: 2, RequireBuilder: row.requireBuilder, Threads: 1}
	if row.level > 0 {
		opt.Level = row.level
	}
	return opt
}

// verify runs every check up to a code: those behind it cannot come first. A check
// that is off does not run.
func (row tamper) verify(t testing.TB, last bundle.Code, off ...bundle.Code) bundle.Result {
	t.Helper()
	checks, done := recompute.Checks(t.Context(), row.options())
	checks = slices.DeleteFunc(checks, func(c bundle.Check) bool { return c.Code > last || slices.Contains(off, c.Code) })
	r := bundle.Verify(row.publish(t), bundle.Options{Level: row.options().Level, Extra: checks})
	if err := done(); err != nil {
		t.Fatal(err)
	}
	return r
}

// codes are the codes of package recompute's checks.
func codes() []bundle.Code {
	checks, _ := recompute.Checks(context.Background(), recompute.Options{Level: 2})
	var out []bundle.Code
	for _, c := range checks {
		out = append(out, c.Code)
	}
	return out
}

func TestForgedFindingIsFoundByItsOwnCodeFirst(t *testing.T) {
	hit := map[bundle.Code]bool{}
	for _, row := range forgeries {
		hit[row.code] = true
		t.Run(row.name, func(t *testing.T) {
			r := row.verify(t, row.code)
			if firstCode(r) != row.code || r.OK() {
				t.Fatalf("first code %q, want %q: %.900v", firstCode(r), row.code, r.Problems)
			}
		})
	}
	for _, code := range codes() {
		if !hit[code] {
			t.Errorf("no forgery is found by %s first", code)
		}
	}
}

// TestForgeriesNoticeADisabledCheck takes each check out in turn: the first
// forgery of its code is then no longer found as it.
func TestForgeriesNoticeADisabledCheck(t *testing.T) {
	for _, code := range codes() {
		t.Run(string(code), func(t *testing.T) {
			at := slices.IndexFunc(forgeries, func(row tamper) bool { return row.code == code })
			if at < 0 {
				t.Fatal("no forgery has this code")
			}
			row := forgeries[at]
			r := row.verify(t, "V-99", code)
			if firstCode(r) == code {
				t.Errorf("%q is still found as %s", row.name, code)
			}
		})
	}
}

// variant is an unusual finding that is valid all the same.
type variant struct {
	name     string
	campaign string
	change   func(*bundle.Draft)
	skipped  []bundle.Code
}

var variants = []variant{
	{"unsigned, with failures and a reset", "failed", nil, []bundle.Code{"V-07"}},
	{"simulated", "simulated", nil, nil},
	{"with a repeat in another campaign", "repeated", nil, nil},
	{"engine without metrics", "no pages", nil, nil},
	{"no GPU", "no gpu", nil, nil},
	{"one arm ran", "one arm", nil, nil},
	{"nothing ran", "nothing ran", nil, nil},
	{"of another format", "failed", func(d *bundle.Draft) { d.Predicate.Format++ }, []bundle.Code{"V-21"}},
	{"rendered with another database", "failed", func(d *bundle.Draft) { d.Predicate.Builder.DuckDB = "v1.4.0" }, []bundle.Code{"V-21"}},
	{"without a builder record", "failed", func(d *bundle.Draft) { d.Predicate.Builder = bundle.Builder{} }, nil},
	{"somebody else's, made by hand", "failed", priorByHand, []bundle.Code{"V-10", "V-11", "V-15", "V-16", "V-17", "V-18", "V-19", "V-20", "V-21"}},
}

// priorByHand is the least a finding about somebody else's results has: facts and
// their sources.
func priorByHand(d *bundle.Draft) {
	p := &d.Predicate
	p.Finding.Kind, p.PlanLock, p.Tally, p.Inputs = bundle.KindExternalPrior, nil, bundle.Tally{}, nil
	for i, r := range p.Roles {
		if r.Role != bundle.RoleDecisionSummary && r.Role != bundle.RoleSourceRegistry {
			p.Roles[i] = bundle.Role{Role: r.Role, State: bundle.RoleNotApplicable, Reason: "no request was sent"}
		}
	}
	d.Files = map[string][]byte{"sanitize.json": d.Files["sanitize.json"], "facts.json": []byte("[]\n"), "sources.json": []byte("[]\n")}
	d.Narrative = []byte("# Derived\n\nScope: a pool and its window\n\n" + bundle.EndMark + "\n")
}

func TestValidFindingPassesItsRecomputation(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			d := draft(t, v.campaign)
			if v.change != nil {
				v.change(&d)
			}
			r := verify(t, publish(t, d), recompute.Options{Level: 2, Threads: 1})
			if !r.OK() {
				t.Errorf("problems: %.900v", r.Problems)
			}
			for _, code := range v.skipped {
				if !slices.ContainsFunc(r.Skips, func(s bundle.Skip) bool { return s.Code == code && s.Reason != "" }) {
					t.Errorf("%s is not skipped with a reason: %v", code, r.Skips)
				}
			}
			for _, code := range codes() {
				if ran := slices.Contains(r.Executed, code); ran == slices.Contains(v.skipped, code) {
					t.Errorf("%s ran: %v", code, ran)
				}
			}
		})
	}
}

// TestCorrectionBelowTheMarkPasses corrects a finding by another, linked both
// ways, below the end mark and in the index.
func TestCorrectionBelowTheMarkPasses(t *testing.T) {
	l := publish(t, draft(t, "failed"))
	name := bundle.NarrativeName(report.SmallID)
	e := l.Files[name]
	e.Data = append(bytes.Clone(e.Data), "\n- 2026-10-18: see [the manifest]("+l.Folder+"/manifest.json).\n"...)
	l.Links[l.Folder+"/manifest.json"] = true
	if r := verify(t, l, recompute.Options{Level: 2, Threads: 1}); !r.OK() {
		t.Errorf("problems: %.900v", r.Problems)
	}
}

func TestEmptyBuilderRecordIsAWarningUnlessItIsRequired(t *testing.T) {
	d := draft(t, "failed")
	d.Predicate.Builder.Version = "(devel)"
	l := publish(t, d)
	r := verify(t, l, recompute.Options{Level: 1, RequireBuilder: true})
	if firstCode(r) != "V-22" || !strings.Contains(r.Problems[0].Detail, "revision") {
		t.Errorf("required: %v", r.Problems)
	}
	if r := verify(t, l, recompute.Options{Level: 1}); !r.OK() || slices.Contains(r.Executed, "V-22") {
		t.Errorf("level 1: %+v", r)
	}
}

// TestStrangeQueryThatAnswersTheSamePasses has a query of another text, as a
// bundle of an earlier format may: what counts is what it answers.
func TestStrangeQueryThatAnswersTheSamePasses(t *testing.T) {
	d := draft(t, "failed")
	d.Predicate.Format++ // so that its text is not compared
	d.Files["queries/tally.sql"] = append([]byte("-- Counted another way.\n-- key: campaign\n-- n: requests_planned\n"), withoutComments(d.Files["queries/tally.sql"])...)
	r := verify(t, publish(t, d), recompute.Options{Level: 2, Threads: 1})
	if !r.OK() || !slices.Contains(r.Executed, "V-20") {
		t.Errorf("executed %v, problems %.900v", r.Executed, r.Problems)
	}
}

func withoutComments(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte("--")) {
			out = append(out, line...)
		}
	}
	return out
}
