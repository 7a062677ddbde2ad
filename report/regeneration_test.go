package report_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/report"
)

// regenerations is how often a finding is rendered in other surroundings.
var regenerations = flag.Int("regenerations", 20, "in how many surroundings the regeneration test renders")

// Names of the environment by which the regeneration test starts this binary
// again.
const (
	renderFrom    = "ASSAY_RENDER_TEST_EVIDENCE"
	renderThreads = "ASSAY_RENDER_TEST_THREADS"
)

// TestMain renders a finding in place of the tests when the regeneration test
// starts this binary again.
func TestMain(m *testing.M) {
	if dir := os.Getenv(renderFrom); dir != "" {
		os.Exit(renderForRegeneration(dir))
	}
	os.Exit(m.Run())
}

// renderForRegeneration prints a digest over all bytes of a rendered finding.
func renderForRegeneration(dir string) int {
	data := report.Data{Files: map[string][]byte{}}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		if err == nil {
			data.Files[strings.ReplaceAll(filepath.Base(name), "%", "/")], err = os.ReadFile(name)
		}
	}
	threads, _ := strconv.Atoi(os.Getenv(renderThreads)) // 0 leaves the choice to the database
	var out report.Output
	if err == nil {
		out, err = report.Render(context.Background(), report.Input{Data: data, Builder: builder, Threads: threads})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(digest(out))
	return 0
}

func digest(out report.Output) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%s", len(out.Draft.Narrative), out.Draft.Narrative)
	for _, name := range slices.Sorted(maps.Keys(out.Draft.Files)) {
		fmt.Fprintf(h, "%s %d\n%s", name, len(out.Draft.Files[name]), out.Draft.Files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TestRegenerationGivesOneResult renders one finding again and again, each time in
// a process of its own with another time zone, locale, folder, number of
// processors and of database threads.
func TestRegenerationGivesOneResult(t *testing.T) {
	data := small(t, "failed")
	evidence := t.TempDir()
	for name, content := range data.Files {
		path := filepath.Join(evidence, strings.ReplaceAll(name, "/", "%"))
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := report.Render(t.Context(), report.Input{Data: data, Builder: builder})
	if err != nil {
		t.Fatal(err)
	}
	want := digest(out)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	zones := []string{"UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Chatham"}
	locales := []string{"C", "tr_TR.UTF-8", "de_DE.UTF-8", "ar_EG.UTF-8", "hi_IN"}
	n := *regenerations
	if testing.Short() {
		n = min(n, 4)
	}
	for i := range n {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Dir = t.TempDir()
		surroundings := []string{
			"TZ=" + zones[i%len(zones)], "LC_ALL=" + locales[i%len(locales)], "LANG=" + locales[i%len(locales)],
			"TMPDIR=" + t.TempDir(), fmt.Sprintf("GOMAXPROCS=%d", 1+i%3), fmt.Sprintf("%s=%d", renderThreads, i%5),
		}
		cmd.Env = append(append(os.Environ(), renderFrom+"="+evidence), surroundings...)
		cmd.Stderr = os.Stderr
		got, err := cmd.Output()
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("with %q: %s, %v; want %s", surroundings, got, err, want)
		}
	}
}

// TestEvidenceDoesNotDependOnTheOrderOfItsInput exports a campaign whose rows were
// stored in other orders.
func TestEvidenceDoesNotDependOnTheOrderOfItsInput(t *testing.T) {
	want := small(t, "failed")
	for seed := range uint64(2) {
		got := report.ShuffledEvidence(t, "failed", seed+1)
		for _, name := range slices.Sorted(maps.Keys(want.Files)) {
			if string(got.Files[name]) != string(want.Files[name]) {
				t.Errorf("order %d: %s differs", seed+1, name)
			}
		}
		if len(got.Files) != len(want.Files) {
			t.Errorf("order %d: %d files, want %d", seed+1, len(got.Files), len(want.Files))
		}
	}
}
