package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// imports lists what each package of a pattern imports, tests left out; with
// deps also what those import, and so on.
func imports(t *testing.T, pattern string, deps bool) map[string][]string {
	t.Helper()
	args := []string{"list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}"}
	if deps {
		args = append(args, "-deps")
	}
	out, err := exec.Command("go", append(args, pattern)...).Output()
	if err != nil {
		t.Fatalf("go list %s: %v", pattern, err)
	}
	list := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		list[fields[0]] = fields[1:]
	}
	if len(list) == 0 {
		t.Fatalf("go list %s names no package", pattern)
	}
	return list
}

func TestSmallProgramsLinkNoDatabaseAndNoPlotting(t *testing.T) {
	for _, pattern := range []string{"./collect/...", "./report/bundle"} {
		for path := range imports(t, pattern, true) {
			if strings.Contains(path, "duckdb") || strings.HasPrefix(path, "gonum.org/v1/plot") {
				t.Errorf("%s links %s", pattern, path)
			}
			if pattern == "./report/bundle" && path == "runtime/cgo" {
				t.Errorf("%s links cgo", pattern)
			}
		}
	}
}

func TestStagesOnlyLookBack(t *testing.T) {
	// What each stage may import of the module. The command packages join the
	// stages and may import everything.
	allowed := map[string][]string{
		"collect": {"collect"},
		"ingest":  {"ingest", "collect/record", "collect/plan", "collect/engine"},
		"analyze": {"analyze", "ingest/store", "collect/record", "collect/plan", "collect/engine"},
		"report":  {"report", "templates", "analyze", "ingest/store", "collect/record", "collect/plan", "collect/engine", "collect/private"},
	}
	for path, list := range imports(t, "./...", false) {
		stage, _, _ := strings.Cut(strings.TrimPrefix(path, "assay/"), "/")
		if allowed[stage] == nil || strings.HasSuffix(path, "/cli") || strings.HasSuffix(path, "test") {
			continue
		}
		for _, imported := range list {
			name, ours := strings.CutPrefix(imported, "assay/")
			if ours && !slices.ContainsFunc(allowed[stage], func(a string) bool { return name == a || strings.HasPrefix(name, a+"/") }) {
				t.Errorf("%s imports %s", path, imported)
			}
		}
	}
}

// TestThePrivateRulesStandAlone: collect and report share them, so they may bring
// nothing of either with them, and touch no file and no socket.
func TestThePrivateRulesStandAlone(t *testing.T) {
	for path, list := range imports(t, "./collect/private", false) {
		for _, imported := range list {
			if strings.HasPrefix(imported, "assay/") || slices.Contains([]string{"os", "net", "net/http", "log/slog", "time", "math/rand"}, imported) {
				t.Errorf("%s imports %s", path, imported)
			}
		}
	}
}

func TestOnePackageOpensTheDatabase(t *testing.T) {
	for path, list := range imports(t, "./...", false) {
		for _, imported := range list {
			if strings.Contains(imported, "duckdb/duckdb-go") && path != "assay/ingest/store" {
				t.Errorf("%s imports the database driver", path)
			}
		}
	}
}

// TestTheGeneratorSharesNothingWithTheCodeUnderTest: the truth would else be
// wrong in the same way. The rules about private texts come with the plan, and
// say nothing about a number.
func TestTheGeneratorSharesNothingWithTheCodeUnderTest(t *testing.T) {
	for path := range imports(t, "./ingest/plantedtest", true) {
		ours := strings.HasPrefix(path, "assay/")
		if ours && !slices.Contains([]string{"assay/ingest/plantedtest", "assay/collect/record", "assay/collect/plan", "assay/collect/private"}, path) {
			t.Errorf("the generator of campaigns imports %s", path)
		}
	}
}
