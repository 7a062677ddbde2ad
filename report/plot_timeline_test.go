package report

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/report/bundle"
)

// TestEveryMeasuredCellHasItsRequestsInATimeline looks for the lane of each cell in
// the picture of its workload and context.
func TestEveryMeasuredCellHasItsRequestsInATimeline(t *testing.T) {
	for name, c := range map[string]campaign{"passing": passing, "failing": failing} {
		out := finding(t, name, c)
		hollow := 0
		for _, cell := range testCells() {
			file := fmt.Sprintf("plots/timeline-%s-%d.svg", cell.workload, cell.context)
			svg := string(out.Draft.Files[file])
			if cell.warmup {
				if svg != "" {
					t.Errorf("%s: a warm-up is drawn in %s", name, file)
				}
				continue
			}
			n := cell.requests
			if slices.Contains(c.notRun, cell.id) {
				n = 0
			}
			if want := fmt.Sprintf("C%d %s, n = %d  ", cell.concurrency, cell.arm, n); !strings.Contains(svg, want) {
				t.Errorf("%s: %s has no lane %q", name, file, want)
			}
			if strings.Contains(svg, "Hollow bars") {
				hollow++
			}
		}
		if (hollow > 0) != (name == "failing") {
			t.Errorf("%s: %d cells in pictures that speak of hollow bars", name, hollow)
		}
	}
}

// TestRenderingAgainTakesAwayOnlyItsOwnFiles renders a bundle whose earlier
// rendering had a plot more, and beside which lies a file of somebody else.
func TestRenderingAgainTakesAwayOnlyItsOwnFiles(t *testing.T) {
	ctx := context.Background()
	draft := render(t, derivedExample(t, nil), 1).Draft
	draft.Files["plots/earlier.svg"] = []byte("<svg/>")
	dir := t.TempDir()
	if _, err := bundle.Seal(dir, draft); err != nil {
		t.Fatal(err)
	}
	folder := bundle.FolderName(derivedID)
	foreign := filepath.Join(dir, folder, "notes.txt")
	if err := os.WriteFile(foreign, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	written, err := Rerender(ctx, dir, Options{})
	if err != nil || !slices.Contains(written, folder+"/plots/earlier.svg") {
		t.Errorf("rerender wrote %v, %v", written, err)
	}
	if _, err := os.Stat(filepath.Join(dir, folder, "plots", "earlier.svg")); err == nil {
		t.Error("a plot that nothing renders is still there")
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error("somebody else's file was taken away")
	}
}
