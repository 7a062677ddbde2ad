package report

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"assay/collect/engine"
)

// published is one table of the bundle: rows of a table of the database.
type published struct {
	file    string // data/FILE.parquet
	table   string // table of the database
	meaning string
	key     string // columns the rows are ordered by; unique
	where   string // condition beside the campaign, or empty
	engine  bool   // canonical engine series only
	// thin is the column by which samples are thinned when the file would be
	// larger than thinBytes; empty for tables that are always whole.
	thin string
	// optional tables are published when they have rows; a bundle without the file
	// has none.
	optional bool
}

// thinBytes is the size above which samples are thinned.
const thinBytes = 700 << 10

const attemptKey = "arm, cell, attempt"

// familyEnding is what a series name may have behind its family's name.
const familyEnding = `'_(bucket|sum|count|created|total)$'`

// canonicalFamilies holds for the engine series whose meaning is known, and for
// those that tell a restart of the engine.
var canonicalFamilies = sync.OnceValue(func() string {
	var quoted []string
	for _, m := range engine.Canonical() {
		quoted = append(quoted, "'"+strings.ReplaceAll(m.Source, "'", "''")+"'")
	}
	slices.Sort(quoted)
	return fmt.Sprintf(`(regexp_replace(series, %[1]s, '') IN (SELECT regexp_replace(s, %[1]s, '') FROM (SELECT unnest([%[2]s]) AS s))
    OR series LIKE '%%process_start_time_seconds')`, familyEnding, strings.Join(slices.Compact(quoted), ", "))
})

// repeatTable holds the medians of other campaigns.
const repeatTable = "repeat_medians"

// publishedTables lists the tables of a bundle in the order of their names.
var publishedTables = []published{
	{file: "arms", table: "arms", meaning: "Arms as configured.", key: "arm"},
	{file: "attempts", table: "attempts", meaning: "Attempts at each cell.", key: "cell, attempt"},
	{file: "campaigns", table: "campaigns", meaning: "The campaign, its lock and its clock.", key: "campaign"},
	{file: "cells", table: "cells", meaning: "Planned cells, run or not.", key: "cell_order, cell"},
	{file: "cgroup", table: "cgroup_samples", meaning: "Readings of the engine's control group.", key: attemptKey + ", sample_seq", thin: "sample_seq"},
	{
		file: "engine_samples", table: "engine_samples", thin: "page_seq",
		meaning: "Canonical engine gauges and counters over time.",
		key:     attemptKey + ", page_seq, series, labels, le, value, declared",
		engine:  true, where: "NOT " + isHistogram,
	},
	{
		file: "facts", table: "engine_facts", optional: true,
		meaning: "What the engines say, beside their pages, about what they are and what they can hold.",
		key:     attemptKey + ", phase, fact, source, value",
	},
	{file: "gpu", table: "gpu_samples", meaning: "Readings of each GPU.", key: attemptKey + ", sample_seq, gpu_index, gpu", thin: "sample_seq"},
	{
		file: "histograms", table: "engine_samples",
		meaning: "Canonical engine histograms before and after each cell.",
		key:     attemptKey + ", page_seq, series, labels, le, value, declared",
		engine:  true, where: isHistogram,
	},
	{file: "host", table: "host_samples", meaning: "Readings of the load host and of the client.", key: attemptKey + ", sample_seq", thin: "sample_seq"},
	{file: "identities", table: "identities", meaning: "Identity facts of the engines around each attempt.", key: attemptKey + ", phase, fact, source, value, reason"},
	{file: "pages", table: "pages", meaning: "Scrapes of the engines' metrics pages, without the pages.", key: attemptKey + ", page_seq"},
	{file: "problems", table: "problems", meaning: "What was found wrong while collecting and loading.", key: attemptKey + ", stage, code, source, position, detail"},
	{file: "repeats", table: repeatTable, meaning: "Medians of other campaigns whose plans measure the same.", key: "repeat, cell, metric", optional: true},
	{file: "requests", table: "request_facts", meaning: "Planned requests of each attempt: numbers and flags, no text of a prompt or an answer.", key: "cell, attempt, request_index"},
	{file: "restoration", table: "restoration_checks", meaning: "Checks after each restoration of the earlier service.", key: "check_seq", optional: true},
	{file: "smoke", table: "smoke_checks", meaning: "Questions put to each arm before its first cell, and how they were answered.", key: "smoke_seq", optional: true},
	{file: "stops", table: "stops", meaning: "Stop rules that fired.", key: "stop_seq"},
}

// isHistogram separates the series of a histogram from scalars. Whether a family
// is a histogram is said by its buckets; its sum and count go with them.
const isHistogram = `(le IS NOT NULL OR regexp_replace(series, '_(sum|count|created)$', '') IN (
    SELECT regexp_replace(series, '_bucket$', '') FROM engine_samples WHERE le IS NOT NULL))`

// PublishedTable says which table of the database a data file of a bundle holds.
type PublishedTable struct {
	Table    string
	Optional bool // a bundle without the file has no such rows
}

// PublishedTables lists the data files of a bundle by their path in its folder.
func PublishedTables() map[string]PublishedTable {
	out := map[string]PublishedTable{}
	for _, p := range publishedTables {
		out["data/"+p.file+".parquet"] = PublishedTable{p.table, p.optional}
	}
	return out
}
