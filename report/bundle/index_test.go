package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIndexListsNewestFirstAndLinksBothWays(t *testing.T) {
	b := sealed(t, smallDraft("2026-10-16-earlier"))
	d := smallDraft(testID)
	d.Predicate.Finding.Supersedes = "2026-10-16-earlier"
	d.Predicate.Finding.Kind = KindSimulated
	s, err := Seal(b.findings, d)
	b.must(err)
	b.must(WriteIndex(b.findings))
	old := digestOf(b.read(ManifestName))
	want := `# Findings

Generated, newest first. ` + "`assay verify FOLDER`" + ` checks a bundle.

| Date | Finding | Subject |
| --- | --- | --- |
| 2026-10-17 | [GLM-5.3 serving \| performance](2026-10-17-glm53-serving-performance.md) | simulated · two arms, 48 cells · supersedes [2026-10-16-earlier](2026-10-16-earlier.md) · [manifest](2026-10-17-glm53-serving-performance-evidence/manifest.json "sha256:` + s.ManifestSHA256 + `") |
| 2026-10-16 | [GLM-5.3 serving \| performance](2026-10-16-earlier.md) | measured · two arms, 48 cells · superseded by [2026-10-17-glm53-serving-performance](2026-10-17-glm53-serving-performance.md) · [manifest](2026-10-16-earlier-evidence/manifest.json "sha256:` + old + `") |
`
	if diff := cmp.Diff(want, b.index()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWriteIndexTwiceChangesNothing(t *testing.T) {
	b := sealed(t, smallDraft(testID))
	b.must(os.WriteFile(filepath.Join(b.findings, SignersName), []byte("a key\n"), 0o644))
	b.must(os.WriteFile(filepath.Join(b.findings, AttributesName), []byte("*.svg diff"), 0o644))
	b.must(WriteIndex(b.findings))
	before := tree(t, b.findings)
	b.must(WriteIndex(b.findings))
	if diff := cmp.Diff(before, tree(t, b.findings)); diff != "" {
		t.Errorf("second run changed files:\n%s", diff)
	}
	if data, err := os.ReadFile(filepath.Join(b.findings, SignersName)); err != nil || string(data) != "a key\n" {
		t.Errorf("allowed_signers is now %q, %v", data, err)
	}
	if data, err := os.ReadFile(filepath.Join(b.findings, AttributesName)); err != nil || string(data) != "*.svg diff\n** -text\n" {
		t.Errorf(".gitattributes is now %q, %v", data, err)
	}
}

func TestWriteIndexOfAnEmptyFolder(t *testing.T) {
	dir := t.TempDir()
	if err := WriteIndex(dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{AttributesName: "** -text\n", SignersName: ""} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, IndexName)); err != nil || !strings.Contains(string(data), "None yet") {
		t.Errorf("index is %q, %v", data, err)
	}
}

func TestIndexRefusesToHideABrokenFinding(t *testing.T) {
	for name, damage := range map[string]func(box){
		"manifest":    func(b box) { b.write(ManifestName, []byte("{}\n")) },
		"narrative":   func(b box) { b.must(os.Remove(b.path(b.narrative()))) },
		"folder name": func(b box) { b.must(os.Rename(b.bundle(), b.bundle()+"2")) },
	} {
		t.Run(name, func(t *testing.T) {
			b := sealed(t, smallDraft(testID))
			damage(b)
			before := tree(t, b.findings)
			if err := WriteIndex(b.findings); err == nil || !strings.Contains(err.Error(), "assay verify") {
				t.Errorf("err = %v", err)
			}
			if diff := cmp.Diff(before, tree(t, b.findings)); diff != "" {
				t.Errorf("files were written:\n%s", diff)
			}
		})
	}
}

func TestIndexIgnoresFoldersThatAreNoBundles(t *testing.T) {
	b := sealed(t, smallDraft(testID))
	b.must(os.MkdirAll(filepath.Join(b.findings, "drafts"), 0o755))
	b.must(os.CopyFS(filepath.Join(b.findings, stagePrefix+"x~1"), os.DirFS(b.bundle())))
	rows, err := Index(b.findings)
	if err != nil || len(rows) != 1 {
		t.Errorf("rows %v, %v", rows, err)
	}
}

func TestIndexKeepsHostileTextLiteral(t *testing.T) {
	d := smallDraft(testID)
	d.Narrative = []byte("# \\<img src=x\\> [x](javascript:alert(1)) | ![p](q) `c`\n\n**Scope:** a | b\n\n" + EndMark + "\n")
	b := sealed(t, d)
	b.must(WriteIndex(b.findings))
	want := `| [\<img src=x\> \[x\](javascript:alert(1)) \| \!\[p\](q) ` + "\\`c\\`" + `](2026-10-17-glm53-serving-performance.md) | measured · a \| b ·`
	if !strings.Contains(b.index(), want) {
		t.Errorf("index has no %s:\n%s", want, b.index())
	}
}
