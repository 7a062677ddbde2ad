package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// copiedFindings is a copy of the repository's findings folder, to be damaged.
func copiedFindings(t *testing.T) (folder, bundle string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "findings")
	if err := os.CopyFS(folder, os.DirFS("findings")); err != nil {
		t.Fatal(err)
	}
	bundles, err := filepath.Glob(filepath.Join(folder, "*-evidence"))
	if err != nil || len(bundles) == 0 {
		t.Fatalf("no bundle under findings: %v", err)
	}
	return folder, bundles[0]
}

func TestVerifyTakesABundleOrAFindingsFolder(t *testing.T) {
	folder, bundle := copiedFindings(t)
	for _, name := range []string{folder, bundle} {
		code, stdout, stderr := command(t, "verify", name)
		if code != 0 || !strings.Contains(stdout, "passed at level 1, the published bytes: ") || !strings.Contains(stdout, "skip V-12: ") {
			t.Errorf("verify %s exits %d:\n%s%s", name, code, stdout, stderr)
		}
	}
	if err := os.Remove(filepath.Join(bundle, "manifest.json")); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ := command(t, "verify", folder)
	if code != 1 || !strings.Contains(stdout, "FAIL V-01 manifest.json: missing") || !strings.Contains(stdout, "FAILED at level 1") {
		t.Errorf("a findings folder whose bundle lost its manifest: exit %d\n%s", code, stdout)
	}
	if code, stdout, _ := command(t, "verify", t.TempDir()); code != 1 || !strings.Contains(stdout, "V-01") {
		t.Errorf("an empty folder: exit %d\n%s", code, stdout)
	}
	if code, _, stderr := command(t, "verify", filepath.Join(folder, "nothing")); code != 3 || !strings.Contains(stderr, "-evidence") {
		t.Errorf("no folder: exit %d\n%s", code, stderr)
	}
}

func TestVerifyRecomputesAndListsEveryProblemInOrder(t *testing.T) {
	folder, bundle := copiedFindings(t)
	code, stdout, _ := command(t, "verify", "--recompute", "--json", folder)
	var all struct {
		OK      bool
		Bundles []struct {
			Bundle   string
			OK       bool
			Level    int
			Executed []string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || code != 0 || !all.OK || len(all.Bundles) == 0 {
		t.Fatalf("exit %d, %v\n%s", code, err, stdout)
	}
	campaign := strings.Fields("V-01 V-02 V-03 V-04 V-05 V-06 V-08 V-09 V-10 V-11 V-13 V-14 V-15 V-16 V-17 V-18 V-19 V-20 V-21 V-22")
	derived := strings.Fields("V-01 V-02 V-03 V-04 V-05 V-06 V-08 V-09 V-13 V-14 V-15 V-20 V-21 V-22")
	for _, b := range all.Bundles {
		want := campaign
		if strings.HasPrefix(b.Bundle, "2026-09-03-") {
			want = derived
		}
		if !b.OK || b.Level != 2 || !slices.Equal(b.Executed, want) {
			t.Errorf("executed %v at level %d", b.Executed, b.Level)
		}
	}
	for name, text := range map[string]string{
		"README.md": "# Findings\n", filepath.Base(bundle) + "/extra": "", filepath.Base(bundle) + "/SHA256SUMS": "",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, _ = command(t, "verify", "--require-builder", bundle)
	var codes []string
	for line := range strings.Lines(stdout) {
		if strings.HasPrefix(line, "FAIL ") {
			codes = append(codes, strings.Fields(line)[1])
		}
	}
	if code != 1 || !slices.Equal(slices.Compact(codes), []string{"V-05", "V-08", "V-14", "V-22"}) {
		t.Errorf("exit %d, problems %v", code, codes)
	}
}
