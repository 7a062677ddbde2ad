package bundle

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// openedFS notes what is opened.
type openedFS struct {
	OS
	mu     sync.Mutex
	opened []string
}

func (f *openedFS) Open(name string) (File, error) {
	f.mu.Lock()
	f.opened = append(f.opened, name)
	f.mu.Unlock()
	return f.OS.Open(name)
}

// TestCaseG08EachTamperHasItsOwnFailure plays the field case G08: entries that
// lead outside, links, unlisted files, twins, an empty manifest, a flipped byte.
// Each has a failure of its own, and nothing outside the bundle is opened.
func TestCaseG08EachTamperHasItsOwnFailure(t *testing.T) {
	base := sealed(t, testDraft(testID))
	for _, name := range []string{
		"name ../x", "name absolute", "extra file", "listed twice", "case twins", "manifest empty", "one bit", "link to the host",
	} {
		t.Run(name, func(t *testing.T) {
			rows := slices.Concat(corpus, []tamper{{"link to the host", "V-03", func(b box) {
				b.must(os.Remove(b.path(text)))
				b.must(os.Symlink("/etc/hostname", b.path(text)))
			}}})
			at := slices.IndexFunc(rows, func(row tamper) bool { return row.name == name })
			if at < 0 {
				t.Fatal("no such tamper")
			}
			b := base.copyBox(t)
			rows[at].mutate(b)
			fsys := &openedFS{}
			l, err := load(fsys, b.bundle())
			b.must(err)
			if r := Verify(l, Options{}); r.OK() || first(r) != rows[at].code {
				t.Errorf("first code %q, want %q", first(r), rows[at].code)
			}
			beside := []string{NarrativeName(testID), IndexName}
			for _, opened := range fsys.opened {
				inside := opened == b.bundle() || strings.HasPrefix(opened, b.bundle()+string(filepath.Separator))
				if !inside && (filepath.Dir(opened) != b.findings || !slices.Contains(beside, filepath.Base(opened))) {
					t.Errorf("%s was opened", opened)
				}
			}
		})
	}
}
