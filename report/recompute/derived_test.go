package recompute

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"assay/report/bundle"
)

// derivedCopy copies the published derived finding.
func derivedCopy(t *testing.T) (findings, folder, narrative string) {
	t.Helper()
	found, err := filepath.Glob("../../findings/2026-09-03-*-evidence")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	findings = t.TempDir()
	folder = filepath.Base(found[0])
	narrative = strings.TrimSuffix(folder, "-evidence") + ".md"
	if err := os.CopyFS(filepath.Join(findings, folder), os.DirFS(found[0])); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../findings/" + narrative)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(findings, narrative), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return findings, folder, narrative
}

// forgeFile changes one file of a findings folder and makes manifest and sums fit.
func forgeFile(t *testing.T, findings, folder, name string, change func(string) string) {
	t.Helper()
	path := filepath.Join(findings, name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	after := change(string(text))
	manifest := filepath.Join(findings, folder, bundle.ManifestName)
	encoded, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	m, err := bundle.Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Subject {
		if m.Subject[i].Name == name {
			sum := sha256.Sum256([]byte(after))
			m.Subject[i].Size, m.Subject[i].Digest.SHA256 = int64(len(after)), hex.EncodeToString(sum[:])
		}
	}
	if encoded, err = bundle.Encode(m); err != nil {
		t.Fatal(err)
	}
	for file, data := range map[string][]byte{path: []byte(after), manifest: encoded, filepath.Join(findings, folder, bundle.SumsName): bundle.Sums(m, encoded)} {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForgedDerivedFindings changes a derived finding, with every digest made to
// fit, and expects the check that is there for it to speak first.
func TestForgedDerivedFindings(t *testing.T) {
	once := func(old, new string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, new, 1) }
	}
	whole := regexp.MustCompile(`"whole": [0-9]+`)
	for _, test := range []struct {
		name, file string // file in the bundle, or "" for the narrative
		change     func(string) string
		code       bundle.Code // "" for a pass
	}{
		{"as published", "", func(s string) string { return s }, ""},
		{"facts that are no JSON", "facts.json", func(string) string { return "{\n" }, "V-15"},
		{"a fact changed", "facts.json", func(s string) string {
			at := whole.FindStringIndex(s)
			return s[:at[0]] + `"whole": 7` + s[at[1]:]
		}, "V-20"},
		{"a claim changed", "claims.json", once(`"value":"99.79"`, `"value":"99.99"`), "V-20"},
		{"a number of the narrative changed", "", func(s string) string {
			return strings.Replace(s, "99.79", "99.97", 1)
		}, "V-21"},
		{"a table changed", "tables/decode.csv", func(s string) string { return s + "x\n" }, "V-21"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			findings, folder, narrative := derivedCopy(t)
			name := narrative
			if test.file != "" {
				name = folder + "/" + test.file
			}
			forgeFile(t, findings, folder, name, test.change)
			l, err := bundle.Load(filepath.Join(findings, folder))
			if err != nil {
				t.Fatal(err)
			}
			r, err := Verify(t.Context(), l, Options{Level: 2})
			if err != nil {
				t.Fatal(err)
			}
			if test.code == "" && r.OK() {
				return
			}
			if len(r.Problems) == 0 || r.Problems[0].Code != test.code {
				t.Errorf("problems %v, want %s first", r.Problems, test.code)
			}
		})
	}
}
