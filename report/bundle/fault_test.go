package bundle

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// nth fails the operation with the given number.
func nth(k int) func(string) bool {
	i := -1
	return func(string) bool { i++; return i == k }
}

// smallDraft keeps the sweep short: two files, one in a folder.
func smallDraft(id string) Draft {
	d := testDraft(id)
	d.Files = map[string][]byte{"README.md": []byte("map\n"), "data/x": []byte("xx"), SanitizeName: d.Files[SanitizeName]}
	for i := range d.Predicate.Roles {
		d.Predicate.Roles[i] = Role{Role: RoleNames()[i], State: RoleMissing, Reason: "not collected"}
	}
	return d
}

// withEarlier is a findings folder that holds an earlier finding and its index.
func withEarlier(t *testing.T) box {
	t.Helper()
	b := sealed(t, smallDraft(earlierID))
	b.must(WriteIndex(b.findings))
	return b
}

// faultsOf counts the operations of one untroubled seal.
func faultsOf(t *testing.T) int {
	t.Helper()
	fsys := &faultFS{FS: OS{}}
	if _, err := SealFS(fsys, withEarlier(t).findings, smallDraft(testID)); err != nil {
		t.Fatal(err)
	}
	return len(fsys.ops)
}

func TestSealSurvivesEveryFault(t *testing.T) {
	base := withEarlier(t)
	before := tree(t, base.findings)
	n := faultsOf(t)
	step := 1
	if testing.Short() {
		step = 7
	}
	for how, name := range hows {
		t.Run(name, func(t *testing.T) {
			alone := 0
			for k := 0; k < n; k += step {
				b := base.copyBox(t)
				fsys := &faultFS{FS: OS{}, fails: nth(k), how: how}
				s, err := SealFS(fsys, b.findings, smallDraft(testID))
				if k >= len(fsys.ops) {
					t.Fatalf("operation %d was never reached", k)
				}
				at := fsys.ops[k]
				state := afterFault(t, b, before, at)
				if state == "narrative" {
					alone++
				}
				if how != killed && err != nil && state != "" {
					t.Errorf("%s: an error, yet %s visible", at, state)
				}
				if err == nil && state != "whole" {
					t.Errorf("%s: success, yet %q visible", at, state)
				}
				if s.Leftover != "" && how != killed && !strings.HasPrefix(at, "remove ") {
					t.Errorf("%s: leftover %s", at, s.Leftover)
				}
				secondTry(t, b, at, state)
			}
			if how == killed && alone == 0 && step == 1 {
				t.Error("no kill fell between the two renames: the sweep misses the hardest case")
			}
			if alone > 0 && how != killed {
				t.Errorf("the narrative stood alone %d times", alone)
			}
		})
	}
}

// afterFault checks that earlier findings are untouched and that a visible
// bundle is whole. It returns "", "narrative" or "whole".
func afterFault(t *testing.T, b box, before map[string]string, at string) string {
	t.Helper()
	folder, narrative := FolderName(testID), NarrativeName(testID)
	now := tree(t, b.findings)
	_, hasNarrative := now[narrative]
	_, hasBundle := now[folder]
	for name := range now {
		if name == narrative || strings.HasPrefix(name, folder) || strings.HasPrefix(name, stagePrefix+testID+"~") {
			delete(now, name)
		}
	}
	if diff := cmp.Diff(before, now); diff != "" {
		t.Errorf("%s: other files changed:\n%s", at, diff)
	}
	if hasBundle {
		l, err := Load(filepath.Join(b.findings, folder))
		b.must(err)
		if r := withoutIndex(l); !r.OK() {
			t.Errorf("%s: a visible bundle fails: %v", at, r.Problems)
		}
		return "whole"
	}
	if hasNarrative {
		return "narrative"
	}
	return ""
}

// withoutIndex runs all checks but that of the index, which is written after a
// seal and derived again by the next run of any command that writes it.
func withoutIndex(l *Loaded) Result {
	rows := slices.DeleteFunc(slices.Clone(Checks), func(c Check) bool { return c.Code == "V-14" })
	return runChecks(rows, l)
}

// secondTry seals again without faults: it succeeds, or finds the finding
// published whole. Nothing temporary is left either way.
func secondTry(t *testing.T, b box, at, state string) {
	t.Helper()
	_, err := SealFS(&faultFS{FS: OS{}}, b.findings, smallDraft(testID))
	if state == "whole" && !errors.Is(err, ErrExists) || state != "whole" && err != nil {
		t.Errorf("%s, %q visible: second try: %v", at, state, err)
	}
	l, err := Load(filepath.Join(b.findings, FolderName(testID)))
	b.must(err)
	if r := withoutIndex(l); !r.OK() {
		t.Errorf("%s: after the second try: %v", at, r.Problems)
	}
	entries, err := os.ReadDir(b.findings)
	b.must(err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stagePrefix) {
			t.Errorf("%s: %s is left", at, e.Name())
		}
	}
}

// recoveryOps covers the recovery, which is the first thing a second try does.
const recoveryOps = 40

// A kill between the renames, then a second kill at every operation of the
// recovery, then a third try.
func TestRecoveryItselfMayBeKilled(t *testing.T) {
	base := withEarlier(t)
	before := tree(t, base.findings)
	killedBox := base.copyBox(t)
	fsys := &faultFS{FS: OS{}, fails: func(op string) bool { return op == "rename "+NarrativeName(testID) && seenLock(killedBox) }, how: killed}
	if _, err := SealFS(fsys, killedBox.findings, smallDraft(testID)); err == nil {
		t.Fatal("the first seal was not killed")
	}
	if state := afterFault(t, killedBox, before, "first kill"); state != "narrative" {
		t.Fatalf("%q visible after the first kill", state)
	}
	step := 1
	if testing.Short() {
		step = 7
	}
	for k := 0; k < recoveryOps; k += step {
		b := killedBox.copyBox(t)
		fsys := &faultFS{FS: OS{}, fails: nth(k), how: killed}
		_, _ = SealFS(fsys, b.findings, smallDraft(testID)) // its outcome is what afterFault looks at
		secondTry(t, b, "second kill", afterFault(t, b, before, "second kill"))
	}
}

// seenLock is true once the stage holds its manifest, so that the rename of the
// narrative is the one into the findings folder.
func seenLock(b box) bool {
	found, _ := filepath.Glob(filepath.Join(b.findings, stagePrefix+"*", FolderName(testID), ManifestName))
	return len(found) == 1
}

func TestForeignNarrativeIsNotTakenForALeftover(t *testing.T) {
	b := withEarlier(t)
	d := smallDraft(testID)
	a, err := Assemble(d)
	b.must(err)
	stage := filepath.Join(b.findings, stagePrefix+testID+"~1")
	b.must(os.MkdirAll(filepath.Join(stage, a.Folder), 0o755))
	b.must(os.WriteFile(filepath.Join(stage, a.Folder, ManifestName), a.ManifestBytes, 0o644))
	mine := filepath.Join(b.findings, a.NarrativeName)
	b.must(os.WriteFile(mine, []byte("written by hand\n"), 0o644))
	if _, err := Seal(b.findings, d); !errors.Is(err, ErrExists) {
		t.Errorf("err = %v, want ErrExists", err)
	}
	if data, err := os.ReadFile(mine); err != nil || string(data) != "written by hand\n" {
		t.Errorf("the file is now %q, %v", data, err)
	}
}

func TestLeftoverOfAnotherFindingStays(t *testing.T) {
	b := withEarlier(t)
	other := filepath.Join(b.findings, stagePrefix+testID+"-2~1")
	b.must(os.Mkdir(other, 0o755))
	if _, err := Seal(b.findings, smallDraft(testID)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

func TestWriteIndexSurvivesEveryFault(t *testing.T) {
	base := withEarlier(t)
	_, err := Seal(base.findings, smallDraft(testID))
	base.must(err)
	old := base.index()
	counter := &faultFS{FS: OS{}}
	base.must(WriteIndexFS(counter, base.copyBox(t).findings))
	step := 1
	if testing.Short() {
		step = 7
	}
	for how, name := range hows {
		t.Run(name, func(t *testing.T) {
			for k := 0; k < len(counter.ops); k += step {
				b := base.copyBox(t)
				fsys := &faultFS{FS: OS{}, fails: nth(k), how: how}
				_ = WriteIndexFS(fsys, b.findings)
				if now := b.index(); now != old && strings.Count(now, "\n| 2026") != 2 {
					t.Errorf("%s: index is half written:\n%s", fsys.ops[k], now)
				}
				b.must(WriteIndexFS(&faultFS{FS: OS{}}, b.findings))
				if strings.Count(b.index(), "\n| 2026") != 2 {
					t.Errorf("%s: second try:\n%s", fsys.ops[k], b.index())
				}
			}
		})
	}
}

func (b box) index() string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.findings, IndexName))
	b.must(err)
	return string(data)
}
