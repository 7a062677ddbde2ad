package bundle

import (
	"strings"
	"testing"
)

func TestNameProblem(t *testing.T) {
	good := []string{
		"2026-10-17-x.md", "f-evidence/README.md", "f-evidence/data/requests.parquet", "a/b_c/d-e.f..g",
		strings.Repeat("x", MaxNameLen), "f/con", "0/1",
	}
	for _, name := range good {
		if why := nameProblem(name); why != "" {
			t.Errorf("%q: %s", name, why)
		}
	}
	bad := []string{
		"", ".", "..", "../x", "a/../b", "a/.", "/a", "a/", "a//b", ".a", "a/.b", `a\b`, "a\x00b", "a\nb", "a b", "a~b", "A", "a/B",
		"\u00e9", "README.md", "a/b/README.md", "a/readme.MD", "a/SHA256SUMS", "a/manifest.json", "a/manifest.json.sig",
		"A/README.md", strings.Repeat("x", MaxNameLen+1), "c:/x", "a/\xff",
	}
	for _, name := range bad {
		if nameProblem(name) == "" {
			t.Errorf("%q is taken for a valid name", name)
		}
	}
}

func TestCheckID(t *testing.T) {
	for _, id := range []string{"2026-10-17-a", "2024-02-29-glm5.3_x-y"} {
		if err := CheckID(id); err != nil {
			t.Error(err)
		}
	}
	for _, id := range []string{"", "x", "2026-10-17", "2026-10-17-", "2026-13-01-a", "2023-02-29-a", "2026-10-17-A", "2026-10-17-a/b",
		"2026-10-17-.a", "2026-10-17-a\n", "2026-10-17-" + strings.Repeat("x", 70)} {
		if CheckID(id) == nil {
			t.Errorf("%q is taken for a valid id", id)
		}
	}
}

func FuzzCorrections(f *testing.F) {
	f.Add("- 2026-10-18: see [x](2026-10-18-x.md)")
	f.Add("- 2026-10-18: ](](")
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "\n") {
			return
		}
		links := map[string]bool{}
		for _, target := range relativeLinks([]byte(line)) {
			links[target] = true
		}
		problems := correctionProblems(line, links)
		if len(problems) == 0 && line != "" && !strings.HasPrefix(line, "- ") {
			t.Errorf("%q passes as a correction", line)
		}
	})
}
