package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/collect/campaign"
)

// TestRawRunGivesThePublishedData is V-23: a bundle agrees with its own run
// directory, and with no other and no changed one.
func TestRawRunGivesThePublishedData(t *testing.T) {
	collectRun := func() (run string) {
		p := governedPlan(t, "governed-finding")
		o := governedOptions(t, p, nil)
		o.Smoke, o.CellGlob = false, "*-natural-*"
		if _, err := campaign.Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		return o.Dir
	}
	run, other := collectRun(), collectRun()
	publishRun(t, run, "governed-finding")
	bundle := filepath.Join(filepath.Dir(run), "findings", "2026-10-17-governed-evidence")
	folders, err := filepath.Glob(filepath.Join(run, "cells/arm=baseline/*/attempt=1"))
	if err != nil || len(folders) == 0 {
		t.Fatal(folders, err)
	}
	events := filepath.Join(folders[0], "events.parquet")
	original, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		run  string
		edit func() error
		want string // "" for a pass
	}{
		{"its own run", run, func() error { return nil }, ""},
		{"another run of the plan", other, func() error { return nil }, "the manifest says"},
		{"a raw file with one byte changed", run, func() error {
			changed := append([]byte{}, original...)
			changed[len(changed)/2] ^= 1
			return os.WriteFile(events, changed, 0o644)
		}, "events.parquet: sha256"},
		{"a raw file cut short", run, func() error { return os.WriteFile(events, original[:len(original)-1], 0o644) }, "events.parquet: sha256"},
		{"a raw file missing", run, func() error { return os.Remove(events) }, "events.parquet: is not in the run directory"},
		{"a raw file too many", run, func() error {
			if err := os.WriteFile(events, original, 0o644); err != nil {
				return err
			}
			return os.CopyFS(strings.TrimSuffix(folders[0], "1")+"2", os.DirFS(folders[0]))
		}, "is not what the raw run gives"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := test.edit(); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := command(t, "verify", bundle, "--raw", test.run)
			if test.want == "" {
				if code != 0 || !strings.Contains(stdout, "exported again from the raw run") {
					t.Errorf("exit %d\n%s%s", code, stdout, stderr)
				}
				return
			}
			first, _, _ := strings.Cut(stdout, "\n")
			if code != 1 || !strings.HasPrefix(first, "FAIL V-23 ") || !strings.Contains(stdout, test.want) {
				t.Errorf("exit %d, want V-23 first with %q\n%s%s", code, test.want, stdout, stderr)
			}
		})
	}
	if code, _, stderr := command(t, "verify", bundle, "--raw", filepath.Join(bundle, "data")); code != 3 || !strings.Contains(stderr, "is no run directory") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
