package bundle

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// stock says whether the stock program passes the bundle's SHA256SUMS.
func (b box) stock(program string) bool {
	cmd := exec.Command(program, "-c", "--strict", "--status", SumsName)
	cmd.Dir = b.bundle()
	return cmd.Run() == nil
}

// endless says that reading every file would take for ever, or gigabytes of
// nothing: there is a pipe, or a sparse file.
func (b box) endless() (found bool) {
	err := filepath.WalkDir(b.findings, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			special := d.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0
			found = found || special || info.Size() > 64<<20
		}
		return err
	})
	b.must(err)
	return found
}

// TestSha256sumAgrees asks sha256sum about every unsigned row of the corpus: what
// it refuses fails here too, and what changes a published byte without its digest
// fails there too. It cannot see names, modes, files too many or what the
// manifest says, and reads a narrative to its very end.
func TestSha256sumAgrees(t *testing.T) {
	program, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip("sha256sum is not installed; its verdicts are not compared")
	}
	refused := 0
	base := sealed(t, testDraft(testID))
	for _, row := range corpus {
		if row.name == "10,000 files" {
			continue // it sees none of them
		}
		b := base.copyBox(t)
		row.mutate(b)
		if b.endless() {
			continue
		}
		l, err := Load(b.bundle())
		b.must(err)
		r := Verify(l, Options{})
		passes := b.stock(program)
		if !passes {
			refused++
		}
		if !passes && r.OK() {
			t.Errorf("%s: sha256sum refuses what passes here", row.name)
		}
		changed := slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Code == "V-04" })
		if sums := l.SumsErr == nil; changed && sums && passes {
			t.Errorf("%s: sha256sum passes a file whose digest differs", row.name)
		}
	}
	if refused < 20 {
		t.Errorf("sha256sum refused %d rows", refused)
	}
	for _, v := range variants {
		d := testDraft(testID)
		if v.change != nil {
			v.change(&d)
		}
		b := sealed(t, d)
		if d.Folder != "" {
			b.folder = d.Folder
		}
		if v.mutate != nil {
			v.mutate(b)
		}
		if b.stock(program) == (v.name == "corrections below the mark") {
			t.Errorf("%s: sha256sum and the checks differ otherwise than on the text below the end mark", v.name)
		}
	}
}
