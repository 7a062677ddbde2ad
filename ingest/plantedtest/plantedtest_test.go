package plantedtest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOneSeedIsOneCampaign(t *testing.T) {
	for _, seed := range []int64{0, 1, 17} {
		var trees [2]map[string][]byte
		var truths [2]Truth
		for i := range trees {
			c := generate(t, seed)
			truths[i] = c.Truth()
			dir := filepath.Join(t.TempDir(), c.ID)
			if err := c.Write(dir); err != nil {
				t.Fatal(err)
			}
			trees[i] = read(t, dir)
		}
		if len(trees[0]) < 4 {
			t.Errorf("seed %d: %d files", seed, len(trees[0]))
		}
		for name, content := range trees[0] {
			if !bytes.Equal(content, trees[1][name]) {
				t.Errorf("seed %d: %s differs between two runs", seed, name)
			}
		}
		if diff := cmp.Diff(truths[0], truths[1]); diff != "" {
			t.Errorf("seed %d: the truth differs: %s", seed, diff)
		}
	}
}

// TestAThousandCampaignsHoldEveryKind keeps the generator from losing a fault:
// what is not planted is not tested.
func TestAThousandCampaignsHoldEveryKind(t *testing.T) {
	planted := map[string]bool{}
	for seed := range int64(1000) {
		for name := range generate(t, seed).Truth().Planted {
			planted[name] = true
		}
	}
	for _, name := range Kinds() {
		if !planted[name] {
			t.Errorf("no campaign has %q", name)
		}
	}
}

// TestTheTruthHasBothVerdicts: a truth in which everything passed would agree
// with a view that judges nothing.
func TestTheTruthHasBothVerdicts(t *testing.T) {
	seen := map[string]bool{}
	for seed := range int64(200) {
		truth := generate(t, seed).Truth()
		for _, r := range truth.Requests {
			for rule, verdict := range r.Verdicts {
				seen[rule+" "+verdict] = true
			}
		}
		for _, c := range truth.Cells {
			for rule, verdict := range c.Verdicts {
				seen["cell "+rule+" "+verdict] = true
			}
		}
	}
	for _, rule := range RequestRules {
		for _, verdict := range []string{"pass", "fail", "not_evaluable"} {
			if !seen[rule+" "+verdict] || !seen["cell "+rule+" "+verdict] {
				t.Errorf("no %s with the verdict %s", rule, verdict)
			}
		}
	}
	for _, want := range []string{"cell cell_complete pass", "cell cell_complete fail", "cell identity_stable pass", "cell identity_stable fail", "cell identity_stable not_evaluable"} {
		if !seen[want] {
			t.Errorf("no %s", want)
		}
	}
}

func generate(t *testing.T, seed int64) *Campaign {
	t.Helper()
	c, err := New(seed)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func read(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
