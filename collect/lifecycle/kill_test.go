package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/collect/campaign"
	"assay/collect/plan"
	"assay/collect/record"
)

// killJob is what the collector that will be killed is to do.
type killJob struct {
	Dir, PlanPath, LifecyclePath string
	BaseURLs                     map[string]string
}

const killJobEnv = "ASSAY_LIFECYCLE_KILL_TEST"

// TestMain runs a collector in place of the tests when the kill test starts this
// binary again.
func TestMain(m *testing.M) {
	if text := os.Getenv(killJobEnv); text != "" {
		if err := collectAs([]byte(text)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func collectAs(text []byte) error {
	var job killJob
	if err := json.Unmarshal(text, &job); err != nil {
		return err
	}
	planText, err := os.ReadFile(job.PlanPath)
	if err != nil {
		return err
	}
	p, problems := plan.Decode(planText)
	if len(problems) > 0 {
		return fmt.Errorf("plan: %v", problems)
	}
	f, err := Load(job.LifecyclePath, p)
	if err != nil {
		return err
	}
	host := New(f, Config{Plan: p, BaseURLs: job.BaseURLs})
	host.poll = 10 * time.Millisecond
	summary, err := campaign.Run(context.Background(), campaign.Options{
		Plan: p, Dir: job.Dir, Version: "test", BaseURLs: job.BaseURLs, RestartClock: true, Resume: true,
		SampleEvery: 50 * time.Millisecond, Lifecycle: host,
	})
	if err == nil && !summary.Complete() {
		return fmt.Errorf("not complete: %+v", summary)
	}
	return err
}

// TestAKilledCollectorRestoresWhenResumed kills collectors that have changed the
// host, at moments after the incumbent was stopped; the resumed one ends the
// campaign and restores once.
func TestAKilledCollectorRestoresWhenResumed(t *testing.T) {
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2))
	for range 4 {
		r := newRack(t, nil)
		job := killJob{Dir: filepath.Join(t.TempDir(), "run"), PlanPath: filepath.Join(t.TempDir(), "plan.json"), LifecyclePath: filepath.Join(t.TempDir(), "lifecycle.json"), BaseURLs: r.urls()}
		lifecycle, err := json.Marshal(r.file(namedFile(t)))
		if err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string][]byte{job.PlanPath: testPlan(t).Bytes, job.LifecyclePath: lifecycle} {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		text, err := json.Marshal(job)
		if err != nil {
			t.Fatal(err)
		}
		start := func() (*exec.Cmd, *strings.Builder) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), killJobEnv+"="+string(text))
			var said strings.Builder
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			return cmd, &said
		}
		doomed, said := start()
		ended := make(chan error, 1)
		go func() { ended <- doomed.Wait() }()
		if !r.changed(ended) {
			t.Fatalf("the collector ended before it changed the host: %s", said)
		}
		time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
		_ = doomed.Process.Kill() // it may have ended by itself
		if err := <-ended; err == nil {
			t.Log("the collector was quicker than the kill")
		}
		again, said := start()
		if err := again.Wait(); err != nil {
			t.Fatal(err, said)
		}
		entries := journal(t, job.Dir)
		if checks, _, end := restored(entries); !maps.Equal(checks, allPass) || end != "restored" {
			t.Errorf("end %q, checks %v", end, checks)
		}
		finished := map[string]bool{}
		for _, e := range entries {
			if e.Kind == record.EntryAttemptEnd && e.Outcome == string(campaign.StateComplete) {
				finished[e.Cell] = true
			}
		}
		if len(finished) != len(testPlan(t).Cells) {
			t.Errorf("complete cells: %v", finished)
		}
	}
}

// changed waits until the incumbent was stopped; false when the collector ended
// first.
func (r *rack) changed(ended chan error) bool {
	for {
		if _, err := os.Stat(r.path("baseline")); err != nil {
			return true
		}
		select {
		case err := <-ended:
			ended <- err
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}
