package campaign

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assay/collect/record"
	"assay/collect/simengine"
)

// TestFullDiskEndsTheCampaignAndKeepsWhatWasWritten runs onto a file system
// that is too small for the first cell.
func TestFullDiskEndsTheCampaignAndKeepsWhatWasWritten(t *testing.T) {
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=300k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, 0); err != nil {
			t.Error(err)
		}
	})
	_, a := sim(t, "model-a", func(c *simengine.Config) { c.OutputScale = 1 })
	o := options(t, smallPlan(t, nil), a, a)
	o.Dir = filepath.Join(mount, "run")
	_, err := Run(t.Context(), o)
	if !errors.Is(err, errStorage) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("want a full disk, got %v", err)
	}
	left, globErr := filepath.Glob(filepath.Join(o.Dir, "cells/*/*/*/*"))
	if globErr != nil || len(left) == 0 {
		t.Fatalf("nothing is left of the attempt: %v", globErr)
	}
	for _, path := range left {
		if strings.HasSuffix(path, ".tmp") {
			t.Errorf("%s was left half-written", filepath.Base(path))
		}
	}
	if last := left[len(left)-1]; filepath.Base(last) == record.SpoolName {
		if damage, err := record.ReadSpool(last, func(record.Frame) error { return nil }); err != nil || len(damage) > 0 {
			t.Errorf("the spool ends in half a frame: %v %v", damage, err)
		}
	}
	if _, bad, err := record.ReadJournal(o.Dir); err != nil || len(bad) > 0 {
		t.Errorf("the journal has half a line: %v %v", bad, err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, record.PlanName)); err != nil {
		t.Error(err)
	}

	// With room again, the run is resumed to its end.
	if err := syscall.Mount("tmpfs", mount, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	_, b := sim(t, "model-b", nil)
	o.BaseURLs["candidate"], o.Resume = b, true
	summary, err := Run(t.Context(), o)
	if err != nil || !summary.Complete() {
		t.Fatal(err, summary)
	}
	checkFolders(t, o.Plan, o.Dir)
}
