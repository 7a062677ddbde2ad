package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"assay/collect/private"
	"assay/ingest/store"
	"assay/report/bundle"
	"assay/report/sanitize"
)

// Options say how to export and render. The zero value is right.
type Options struct {
	Threads int // of the database in memory; 0 leaves the choice to it; no byte depends on it
	// Deny are names of machines that may not be published and that nothing else
	// gives away; Allow are texts that may, although a rule takes them for private.
	Deny  []string
	Allow []sanitize.AllowEntry
	// Secrets are credentials by their value, to be cut out wherever they stand.
	Secrets    []string
	Correction Correction
}

// Publish exports a campaign, renders its finding, seals both in findingsDir,
// which must exist, and renews the index there. A finding that is already
// published is bundle.ErrExists, a campaign that is not there ErrNoCampaign.
func Publish(ctx context.Context, db *store.DB, campaign, findingsDir string, opt Options) (bundle.Sealed, error) {
	if err := opt.Correction.check(findingsDir); err != nil {
		return bundle.Sealed{}, err
	}
	data, err := ExportWith(ctx, db, campaign, opt)
	if err != nil {
		return bundle.Sealed{}, err
	}
	builder, err := CurrentBuilder(ctx, db)
	if err != nil {
		return bundle.Sealed{}, err
	}
	out, err := Render(ctx, Input{Data: data, Builder: builder, Threads: opt.Threads, Correction: opt.Correction})
	if err != nil {
		return bundle.Sealed{}, err
	}
	return sealFinding(findingsDir, out.Draft, opt)
}

// checkPrivate scans every byte that is about to be published, decoded. Something
// private is a *sanitize.Error.
func checkPrivate(d bundle.Draft, opt Options) error {
	a, err := bundle.Assemble(d)
	if err != nil {
		return err
	}
	files := maps.Clone(d.Files)
	files[a.NarrativeName], files[bundle.ManifestName] = d.Narrative, a.ManifestBytes
	rules := sanitize.Rules{Known: private.Known{Digests: sanitize.Digests(&a.Manifest), Deny: opt.Deny, Secrets: opt.Secrets}, Allow: opt.Allow}
	return sanitize.Refusal(rules.Scan(files))
}

// CurrentBuilder describes the running program, as far as its build knows.
func CurrentBuilder(ctx context.Context, db *store.DB) (bundle.Builder, error) {
	b := bundle.Builder{Module: "assay", Version: "unknown", Go: runtime.Version(), GOARCH: runtime.GOARCH, Deps: map[string]string{}}
	rows, err := db.Query(ctx, "read the version of the database", "SELECT library_version AS version FROM pragma_version()")
	if err != nil {
		return b, err
	}
	version, err := collect(rows)
	if err != nil {
		return b, store.Error("read the version of the database", err)
	}
	if len(version.rows) == 1 {
		b.DuckDB = version.text(0, "version")
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b, nil
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.VCSRevision = s.Value
		case "vcs.modified":
			modified := s.Value == "true"
			b.VCSModified = &modified
		}
	}
	for _, d := range info.Deps {
		if slices.Contains(rendering, d.Path) {
			b.Deps[d.Path] = d.Version
		}
	}
	return b, nil
}

// rendering lists the modules whose version can change a rendered byte.
var rendering = []string{
	"github.com/apache/arrow-go/v18", "github.com/duckdb/duckdb-go/v2", "github.com/klauspost/compress", "gonum.org/v1/plot", "gonum.org/v1/gonum",
}

// Difference is a file of a published finding that is not what its own evidence
// renders to.
type Difference struct {
	Finding string // ID
	File    string // relative to the findings folder
	What    string // changed, missing, or not rendered
	At      int    // first byte that differs; -1 where there is none
}

func (d Difference) String() string {
	if d.At < 0 {
		return fmt.Sprintf("%s: %s", d.File, d.What)
	}
	return fmt.Sprintf("%s: %s, first at byte %d", d.File, d.What, d.At)
}

// Recheck renders every finding of the present format in findingsDir again from
// its own evidence and compares all bytes. It writes nothing. Findings of an
// older format are passed over. No finding gives no difference.
func Recheck(ctx context.Context, findingsDir string, opt Options) ([]Difference, error) {
	folders, err := bundles(findingsDir)
	if err != nil {
		return nil, err
	}
	var out []Difference
	for _, folder := range folders {
		f, err := regenerate(ctx, findingsDir, folder, opt)
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", folder, err)
		}
		out = append(out, f.differences...)
	}
	return out, nil
}

// Rerender renders every finding of the present format again and writes the files
// that differ; it returns their names relative to findingsDir, none when all are
// as they should be. A file that only an earlier rendering made is taken away. Corrections below a narrative's end mark stay.
func Rerender(ctx context.Context, findingsDir string, opt Options) ([]string, error) {
	folders, err := bundles(findingsDir)
	if err != nil {
		return nil, err
	}
	var written []string
	for _, folder := range folders {
		f, err := regenerate(ctx, findingsDir, folder, opt)
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", folder, err)
		}
		names, err := f.write(findingsDir)
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", folder, err)
		}
		written = append(written, names...)
	}
	return written, bundle.WriteIndex(findingsDir)
}

// bundles lists the folders of findingsDir that have a manifest, sorted.
func bundles(findingsDir string) ([]string, error) {
	entries, err := os.ReadDir(findingsDir)
	if err != nil {
		return nil, fmt.Errorf("list findings: %w", err)
	}
	var out []string
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if _, err := os.Lstat(filepath.Join(findingsDir, e.Name(), bundle.ManifestName)); err == nil {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// regenerated is a finding beside what its evidence renders to.
type regenerated struct {
	id          string
	want        map[string][]byte // by name relative to the findings folder
	differences []Difference
	tail        []byte // of the narrative, below the end mark
	// stale are files that an earlier rendering made and this one does not: subjects
	// of the manifest, unchanged since.
	stale []string
}

func regenerate(ctx context.Context, findingsDir, folder string, opt Options) (regenerated, error) {
	l, err := bundle.Load(filepath.Join(findingsDir, folder))
	if err != nil {
		return regenerated{}, err
	}
	if l.Manifest == nil {
		return regenerated{}, fmt.Errorf("%w; see assay verify on that folder", l.ManifestErr)
	}
	p := l.Manifest.Predicate
	if p.Format != bundle.Format || p.Finding.Kind == bundle.KindExternalPrior {
		return regenerated{id: p.Finding.ID}, nil
	}
	out, err := Render(ctx, PublishedInput(l, opt.Threads))
	if err != nil {
		return regenerated{}, err
	}
	return compareWith(l, out)
}

// PublishedInput is what a published finding was rendered from.
func PublishedInput(l *bundle.Loaded, threads int) Input {
	p := l.Manifest.Predicate
	in := Input{Data: PublishedData(l), Builder: p.Builder, Threads: threads}
	if p.Finding.Supersedes != "" {
		in.Correction = Correction{Name: p.Finding.ID, Supersedes: p.Finding.Supersedes}
	}
	return in
}

// PublishedData are the files of a loaded bundle by their path in its folder.
func PublishedData(l *bundle.Loaded) Data {
	data := Data{Files: map[string][]byte{}}
	for name, e := range l.Files {
		if file, ok := strings.CutPrefix(name, l.Folder+"/"); ok && e.Data != nil {
			data.Files[file] = e.Data
		}
	}
	return data
}

// Differences lists what of a published finding is not what out says, by name.
// An error means that the two are not of one finding.
func Differences(l *bundle.Loaded, out Output) ([]Difference, error) {
	f, err := compareWith(l, out)
	return f.differences, err
}

// compareWith puts a rendering beside the published bundle it was made from.
func compareWith(l *bundle.Loaded, out Output) (regenerated, error) {
	folder := l.Folder
	a, err := bundle.Assemble(out.Draft)
	if err != nil {
		return regenerated{}, err
	}
	if a.Folder != folder {
		return regenerated{}, errors.New("the folder is not the one its evidence names: " + a.Folder)
	}
	f := regenerated{id: l.Manifest.Predicate.Finding.ID, want: map[string][]byte{
		a.NarrativeName: out.Draft.Narrative,
		bundle.SubjectName(folder, bundle.ManifestName): a.ManifestBytes,
		bundle.SubjectName(folder, bundle.SumsName):     a.Sums,
	}}
	for name, file := range out.Draft.Files {
		f.want[bundle.SubjectName(folder, name)] = file
	}
	f.compare(l, folder, a.NarrativeName)
	return f, nil
}

// compare lists what differs, by name.
func (f *regenerated) compare(l *bundle.Loaded, folder, narrative string) {
	have := map[string][]byte{}
	for name, e := range l.Files {
		if e.Data == nil {
			continue
		}
		have[name] = e.Data
		if name == narrative {
			have[name], f.tail = e.Data[:e.Region], e.Data[e.Region:]
		}
	}
	have[bundle.SubjectName(folder, bundle.ManifestName)] = l.ManifestBytes
	have[bundle.SubjectName(folder, bundle.SumsName)] = l.Sums
	for _, name := range slices.Sorted(maps.Keys(f.want)) {
		published, ok := have[name]
		switch {
		case !ok || published == nil:
			f.differences = append(f.differences, Difference{f.id, name, "missing", -1})
		case !bytes.Equal(published, f.want[name]):
			f.differences = append(f.differences, Difference{f.id, name, "not what its evidence renders to", firstDifference(published, f.want[name])})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, ok := f.want[name]; !ok {
			if unchangedSubject(l, name) {
				f.stale = append(f.stale, name)
			}
			f.differences = append(f.differences, Difference{f.id, name, "follows from nothing in the evidence", -1})
		}
	}
}

// unchangedSubject reports whether a file is listed in the manifest with the digest
// it has.
func unchangedSubject(l *bundle.Loaded, name string) bool {
	return slices.ContainsFunc(l.Manifest.Subject, func(s bundle.Subject) bool {
		return s.Name == name && l.Files[name] != nil && l.Files[name].SHA256 == s.Digest.SHA256
	})
}

func firstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// write puts the rendered bytes in place of those that differ, and takes away what
// only an earlier rendering made. Each file is replaced in one step; another file
// that follows from nothing is left for its owner.
func (f *regenerated) write(findingsDir string) ([]string, error) {
	var written []string
	for _, d := range f.differences {
		data, ok := f.want[d.File]
		if !ok {
			continue
		}
		if !strings.Contains(d.File, "/") {
			data = append(slices.Clone(data), f.tail...)
		}
		if err := replaceFile(filepath.Join(findingsDir, filepath.FromSlash(d.File)), data); err != nil {
			return nil, err
		}
		written = append(written, d.File)
	}
	for _, name := range f.stale {
		if err := os.Remove(filepath.Join(findingsDir, filepath.FromSlash(name))); err != nil {
			return nil, err
		}
		written = append(written, name)
	}
	return written, nil
}

// replaceFile writes a file beside its name and renames it into place.
func replaceFile(name string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(name), ".assay-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(0o644), temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), name)
}
