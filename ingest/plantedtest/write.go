package plantedtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"assay/collect/plan"
	"assay/collect/record"
)

// Write puts the run directory under dir, which must not exist yet. Nothing is
// synced: a test reads it back at once.
func (c *Campaign) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	lock, err := plan.NewLock(c.plan, anchorUnixNs, "test")
	if err != nil {
		return err
	}
	run := record.Run{
		Schema: record.SchemaVersion, CampaignID: c.ID, PlanSHA256: c.plan.Digest(), Collector: "test", HostAlias: "host-a", AnchorUnixNs: anchorUnixNs,
		Clock: record.Clock{DispatchUnixNs: anchorUnixNs, CutoffUnixNs: anchorUnixNs + 16200*second, DeadlineUnixNs: anchorUnixNs + 21600*second},
	}
	for i, arm := range c.plan.Arms() {
		run.Arms = append(run.Arms, record.RunArm{Arm: arm, Endpoint: fmt.Sprintf("endpoint-%d", i+1), Loopback: true})
	}
	text, err := json.Marshal(run)
	if err != nil {
		return err
	}
	journal, err := c.journalText()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		record.PlanName: c.plan.Bytes, record.LockName: lock.Encode(), record.RunName: text, record.JournalName: journal,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	for _, x := range c.cells {
		for _, a := range x.attempts {
			if err := c.writeAttempt(filepath.Join(dir, record.AttemptFolder(x.arm, x.id, a.number)), x, a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Campaign) journalText() ([]byte, error) {
	var b bytes.Buffer
	for _, e := range c.journal {
		line, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes(), nil
}

func (c *Campaign) writeAttempt(folder string, x *cell, a *attempt) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if a.killed {
		return os.WriteFile(filepath.Join(folder, record.SpoolName), nil, 0o600)
	}
	var requests []record.Request
	var events []record.Event
	for _, e := range a.exchanges {
		if e != nil {
			requests, events = append(requests, e.row), append(events, e.events...)
		}
	}
	meta := map[string]string{"assay.plan_sha256": c.plan.Digest()}
	return errors.Join(
		writeTable(folder, record.Requests, requests, meta), writeTable(folder, record.Events, events, meta),
		writeTable(folder, record.Pages, a.pages, meta), writeTable(folder, record.Answers, a.answers, meta),
		writeTable(folder, record.GPU, nil, meta), writeTable(folder, record.Cgroup, nil, meta),
		writeTable(folder, record.Host, nil, meta), writeTable(folder, record.Problems, nil, meta),
	)
}

func writeTable[T any](folder string, t *record.Table[T], rows []T, meta map[string]string) (err error) {
	f, err := os.Create(filepath.Join(folder, t.Name+".parquet"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w, err := record.NewWriter(struct{ io.Writer }{f}, t, meta)
	if err != nil {
		return err
	}
	return errors.Join(w.Write(rows), w.Close())
}
