package ingest

import (
	"slices"
	"testing"

	"assay/collect/record"
)

func TestJournalProblems(t *testing.T) {
	entry := func(kind record.EntryKind, rule, outcome string) record.Entry {
		return record.Entry{Kind: kind, Rule: rule, Outcome: outcome, Detail: "why", Arm: "a"}
	}
	begin, fail, pass := entry(record.EntryRestoreBegin, "", ""), entry(record.EntryRestoreCheck, "files_unchanged", "fail"), entry(record.EntryRestoreCheck, "candidate_absent", "pass")
	end := func(outcome string) record.Entry { return entry(record.EntryRestoreEnd, "", outcome) }
	for name, test := range map[string]struct {
		entries []record.Entry
		want    []string
	}{
		"nothing":                  {nil, nil},
		"smoke":                    {[]record.Entry{entry(record.EntrySmoke, "json", "fail"), entry(record.EntrySmoke, "plain", "pass")}, []string{"smoke_failed json: why"}},
		"a kill":                   {[]record.Entry{entry(record.EntryRecover, "", "")}, []string{"collector_killed why"}},
		"a step between cells":     {[]record.Entry{entry(record.EntryClock, "clock_step", "")}, []string{"clock_change clock_step: why"}},
		"restored":                 {[]record.Entry{begin, pass, end("restored")}, nil},
		"never restored":           {[]record.Entry{begin}, []string{"not_restored the host was changed, and the run does not say that it was restored"}},
		"a check fails":            {[]record.Entry{begin, pass, fail, end("not_restored")}, []string{"not_restored files_unchanged: why"}},
		"fails twice":              {[]record.Entry{begin, fail, end("not_restored"), fail, end("not_restored")}, []string{"not_restored files_unchanged: why"}},
		"restored at the next try": {[]record.Entry{begin, fail, end("not_restored"), pass, end("restored")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range journalProblems(test.entries) {
				got = append(got, string(p.Code)+" "+p.Detail)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v", got)
			}
		})
	}
}
