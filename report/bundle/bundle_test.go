package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const testID = "2026-10-17-glm53-serving-performance"

// testDraft is a small measured finding with text, binary and nested files.
func testDraft(id string) Draft {
	folder := FolderName(id)
	named := func(file string) []string { return []string{SubjectName(folder, file)} }
	parquet := make([]byte, 3000)
	for i := range parquet {
		parquet[i] = byte(i * 7)
	}
	other := bytes.Clone(parquet)
	other[17] ^= 1
	d := Draft{
		Narrative: []byte("# GLM-5.3 serving \\| performance\n\nScope: two arms, 48 cells\n\nBody.\n\n" + EndMark + "\n"),
		Files: map[string][]byte{
			"README.md":              []byte("# Map\n\nfiles\n"),
			"plan.json":              []byte("{\n  \"a\": 1\n}\n"),
			"claims.json":            []byte("[]\n"),
			"data/requests.parquet":  parquet,
			"data/gaps.parquet":      other,
			"data/columns.json":      []byte("{\"x\": 1}\n"),
			"queries/e2e.sql":        []byte("SELECT 1\n"),
			"friction.md":            []byte("none\n"),
			"publication-summary.md": []byte("short\n"),
			"plots/ttfo.svg":         []byte("<svg/>\n"),
			SanitizeName:             testSanitizeRecord(),
		},
	}
	files := map[RoleName][]string{
		RoleEvidenceIndex: {SubjectName(folder, ManifestName), SubjectName(folder, "README.md")},
		RoleRunPlan:       named("plan.json"), RoleRawRunEvidence: named("data/requests.parquet"),
		RoleFailures: named("friction.md"), RoleDecisionSummary: {NarrativeName(id)},
		RolePublicationSummary: named("publication-summary.md"),
	}
	var roles []Role
	for _, name := range RoleNames() {
		if f := files[name]; f != nil {
			roles = append(roles, Role{Role: name, State: RoleRetained, Files: f})
		} else {
			roles = append(roles, Role{Role: name, State: RoleMissing, Reason: "not collected"})
		}
	}
	rows := int64(534)
	d.Predicate = Predicate{
		Format: Format, Finding: Finding{ID: id, Kind: KindMeasured}, Roles: roles,
		PlanLock: &PlanLock{CanonicalSHA256: digestOf([]byte("a")), RedactedSHA256: digestOf([]byte("b")), LockedAtUnixNs: 1792195200000000001},
		Inputs:   []Input{{Name: "requests", Kind: "raw-run", SHA256: digestOf([]byte("c")), Size: 12, Rows: &rows}},
		Tally: Tally{
			Cells:    Counts{Planned: 48, Dispatched: 48, Terminal: 48, Passing: 47, Eligible: 42},
			Requests: Counts{Planned: 534, Dispatched: 534, Terminal: 534, Passing: 530, Eligible: 500},
		},
		Sanitizer: testSanitizer(),
		Limits:    DefaultLimits(), NonClaims: []string{"hardware identity", "<causes> & \"generality\""},
		Builder: Builder{Module: "assay", Version: "(devel)", Go: "go1.26", DuckDB: "v1.5.6", GOARCH: "amd64", Deps: map[string]string{"m": "v1"}},
	}
	return d
}

// box is a findings folder with one sealed finding in it.
type box struct {
	t        testing.TB
	findings string
	folder   string
	id       string
}

func sealed(t testing.TB, d Draft) box {
	t.Helper()
	b := box{t: t, findings: t.TempDir(), id: d.Predicate.Finding.ID}
	s, err := SealFS(&faultFS{FS: OS{}}, b.findings, d) // a thousand fsyncs take their time
	if err != nil {
		t.Fatal(err)
	}
	b.folder = s.Folder
	return b
}

// copyBox gives a test a copy of a sealed finding to damage.
func (b box) copyBox(t testing.TB) box {
	t.Helper()
	c := box{t: t, findings: filepath.Join(t.TempDir(), "findings"), folder: b.folder, id: b.id}
	c.must(os.CopyFS(c.findings, os.DirFS(b.findings)))
	return c
}

func (b box) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b box) bundle() string { return filepath.Join(b.findings, b.folder) }

// path is where a file is, by its name in the bundle folder or "../NAME".
func (b box) path(name string) string { return filepath.Join(b.bundle(), filepath.FromSlash(name)) }

func (b box) narrative() string { return "../" + NarrativeName(b.id) }

func (b box) read(name string) []byte {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	b.must(err)
	return data
}

func (b box) write(name string, data []byte) {
	b.t.Helper()
	b.must(os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	b.must(os.WriteFile(b.path(name), data, 0o644))
}

// edit changes a file's bytes.
func (b box) edit(name string, change func([]byte) []byte) {
	b.t.Helper()
	b.write(name, change(b.read(name)))
}

// remanifest changes the manifest canonically and derives SHA256SUMS again: a
// careful forger. It encodes manifests that Validate would refuse, too.
func (b box) remanifest(change func(*Manifest)) {
	b.t.Helper()
	m, err := Decode(b.read(ManifestName))
	b.must(err)
	change(&m)
	data, err := encode(m)
	b.must(err)
	b.write(ManifestName, data)
	b.write(SumsName, Sums(m.normal(), data))
}

// add publishes one more file, listed and hashed.
func (b box) add(name string, data []byte) {
	b.t.Helper()
	b.write(name, data)
	b.remanifest(func(m *Manifest) {
		m.Subject = append(m.Subject, subjectOf(SubjectName(b.folder, name), data))
	})
}

func (b box) verify() Result {
	b.t.Helper()
	l, err := Load(b.bundle())
	b.must(err)
	return Verify(l, Options{})
}

// files lists every file of bundle and narrative, as path takes them.
func (b box) files() []string {
	b.t.Helper()
	out := []string{b.narrative()}
	b.must(filepath.WalkDir(b.bundle(), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(b.bundle(), p)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	}))
	return out
}

func TestSealedBundlePasses(t *testing.T) {
	r := sealed(t, testDraft(testID)).verify()
	if !r.OK() || len(r.Problems) != 0 {
		t.Fatalf("problems: %v", r.Problems)
	}
	want := []Code{"V-01", "V-02", "V-03", "V-04", "V-05", "V-06", "V-08", "V-09", "V-13"}
	if diff := cmp.Diff(want, r.Executed); diff != "" {
		t.Errorf("executed (-want +got):\n%s", diff)
	}
	for _, code := range []Code{"V-07", "V-12", "V-14"} {
		if !skipped(r, code) {
			t.Errorf("%s is not skipped with a reason: %v", code, r.Skips)
		}
	}
}

func TestSealIsDeterministic(t *testing.T) {
	a, b := sealed(t, testDraft(testID)), box{t: t, findings: t.TempDir(), folder: FolderName(testID), id: testID}
	_, err := Seal(b.findings, testDraft(testID))
	b.must(err)
	for _, name := range a.files() {
		if !bytes.Equal(a.read(name), b.read(name)) {
			t.Errorf("%s differs", name)
		}
	}
}

func TestSealPublishesExactlyTheDraft(t *testing.T) {
	d := testDraft(testID)
	b := sealed(t, d)
	for name, data := range d.Files {
		if !bytes.Equal(b.read(name), data) {
			t.Errorf("%s has other bytes", name)
		}
	}
	if len(b.files()) != len(d.Files)+3 {
		t.Errorf("files: %v", b.files())
	}
	entries, err := os.ReadDir(b.findings)
	if err != nil || len(entries) != 2 {
		t.Errorf("findings folder holds %v, %v", entries, err)
	}
	a, err := Assemble(d)
	if err != nil || !bytes.Equal(a.ManifestBytes, b.read(ManifestName)) || !bytes.Equal(a.Sums, b.read(SumsName)) {
		t.Errorf("Assemble differs from what is on disk: %v", err)
	}
}

func TestSealRefusesExisting(t *testing.T) {
	for _, left := range []string{"both", "bundle", "narrative"} {
		t.Run(left, func(t *testing.T) {
			b := sealed(t, testDraft(testID))
			if left == "bundle" {
				b.must(os.Remove(b.path(b.narrative())))
			}
			if left == "narrative" {
				b.must(os.RemoveAll(b.bundle()))
			}
			before := tree(t, b.findings)
			if _, err := Seal(b.findings, testDraft(testID)); !errors.Is(err, ErrExists) {
				t.Errorf("err = %v, want ErrExists", err)
			}
			if diff := cmp.Diff(before, tree(t, b.findings)); diff != "" {
				t.Errorf("folder changed:\n%s", diff)
			}
		})
	}
}

func TestSealRefusesBadDrafts(t *testing.T) {
	big := make([]byte, MaxFileBytes+1)
	cases := []struct {
		name   string
		change func(*Draft)
		want   string
	}{
		{"no date", func(d *Draft) { d.Predicate.Finding.ID = "glm53" }, "YYYY-MM-DD"},
		{"no such date", func(d *Draft) { d.Predicate.Finding.ID = "2026-02-30-x" }, "date"},
		{"path in id", func(d *Draft) { d.Predicate.Finding.ID = "2026-02-03-x/../../y" }, "finding id"},
		{"no end mark", func(d *Draft) { d.Narrative = []byte("# x\n") }, "exactly once"},
		{"two end marks", func(d *Draft) { d.Narrative = append(d.Narrative, d.Narrative...) }, "exactly once"},
		{"text after end mark", func(d *Draft) { d.Narrative = append(d.Narrative, "x\n"...) }, "does not end"},
		{"mark inside a line", func(d *Draft) { d.Narrative = []byte("# x " + EndMark + "\n") }, "does not end"},
		{"CRLF narrative", func(d *Draft) { d.Narrative = bytes.ReplaceAll(d.Narrative, []byte("\n"), []byte("\r\n")) }, "line feeds"},
		{"escaping file", func(d *Draft) { d.Files["../../x"] = nil }, "leading dot"},
		{"absolute file", func(d *Draft) { d.Files["/etc/x"] = nil }, "empty segment"},
		{"upper case", func(d *Draft) { d.Files["Data/x"] = nil }, "outside"},
		{"control file", func(d *Draft) { d.Files[ManifestName] = nil }, "control file"},
		{"sums file", func(d *Draft) { d.Files[SumsName] = nil }, "outside"},
		{"folder with slash", func(d *Draft) { d.Folder = "a/b" }, "bundle folder"},
		{"folder is narrative", func(d *Draft) { d.Folder = testID + ".md" }, "bundle folder"},
		{"file too big", func(d *Draft) { d.Files["data/big.parquet"] = big }, "V-06"},
		{"role names nothing", func(d *Draft) { d.Predicate.Roles[0].Files = []string{"nowhere"} }, "V-02"},
		{"nine roles", func(d *Draft) { d.Predicate.Roles = d.Predicate.Roles[1:] }, "ten roles"},
		{"kind", func(d *Draft) { d.Predicate.Finding.Kind = "real" }, "unknown kind"},
		{"bad UTF-8", func(d *Draft) { d.Predicate.NonClaims = []string{"\xff"} }, "UTF-8"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := testDraft(testID)
			c.change(&d)
			dir := t.TempDir()
			_, err := Seal(dir, d)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v, want one with %q", err, c.want)
			}
			if left := tree(t, dir); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestSumsPassesStockSha256sum(t *testing.T) {
	program, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip("sha256sum is not installed")
	}
	b := sealed(t, testDraft(testID))
	cmd := exec.Command(program, "-c", "--strict", SumsName)
	cmd.Dir = b.bundle()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), ": OK"); n != len(b.files())-1 {
		t.Errorf("%d files checked, want %d:\n%s", n, len(b.files())-1, out)
	}
	b.edit("data/gaps.parquet", func(data []byte) []byte { data[5] ^= 1; return data })
	cmd = exec.Command(program, "-c", SumsName)
	cmd.Dir = b.bundle()
	if err := cmd.Run(); err == nil {
		t.Error("sha256sum passes a changed file")
	}
}

func TestLoadRefusesWhatIsNoFolder(t *testing.T) {
	b := sealed(t, testDraft(testID))
	for _, name := range []string{"nowhere", ManifestName} {
		if _, err := Load(b.path(name)); err == nil {
			t.Errorf("Load(%s) = nil error", name)
		}
	}
}

func TestLoadWorksFromInsideTheBundle(t *testing.T) {
	b := sealed(t, testDraft(testID))
	t.Chdir(b.bundle())
	l, err := Load(".")
	b.must(err)
	if r := Verify(l, Options{}); !r.OK() {
		t.Errorf("problems: %v", r.Problems)
	}
}

func TestPackageLinksNoCgoAndNoDatabase(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not installed")
	}
	out, err := exec.Command(goTool, "list", "-deps", "-f", "{{.ImportPath}}{{if .CgoFiles}} cgo{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		for _, bad := range []string{"duckdb", "gonum", "arrow", " cgo"} {
			if strings.Contains(line, bad) {
				t.Errorf("links %s", strings.TrimSpace(line))
			}
		}
	}
}

// tree is every file and folder below dir with its content.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if d.IsDir() {
			out[rel] = "folder"
			return nil
		}
		data, err := os.ReadFile(p)
		out[rel] = fmt.Sprintf("%d %s", len(data), digestOf(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSealWithoutAFindingsFolderSaysWhatToDo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "findings")
	if _, err := Seal(dir, testDraft(testID)); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "create it first") {
		t.Errorf("err = %v", err)
	}
}
