package campaign

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/simengine"
)

// kills is how often the collector is killed; -kills 200 is the full test.
var kills = flag.Int("kills", 12, "how often the kill test kills the collector")

// killCells are four cells an arm.
const killCells = `
  - {workload: natural, contexts: [2048, 4096], concurrency: [1, 2], requests: 4, seed_base: 200, outer_timeout_seconds: 60}
`

// TestMain runs a collector in place of the tests when the kill test starts this
// binary again.
func TestMain(m *testing.M) {
	if dir := os.Getenv("ASSAY_KILL_TEST_RUN"); dir != "" {
		os.Exit(collectForKillTest(dir))
	}
	os.Exit(m.Run())
}

func collectForKillTest(dir string) int {
	text, err := os.ReadFile(os.Getenv("ASSAY_KILL_TEST_PLAN"))
	if err != nil {
		return 3
	}
	p, problems := plan.Decode(text)
	if len(problems) > 0 {
		return 3
	}
	engineURL := strings.Fields(os.Getenv("ASSAY_KILL_TEST_ENGINES"))
	summary, err := Run(context.Background(), Options{
		Plan: p, Dir: dir, Version: "test", RestartClock: true, Resume: true, SampleEvery: 50 * time.Millisecond,
		BaseURLs: map[string]string{"baseline": engineURL[0], "candidate": engineURL[1]},
	})
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 3
	case !summary.Complete():
		return 1
	}
	return 0
}

// TestKilledCollectorLosesNothing kills the collector at random moments, each
// followed by a resume, until the campaign is complete; and again with a new
// campaign until enough kills have happened.
func TestKilledCollectorLosesNothing(t *testing.T) {
	want := *kills
	if testing.Short() {
		want = min(want, 4)
	}
	p := gridPlan(t, killCells)
	planPath := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(planPath, p.Bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	paced := func(c *simengine.Config) {
		c.Chunks, c.ChunkInterval, c.TimeScale, c.PrefillScale = 4, 10*time.Millisecond, 1, 1000
	}
	_, a := sim(t, "model-a", paced)
	_, b := sim(t, "model-b", paced)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	killed, campaigns := 0, 0
	for killed < want {
		dir := filepath.Join(t.TempDir(), "run")
		finished := map[string]map[int64]bool{}
		inCampaign := 0
		for attempt := 0; ; attempt++ {
			// The last run of a campaign is left alone.
			patience := time.Duration(random.Int64N(int64(1200 * time.Millisecond)))
			if killed >= want || attempt > 40 {
				patience = time.Minute
			}
			code, dead := runUntil(t, dir, planPath, a+" "+b, patience)
			if !dead {
				if code != 0 {
					t.Fatalf("the collector ended with %d", code)
				}
				break
			}
			killed++
			inCampaign++
			checkSpools(t, dir, finished)
		}
		campaigns++
		checkKilledRun(t, p, dir, finished, inCampaign)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kills in %d campaigns", killed, campaigns)
}

// runUntil starts the collector and kills it after a while, unless it ends first.
func runUntil(t *testing.T, dir, planPath, engines string, patience time.Duration) (code int, killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ASSAY_KILL_TEST_RUN="+dir, "ASSAY_KILL_TEST_PLAN="+planPath, "ASSAY_KILL_TEST_ENGINES="+engines)
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // it may have ended
	err := cmd.Wait()
	timer.Stop()
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Exited() {
		return 0, true
	}
	if text := errs.String(); text != "" {
		t.Log(text)
	}
	return cmd.ProcessState.ExitCode(), false
}

// checkSpools notes which requests a killed collector had finished: they must be
// there at the end.
func checkSpools(t *testing.T, dir string, finished map[string]map[int64]bool) {
	t.Helper()
	folders, _ := filepath.Glob(filepath.Join(dir, record.CellsName, "arm=*", "cell=*", "attempt=*"))
	for _, folder := range folders {
		spool := filepath.Join(folder, record.SpoolName)
		if _, err := os.Stat(spool); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		content, err := record.CountSpool(spool)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(dir, folder)
		if finished[name] == nil {
			finished[name] = map[int64]bool{}
		}
		for _, index := range content.Indexes {
			finished[name][index] = true
		}
	}
}

func checkKilledRun(t *testing.T, p *plan.Plan, dir string, finished map[string]map[int64]bool, kills int) {
	t.Helper()
	entries := readJournal(t, dir)
	recovered := map[string]bool{}
	resumed := 0
	for _, e := range entries {
		switch {
		case e.Kind == record.EntryRecover:
			recovered[record.AttemptFolder(e.Arm, e.Cell, e.Attempt)] = true
		case e.Kind == record.EntryStart && e.Detail == "resumed":
			resumed++
		}
	}
	if len(finished) > 0 && resumed == 0 {
		t.Errorf("the journal shows no resume after %d kills", kills)
	}
	for folder, indexes := range finished {
		if !recovered[folder] {
			t.Errorf("%s: the journal does not show the kill", folder)
		}
		rows, err := record.ReadTable(filepath.Join(dir, folder), record.Requests)
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		for index := range indexes {
			if !slices.ContainsFunc(rows, func(r record.Request) bool { return r.Index == index }) {
				t.Errorf("%s: request %d was finished and is lost", folder, index)
			}
		}
	}
	for cell, state := range outcomes(entries) {
		if state != "complete" {
			t.Errorf("%s ends as %s", cell, state)
		}
	}
	if got := len(slices.Collect(maps.Keys(outcomes(entries)))); got != len(p.Cells) {
		t.Errorf("%d cells in the journal", got)
	}
	checkFolders(t, p, dir)
}

// checkFolders reads every table of every attempt: each must be whole, and no
// request may be in an attempt twice.
func checkFolders(t *testing.T, p *plan.Plan, dir string) {
	t.Helper()
	folders, _ := filepath.Glob(filepath.Join(dir, record.CellsName, "arm=*", "cell=*", "attempt=*"))
	for _, folder := range folders {
		rows, err := record.ReadTable(folder, record.Requests)
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		seen := map[int64]bool{}
		for _, r := range rows {
			if seen[r.Index] {
				t.Errorf("%s: request %d is there twice", folder, r.Index)
			}
			seen[r.Index] = true
		}
		events, err := record.ReadTable(folder, record.Events)
		if err != nil {
			t.Errorf("%s: %v", folder, err)
		}
		count := map[int64]int64{}
		for _, e := range events {
			count[e.Request]++
		}
		for _, r := range rows {
			if count[r.Index] != r.EventsSeen {
				t.Errorf("%s: request %d has %d of %d events", folder, r.Index, count[r.Index], r.EventsSeen)
			}
		}
		for _, read := range []func() error{
			func() error { _, err := record.ReadTable(folder, record.Pages); return err },
			func() error { _, err := record.ReadTable(folder, record.Answers); return err },
			func() error { _, err := record.ReadTable(folder, record.GPU); return err },
			func() error { _, err := record.ReadTable(folder, record.Cgroup); return err },
			func() error { _, err := record.ReadTable(folder, record.Host); return err },
			func() error { _, err := record.ReadTable(folder, record.Problems); return err },
		} {
			if err := read(); err != nil {
				t.Errorf("%s: %v", folder, err)
			}
		}
	}
	if len(folders) < len(p.Cells) {
		t.Errorf("%d folders for %d cells", len(folders), len(p.Cells))
	}
}

// readJournal reads a journal in which a kill may have left half a line.
func readJournal(t *testing.T, dir string) []record.Entry {
	t.Helper()
	entries, _, err := record.ReadJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}
