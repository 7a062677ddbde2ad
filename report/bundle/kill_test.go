package bundle

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kills is how often a sealing process is killed; -kills 200 is the full test.
var kills = flag.Int("kills", 10, "how often the kill test kills a sealing process")

// Names of the environment by which the kill test starts this binary again.
const sealInto = "ASSAY_SEAL_TEST_FINDINGS"

// TestMain seals a finding in place of the tests when the kill test starts this
// binary again.
func TestMain(m *testing.M) {
	if dir := os.Getenv(sealInto); dir != "" {
		os.Exit(sealForKillTest(dir))
	}
	os.Exit(m.Run())
}

func sealForKillTest(dir string) int {
	fmt.Println("sealing") // the parent counts its delay from here
	_, err := Seal(dir, testDraft(testID))
	if err == nil {
		err = WriteIndex(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// sealing starts a process that seals into findings, and returns once it is about
// to.
func sealing(t *testing.T, findings string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), sealInto+"="+findings)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatalf("the sealing process says nothing: %v", err)
	}
	return cmd
}

// TestKilledSealLeavesNoHalfBundle kills real sealing processes at random
// moments. Whatever the moment: earlier findings are as they were, a visible
// bundle is whole, and a second try succeeds.
func TestKilledSealLeavesNoHalfBundle(t *testing.T) {
	base := withEarlier(t)
	before := tree(t, base.findings)
	started := time.Now()
	whole := sealing(t, base.copyBox(t).findings)
	if err := whole.Wait(); err != nil {
		t.Fatalf("a seal that nobody kills: %v", err)
	}
	span := time.Since(started) // how far the moments are spread; none is asserted
	rng := rand.New(rand.NewPCG(20261017, 2))
	seen := map[string]int{}
	for i := range *kills {
		b := base.copyBox(t)
		cmd := sealing(t, b.findings)
		time.Sleep(time.Duration(rng.Int64N(int64(span) + 1)))
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		err := cmd.Wait()
		state := afterKill(t, b, before, fmt.Sprintf("kill %d", i))
		seen[state]++
		if err == nil {
			seen["not in time"]++
		}
		secondSeal(t, b, state)
		if t.Failed() {
			return
		}
	}
	t.Logf("after %d kills over %v: %v", *kills, span, seen)
}

// afterKill is afterFault on a folder whose index may already be the new one.
func afterKill(t *testing.T, b box, before map[string]string, at string) string {
	t.Helper()
	now := tree(t, b.findings)
	if now[IndexName] != before[IndexName] {
		if text := b.index(); strings.Count(text, "\n| 2026") != 2 || !strings.Contains(text, testID) {
			t.Errorf("%s: the index is half written:\n%s", at, text)
		}
		b.must(os.WriteFile(filepath.Join(b.findings, IndexName), []byte(indexOf(t, b, before)), 0o644))
	}
	b.must(os.RemoveAll(filepath.Join(b.findings, tempPrefix+IndexName)))
	return afterFault(t, b, before, at)
}

// indexOf is the index as it was before the seal.
func indexOf(t *testing.T, b box, before map[string]string) string {
	t.Helper()
	rows, err := Index(b.findings)
	b.must(err)
	var earlier []Row
	for _, r := range rows {
		if r.ID == earlierID {
			earlier = append(earlier, r)
		}
	}
	text := string(RenderIndex(earlier))
	if got := fmt.Sprintf("%d %s", len(text), digestOf([]byte(text))); got != before[IndexName] {
		t.Errorf("the row of the earlier finding changed")
	}
	return text
}

// secondSeal seals again in this process, and writes the index: then everything
// is as if nobody had been killed.
func secondSeal(t *testing.T, b box, state string) {
	t.Helper()
	_, err := SealFS(&faultFS{FS: OS{}}, b.findings, testDraft(testID))
	if state == "whole" && !errors.Is(err, ErrExists) || state != "whole" && err != nil {
		t.Errorf("%q visible: second try: %v", state, err)
	}
	b.must(WriteIndex(b.findings))
	for _, folder := range []string{FolderName(testID), FolderName(earlierID)} {
		l, err := Load(filepath.Join(b.findings, folder))
		b.must(err)
		if r := Verify(l, Options{}); !r.OK() {
			t.Errorf("after the second try: %s: %v", folder, r.Problems)
		}
	}
	entries, err := os.ReadDir(b.findings)
	b.must(err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stagePrefix) || strings.HasPrefix(e.Name(), tempPrefix) {
			t.Errorf("%s is left", e.Name())
		}
	}
}
