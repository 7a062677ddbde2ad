package record

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Names inside a run directory.
const (
	PlanName    = "plan.json"
	LockName    = "plan.lock.json"
	RunName     = "run.json"
	JournalName = "journal.jsonl"
	CellsName   = "cells"
)

// AttemptFolder is the folder of one attempt in the hive layout that any
// Parquet engine can scan, relative to the run directory.
func AttemptFolder(arm, cell string, attempt int) string {
	return filepath.Join(CellsName, "arm="+arm, "cell="+cell, fmt.Sprintf("attempt=%d", attempt))
}

// Run is run.json: what was true of the whole run when it started.
type Run struct {
	Schema       string            `json:"schema"`
	CampaignID   string            `json:"campaign_id"`
	PlanSHA256   string            `json:"plan_sha256"` // canonical digest of plan.json
	Collector    string            `json:"collector"`   // version of the program
	Kind         string            `json:"kind"`        // measured or simulated
	HostAlias    string            `json:"host_alias"`  // never a host name
	AnchorUnixNs int64             `json:"anchor_unix_ns"`
	Clock        Clock             `json:"clock"`
	Arms         []RunArm          `json:"arms"`
	Deviations   []string          `json:"deviations"` // what was set otherwise than the plan says
	Settings     map[string]string `json:"settings"`
}

// Clock is the dispatch clock of the run, all wall clock.
type Clock struct {
	Restarted      bool  `json:"restarted"` // the lock time replaces the plan's dispatch time
	DispatchUnixNs int64 `json:"dispatch_unix_ns"`
	CutoffUnixNs   int64 `json:"cutoff_unix_ns"`
	DeadlineUnixNs int64 `json:"deadline_unix_ns"`
}

// RunArm names the endpoint of an arm by alias; the address stays private.
type RunArm struct {
	Arm      string `json:"arm"`
	Endpoint string `json:"endpoint"` // alias such as endpoint-1
	Loopback bool   `json:"loopback"` // the endpoint is on the load host
}

// WriteRun stores run.json.
func WriteRun(dir string, r Run) error {
	r.Schema = SchemaVersion
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode run.json: %w", err)
	}
	return WriteFile(filepath.Join(dir, RunName), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// LoadRun reads run.json.
func LoadRun(dir string) (Run, error) {
	var r Run
	text, err := os.ReadFile(filepath.Join(dir, RunName))
	if err != nil {
		return r, fmt.Errorf("read run.json: %w", err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("read run.json: %w", err)
	}
	return r, nil
}
