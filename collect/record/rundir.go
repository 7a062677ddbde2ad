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
	HostAlias    string            `json:"host_alias"`  // never a host name
	AnchorUnixNs int64             `json:"anchor_unix_ns"`
	Clock        Clock             `json:"clock"`
	Arms         []RunArm          `json:"arms"`
	Deviations   []string          `json:"deviations"` // what was set otherwise than the plan says
	Settings     map[string]string `json:"settings"`

	SelfCheck       []SelfCheck `json:"selfcheck"`                   // the client's error bar, measured before the lock
	SelfCheckNotRun string      `json:"selfcheck_not_run,omitempty"` // why there is none
}

// SelfCheck is one load of `assay selfcheck`, seen through one source of event
// times. The error of an event is its time less the moment the server sent it;
// percentiles are nearest rank.
type SelfCheck struct {
	Mode          string  `json:"mode"`             // paced or flood
	Streams       int64   `json:"streams"`          // open at once
	RatePerStream *int64  `json:"rate_per_stream"`  // events per second; null in a flood
	StampSource   string  `json:"stamp_source"`     // kernel: event times; read: the clock when the read returned
	ErrorP50Us    float64 `json:"error_p50_us"`     // microseconds
	ErrorP99Us    float64 `json:"error_p99_us"`     // microseconds
	ErrorMaxUs    float64 `json:"error_max_us"`     // microseconds
	CPUUsPerEvent float64 `json:"cpu_us_per_event"` // CPU time of the client process, microseconds
	EventsPerS    float64 `json:"events_per_s"`     // paced: received per second; flood: per second of client CPU time, what one core sustains
	Lost          int64   `json:"lost"`             // events sent and not received
	MergedShare   float64 `json:"merged_share"`     // events not last in their read, whose time is an upper bound
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
