package ingest

import (
	"fmt"
	"os"
	"path/filepath"

	"assay/collect/plan"
	"assay/collect/record"
)

// campaign is the decoded part of a run directory that concerns all of it.
type campaign struct {
	plan     *plan.Plan
	digest   string
	lock     *plan.Lock  // nil when there is none that can be read
	run      *record.Run // nil when there is none that can be read
	journal  []record.Entry
	problems []Problem
}

// decodeCampaign reads plan, lock, run.json and journal. Without a plan there
// is nothing to hang rows on, and plan is nil.
func decodeCampaign(t tree) (campaign, error) {
	c := campaign{problems: t.problems}
	if !t.has(record.PlanName) {
		return c, nil
	}
	p, problems, err := plan.Load(filepath.Join(t.dir, record.PlanName))
	if err != nil {
		return c, fmt.Errorf("read %s: %w", record.PlanName, err)
	}
	for _, found := range problems {
		c.add(CodeBadPlan, record.PlanName, found.Pointer, found.Detail)
	}
	if p == nil || p.CampaignID == "" {
		return c, nil
	}
	c.plan, c.digest = p, p.Digest()
	c.readLock(t)
	c.readRun(t)
	return c, c.readJournal(t)
}

func (t tree) has(name string) bool {
	for _, f := range t.files {
		if f.path == name {
			return true
		}
	}
	return false
}

func (c *campaign) add(code Code, source, position, detail string) {
	c.problems = append(c.problems, Problem{Code: code, Source: source, Position: position, Detail: detail})
}

func (c *campaign) readLock(t tree) {
	if !t.has(record.LockName) {
		return
	}
	text, err := os.ReadFile(filepath.Join(t.dir, record.LockName))
	if err != nil {
		c.add(CodeBadLock, record.LockName, "", "the lock cannot be read")
		return
	}
	lock, err := plan.DecodeLock(text)
	if err != nil {
		c.add(CodeBadLock, record.LockName, "", "the file is no lock")
		return
	}
	c.lock = &lock
	if lock.CanonicalSHA256 != c.digest {
		c.add(CodeBadLock, record.LockName, "/canonical_sha256", "the lock is of another plan than plan.json")
	} else if lock.BytesSHA256 != c.plan.BytesSHA256() {
		c.add(CodeBadLock, record.LockName, "/bytes_sha256", "plan.json was written again after it was locked; its content is the same")
	}
}

func (c *campaign) readRun(t tree) {
	if !t.has(record.RunName) {
		return
	}
	run, err := record.LoadRun(t.dir)
	if err != nil {
		c.add(CodeBadRunFile, record.RunName, "", "the file is not JSON of the expected shape")
		return
	}
	c.run = &run
	if run.PlanSHA256 != c.digest {
		c.add(CodeBadRunFile, record.RunName, "/plan_sha256", "the run is of another plan than plan.json")
	}
	if run.Schema != record.SchemaVersion {
		c.add(CodeBadRunFile, record.RunName, "/schema", "the run was written by another schema version")
	}
}

func (c *campaign) readJournal(t tree) error {
	if !t.has(record.JournalName) {
		return nil
	}
	entries, bad, err := record.ReadJournal(t.dir)
	if err != nil {
		return err
	}
	for _, line := range bad {
		c.add(CodeJournalLine, record.JournalName, fmt.Sprintf("line %d, byte %d", line.Line, line.Offset),
			"the line is not one whole entry; it is not used")
	}
	c.journal = entries
	c.problems = append(c.problems, journalProblems(entries)...)
	return nil
}
