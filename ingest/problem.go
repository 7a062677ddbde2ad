package ingest

// Code says what ingest found wrong, a closed list.
type Code string

// What can be wrong with a source.
const (
	CodeUnknownSource   Code = "unknown_source"    // no run directory was recognised
	CodeMissingFile     Code = "missing_file"      // a file every run or attempt has is not there
	CodeUnknownFile     Code = "unknown_file"      // a file that belongs to no run directory; not read
	CodeIncompleteFile  Code = "incomplete_file"   // a Parquet file without its footer, or cut in the middle
	CodeUnreadableFile  Code = "unreadable_file"   // a file that cannot be read
	CodeWrongSchema     Code = "wrong_schema"      // a Parquet file of another table, column set or schema version
	CodeOtherPlan       Code = "other_plan"        // a file that another plan's run wrote
	CodeBadPlan         Code = "bad_plan"          // what plan.Decode found wrong
	CodeBadLock         Code = "bad_lock"          // the lock cannot be read, or does not lock this plan
	CodeBadRunFile      Code = "bad_run_file"      // run.json cannot be read, or names another plan
	CodeJournalLine     Code = "journal_line"      // a journal line that is not one entry; not used
	CodeJournalEntry    Code = "journal_entry"     // an entry that names what the plan does not have
	CodeCampaignClash   Code = "campaign_conflict" // another plan or run is loaded under this campaign id
	CodeSpoolLeft       Code = "spool_left"        // an attempt that was cut off, or still runs
	CodeMissingFolder   Code = "missing_folder"    // the journal names an attempt that has no folder
	CodeUnplannedFolder Code = "unplanned_folder"  // a folder for a cell the plan does not have; not read
	CodeNotInJournal    Code = "not_in_journal"    // a folder of an attempt the journal does not name
	CodeDuplicateRows   Code = "duplicate_rows"    // rows with the same key; the first is used
	CodeUnplannedRows   Code = "unplanned_rows"    // rows of a request the plan does not have; not used
	CodeNoRecord        Code = "request_missing"   // planned requests without a row
	CodeStrayEvents     Code = "stray_events"      // events of a request that was not dispatched
	CodeEventsLost      Code = "events_lost"       // the reader saw another number of events than are stored
	CodeBadEvents       Code = "bad_events"        // events that are neither a JSON object nor [DONE]
	CodeAliasConflict   Code = "alias_conflict"    // unequal texts under both names of the reasoning field
	CodePageLine        Code = "page_line"         // a line of a metrics page that cannot be read
	CodePageHash        Code = "page_hash"         // a stored metrics page is not the one whose digest was recorded; not used
	CodePageFamilies    Code = "page_families"     // a page lacks families of the page before; not used when more than half are missing
	CodeSmokeFailed     Code = "smoke_failed"      // an arm did not answer a question of the smoke check
	CodeNotRestored     Code = "not_restored"      // a check after the restoration failed, or none was made
	CodeClockChange     Code = "clock_change"      // the clocks showed a step or a suspend between two cells
	CodeKilled          Code = "collector_killed"  // the collector was killed inside an attempt
	CodeLoadFailed      Code = "load_failed"       // a statement failed; nothing of the folder is loaded
)

// Problem is one thing found wrong with a source. It becomes a row of the
// table problems with stage ingest.
type Problem struct {
	Arm, Cell string // "" when it concerns no single one
	Attempt   *int64 // nil when it concerns no single one
	Code      Code
	Source    string // path inside the run directory
	Position  string // where in the source; may be empty
	Detail    string // one sentence without private data
}
