package ingest

import (
	"fmt"

	"assay/collect/record"
	"assay/ingest/store"
)

// Outcomes of checks in the journal.
const (
	checkFailed     = "fail"
	outcomeRestored = "restored"
)

func (l *loader) writeSmoke(tx *store.Tx) error {
	return l.appendEntries(tx, "smoke_checks", record.EntrySmoke, func(e record.Entry) []any {
		return []any{e.Arm, e.Rule, e.Outcome, e.Detail, figure(e, "http_status"), textOrNull(e.Facts["end_kind"]), figure(e, "took_ns"), textOrNull(e.Facts["answer_sha256"])}
	})
}

func (l *loader) writeRestoration(tx *store.Tx) error {
	return l.appendEntries(tx, "restoration_checks", record.EntryRestoreCheck, func(e record.Entry) []any {
		return []any{e.Rule, e.Outcome, e.Detail, textOrNull(e.Facts["postcondition"])}
	})
}

// appendEntries adds one row for each journal entry of a kind: campaign, its
// order, both times, and what columns gives.
func (l *loader) appendEntries(tx *store.Tx, table string, kind record.EntryKind, columns func(record.Entry) []any) error {
	return tx.Append(table, func(add func(...any) error) error {
		seq := int64(0)
		for _, e := range l.campaign.journal {
			if e.Kind != kind {
				continue
			}
			if err := add(append([]any{l.campaign.plan.CampaignID, seq, e.MonoNs, e.UnixNs}, columns(e)...)...); err != nil {
				return err
			}
			seq++
		}
		return nil
	})
}

// figure is a number of an entry, null when it is not stated.
func figure(e record.Entry, name string) any {
	if v, ok := e.Figures[name]; ok {
		return v
	}
	return nil
}

// journalProblems are what the journal itself says went wrong with the whole
// campaign, so that the finding names it: failed smoke checks, a kill, a change
// of the clocks between cells, and a host that is not as it was. Of several
// restorations the last one counts.
func journalProblems(entries []record.Entry) []Problem {
	var found, owed []Problem
	fresh := false // the next failed check is the first of a restoration
	for i, e := range entries {
		p := Problem{Arm: e.Arm, Source: record.JournalName, Position: fmt.Sprintf("entry %d", i+1), Detail: e.Detail}
		switch {
		case e.Kind == record.EntrySmoke && e.Outcome == checkFailed:
			p.Code, p.Detail = CodeSmokeFailed, e.Rule+": "+e.Detail
			found = append(found, p)
		case e.Kind == record.EntryRecover:
			number := int64(e.Attempt)
			p.Code, p.Cell, p.Attempt = CodeKilled, e.Cell, &number
			found = append(found, p)
		case e.Kind == record.EntryClock:
			p.Code, p.Detail = CodeClockChange, e.Rule+": "+e.Detail
			found = append(found, p)
		case e.Kind == record.EntryRestoreBegin:
			p.Code, p.Detail = CodeNotRestored, "the host was changed, and the run does not say that it was restored"
			owed, fresh = []Problem{p}, true
		case e.Kind == record.EntryRestoreCheck && e.Outcome == checkFailed:
			p.Code, p.Detail = CodeNotRestored, e.Rule+": "+e.Detail
			if fresh {
				owed, fresh = nil, false
			}
			owed = append(owed, p)
		case e.Kind == record.EntryRestoreEnd && e.Outcome == outcomeRestored:
			owed = nil
		case e.Kind == record.EntryRestoreEnd:
			fresh = true
		}
	}
	return append(found, owed...)
}
