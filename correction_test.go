package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/collect/campaign"
)

// TestCorrectionIsLinkedBothWays publishes a finding and its correction.
func TestCorrectionIsLinkedBothWays(t *testing.T) {
	p := governedPlan(t, "governed-finding")
	o := governedOptions(t, p, nil)
	o.Smoke, o.CellGlob = false, "*-natural-*"
	if _, err := campaign.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	first := publishRun(t, o.Dir, "governed-finding")
	findings := filepath.Join(filepath.Dir(o.Dir), "findings")
	db := filepath.Join(filepath.Dir(o.Dir), "a.duckdb")
	const old, corrected = "2026-10-17-governed", "2026-11-02-governed-again"
	publish := func(name, supersedes string) (int, string) {
		code, stdout, stderr := command(t, "report", "--db", db, "--campaign", "governed-finding", "-o", findings, "--name", name, "--supersedes", supersedes)
		return code, stdout + stderr
	}
	for _, bad := range []struct{ name, supersedes, want string }{
		{corrected, "2026-10-17-nothing", "there is no 2026-10-17-nothing.md"},
		{old, old, "supersedes itself"},
		{"2026-10-16-governed", old, "dated before"},
		{"../x", old, "cannot be published"},
	} {
		if code, said := publish(bad.name, bad.supersedes); code == 0 || !strings.Contains(said, bad.want) {
			t.Errorf("%s: exit %d, %s", bad.want, code, said)
		}
	}
	if code, said := publish(corrected, old); code != 0 {
		t.Fatal(code, said)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(findings, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got, want := read(old+".md"), first+"\n- 2026-11-02: superseded by ["+corrected+"]("+corrected+".md).\n"; got != want {
		t.Errorf("the old narrative ends in\n%s", got[max(0, len(got)-300):])
	}
	if !strings.Contains(read(corrected+".md"), "Corrects: ["+old+"]("+old+".md)") {
		t.Error("the correction does not lead to what it corrects")
	}
	for _, args := range [][]string{{"verify", findings, "--recompute"}, {"report", "--check", findings}} {
		if code, stdout, stderr := command(t, args...); code != 0 {
			t.Errorf("%v exits %d\n%s%s", args, code, stdout, stderr)
		}
	}
	// The link in the index is held from both ends.
	index := read("README.md")
	for _, cut := range []string{" · superseded by [" + corrected + "](" + corrected + ".md)", " · supersedes [" + old + "](" + old + ".md)"} {
		if !strings.Contains(index, cut) {
			t.Fatalf("the index has no %q:\n%s", cut, index)
		}
		if err := os.WriteFile(filepath.Join(findings, "README.md"), []byte(strings.Replace(index, cut, "", 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if code, stdout, _ := command(t, "verify", findings); code != 1 || !strings.Contains(stdout, "FAIL V-14") {
			t.Errorf("without %q verify exits %d\n%s", cut, code, stdout)
		}
	}
}
