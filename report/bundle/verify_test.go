package bundle

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// first is the code that a reader of the result sees first.
func first(r Result) Code {
	if len(r.Problems) == 0 {
		return ""
	}
	return r.Problems[0].Code
}

func TestTamperIsFoundByItsOwnCodeFirst(t *testing.T) {
	base := sealed(t, testDraft(testID))
	hit := map[Code]bool{}
	for _, row := range corpus {
		t.Run(row.name, func(t *testing.T) {
			if testing.Short() && row.name == "10,000 files" {
				t.Skip("writing 10,000 files takes seconds")
			}
			b := base.copyBox(t)
			row.mutate(b)
			l, err := Load(b.bundle())
			b.must(err)
			r := Verify(l, Options{})
			if first(r) != row.code || r.OK() {
				t.Fatalf("first code %q, want %q: %.600v", first(r), row.code, r.Problems)
			}
			hit[row.code] = true
			if strings.Contains(fmt.Sprint(r), b.findings) {
				t.Error("a problem shows a path of this machine")
			}
		})
	}
	for _, c := range Checks {
		if c.Run != nil && !hit[c.Code] {
			t.Errorf("no tamper is found by %s first", c.Code)
		}
	}
}

func TestCorpusNoticesADisabledCheck(t *testing.T) {
	base := sealed(t, testDraft(testID))
	for i, off := range Checks {
		if off.Run == nil {
			continue
		}
		t.Run(string(off.Code), func(t *testing.T) {
			others := slices.Delete(slices.Clone(Checks), i, i+1)
			for _, row := range corpus {
				if row.code != off.Code || row.name == "10,000 files" {
					continue
				}
				b := base.copyBox(t)
				row.mutate(b)
				l, err := Load(b.bundle())
				b.must(err)
				if first(runChecks(others, l)) == row.code {
					t.Errorf("%q is still found as %s", row.name, row.code)
				}
			}
		})
	}
}

func TestValidVariantPasses(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			d := testDraft(testID)
			if v.change != nil {
				v.change(&d)
			}
			b := sealed(t, d)
			if v.mutate != nil {
				v.mutate(b)
			}
			b.must(WriteIndex(b.findings))
			if r := b.verify(); !r.OK() || !slices.Contains(r.Executed, "V-14") {
				t.Errorf("problems: %.600v", r.Problems)
			}
			if problems, err := CheckFolder(b.findings); err != nil || len(problems) > 0 {
				t.Errorf("the folder: %v, %v", problems, err)
			}
		})
	}
}

func TestFirstMiddleAndLastByteOfEveryFile(t *testing.T) {
	b := sealed(t, testDraft(testID))
	want := map[string][]Code{
		// A byte in the middle of the manifest may be part of a name, a size or a digest.
		ManifestName: {"V-01", "V-02", "V-03", "V-04", "V-05", "V-08"},
		SumsName:     {"V-08"},
	}
	for _, name := range b.files() {
		data := b.read(name)
		for _, i := range []int{0, len(data) / 2, len(data) - 1} {
			changed := bytes.Clone(data)
			changed[i] ^= 1
			b.write(name, changed)
			codes := want[name]
			if codes == nil {
				codes = []Code{"V-04"}
			}
			if r := b.verify(); r.OK() || !slices.Contains(codes, first(r)) {
				t.Errorf("%s, byte %d: first code %q, want one of %v", name, i, first(r), codes)
			}
		}
		b.write(name, data)
	}
	if r := b.verify(); !r.OK() {
		t.Fatalf("the restored bundle fails: %v", r.Problems)
	}
}

func TestEveryBitFlipIsFound(t *testing.T) {
	b := sealed(t, testDraft(testID))
	rng := rand.New(rand.NewPCG(20261017, 1))
	flips := 3000
	if testing.Short() {
		flips = 60
	}
	files := b.files()
	for range flips {
		name := files[rng.IntN(len(files))]
		data := b.read(name)
		bit := rng.IntN(len(data) * 8)
		data[bit/8] ^= 1 << (bit % 8)
		b.write(name, data)
		if b.verify().OK() {
			t.Errorf("%s: bit %d flipped and not found", name, bit)
		}
		data[bit/8] ^= 1 << (bit % 8)
		b.write(name, data)
	}
}

func TestVerifyReportsEveryProblem(t *testing.T) {
	b := sealed(t, testDraft(testID))
	b.must(os.Remove(b.path("plan.json")))
	b.must(os.Truncate(b.path(text), 3))
	b.write("extra", nil)
	b.write(SumsName, nil)
	below("x\n")(b)
	var got []string
	for _, p := range b.verify().Problems {
		got = append(got, fmt.Sprintf("%s %s", p.Code, strings.TrimPrefix(p.File, b.folder+"/")))
	}
	want := []string{"V-03 plan.json", "V-03 " + text, "V-04 " + text, "V-05 extra", "V-08 SHA256SUMS", "V-09 " + NarrativeName(testID)}
	if !slices.Equal(got, want) {
		t.Errorf("problems %q, want %q", got, want)
	}
}

func TestCheckThatCannotRunIsSkippedWithTheReason(t *testing.T) {
	b := sealed(t, testDraft(testID))
	b.write(ManifestName, []byte("{"))
	r := b.verify()
	if !slices.Equal(r.Executed, []Code{"V-01"}) || len(r.Skips) != len(Checks)-1 {
		t.Errorf("executed %v, skipped %v", r.Executed, r.Skips)
	}
	for _, s := range r.Skips {
		if s.Reason != "V-01 failed" {
			t.Errorf("skip %v", s)
		}
	}
}

func TestNoExecutedCheckIsAFailure(t *testing.T) {
	l, err := Load(sealed(t, testDraft(testID)).bundle())
	if err != nil {
		t.Fatal(err)
	}
	if r := runChecks(nil, l); r.OK() {
		t.Error("a result without a single check passes")
	}
}

func TestExtraChecksRunAtTheirLevel(t *testing.T) {
	l, err := Load(sealed(t, testDraft(testID)).bundle())
	if err != nil {
		t.Fatal(err)
	}
	extra := []Check{
		{Code: "V-17", Level: 2, Run: func(*Loaded) []Problem { return []Problem{{"V-17", "verdicts.json", "differs"}} }},
		{Code: "V-07", Level: 1, Run: func(*Loaded) []Problem { return nil }},
	}
	if r := Verify(l, Options{Extra: extra}); !r.OK() || !slices.Contains(r.Executed, "V-07") || skipped(r, "V-07") {
		t.Errorf("level 1: %+v", r)
	}
	if r := Verify(l, Options{Level: 2, Extra: extra}); r.OK() || first(r) != "V-17" {
		t.Errorf("level 2: %+v", r)
	}
}

func skipped(r Result, code Code) bool {
	return slices.ContainsFunc(r.Skips, func(s Skip) bool { return s.Code == code && s.Reason != "" })
}

func TestWarningFailsNothing(t *testing.T) {
	l, err := Load(sealed(t, testDraft(testID)).bundle())
	if err != nil {
		t.Fatal(err)
	}
	warn := Check{
		Code: "V-22", Level: 1, Run: func(*Loaded) []Problem { return nil },
		Warn: func(*Loaded) []Warning { return []Warning{{"V-22", ManifestName, "empty"}} },
	}
	r := Verify(l, Options{Extra: []Check{warn}})
	if !r.OK() || len(r.Warnings) != 1 || r.Warnings[0].String() != "V-22 manifest.json: empty" {
		t.Errorf("%+v", r)
	}
}

func TestFoldersFindsABundleThatLostItsManifest(t *testing.T) {
	b := sealed(t, smallDraft(testID))
	b.must(os.MkdirAll(filepath.Join(b.findings, "drafts"), 0o755))
	b.must(os.Remove(b.path(ManifestName)))
	for _, name := range []string{b.folder, "renamed"} { // then by its control file alone
		if name != b.folder {
			b.must(os.Rename(b.bundle(), filepath.Join(b.findings, name)))
			b.folder = name
		}
		folders, err := Folders(b.findings)
		if err != nil || !slices.Equal(folders, []string{name}) {
			t.Errorf("folders %v, %v; want %s", folders, err, name)
		}
	}
	if folders, err := Folders(b.bundle()); err != nil || len(folders) != 0 {
		t.Errorf("a bundle folder holds %v, %v", folders, err)
	}
}

func TestCheckFolderFindsWhatNoBundleShows(t *testing.T) {
	for name, damage := range map[string]func(box){
		"no index":    func(b box) { b.must(os.Remove(filepath.Join(b.findings, IndexName))) },
		"more in it":  func(b box) { indexed(func(s string) string { return s + "more\n" })(b) },
		"bundle gone": func(b box) { b.must(os.RemoveAll(b.bundle())) },
		"unreadable":  func(b box) { b.write(ManifestName, []byte("{}\n")) },
	} {
		t.Run(name, func(t *testing.T) {
			b := sealed(t, smallDraft(testID))
			b.must(WriteIndex(b.findings))
			damage(b)
			problems, err := CheckFolder(b.findings)
			if err != nil || len(problems) == 0 || problems[0].Code != "V-14" {
				t.Errorf("problems %v, %v", problems, err)
			}
		})
	}
}

func TestUnlistableFolderIsAProblem(t *testing.T) {
	b := sealed(t, testDraft(testID))
	fsys := &faultFS{FS: OS{}, fails: func(op string) bool { return strings.HasPrefix(op, "readdir") }, how: failBefore}
	l, err := load(fsys, b.bundle())
	b.must(err)
	if r := Verify(l, Options{}); first(r) != "V-05" {
		t.Errorf("problems: %v", r.Problems)
	}
}

func TestUnreadableFileIsAProblem(t *testing.T) {
	b := sealed(t, testDraft(testID))
	fsys := &faultFS{FS: OS{}, fails: func(op string) bool { return op == "open requests.parquet" }, how: failBefore}
	l, err := load(fsys, b.bundle())
	b.must(err)
	if r := Verify(l, Options{}); first(r) != "V-03" || !strings.Contains(r.Problems[0].Detail, errFault.Error()) {
		t.Errorf("problems: %v", r.Problems)
	}
}

func BenchmarkVerify5MiB(b *testing.B) {
	box := sealed(b, testDraft(testID))
	fillTo(box, MaxBundleBytes)
	b.SetBytes(MaxBundleBytes)
	for b.Loop() {
		if !box.verify().OK() {
			b.Fatal("fails")
		}
	}
}

func TestProblemTextCannotDriveATerminal(t *testing.T) {
	b := sealed(t, testDraft(testID))
	b.write("x\x1b[2Jy", nil)
	r := b.verify()
	if len(r.Problems) != 1 || first(r) != "V-05" {
		t.Fatalf("problems: %v", r.Problems)
	}
	got := r.Problems[0].String()
	want := `V-05 "` + b.folder + `/x\x1b[2Jy": file not in the manifest`
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Problem{"V-06", "", "too large"}).String(); got != "V-06: too large" {
		t.Errorf("without a file: %q", got)
	}
}
