package ingest

import (
	"context"
	_ "embed"
	"fmt"
	"path"

	"assay/collect/record"
	"assay/ingest/store"
)

//go:embed sql/events.sql
var eventsSQL string

//go:embed sql/request_facts.sql
var requestFactsSQL string

//go:embed sql/samples.sql
var samplesSQL string

//go:embed sql/findings.sql
var findingsSQL string

// loadFolder brings one attempt folder up to date in one transaction. A folder
// that cannot be loaded leaves only its problems.
func (l *loader) loadFolder(ctx context.Context, f *folder, k known) error {
	if !l.planned(f) {
		l.summary.Failed++
		return nil
	}
	if f.spool && len(f.files) == 0 {
		l.summary.Failed++
		return l.replaceFolder(ctx, f, nil)
	}
	if len(f.files) > 0 && !f.broken && k.all(f.files) && len(f.files) == k.below(f.path) {
		l.summary.Skipped++
		return nil
	}
	tables, err := l.checkFolder(ctx, f)
	if err != nil {
		return err
	}
	if f.broken {
		l.summary.Failed++
		l.log.Warn("attempt not loaded", "cell", f.cell, "attempt", f.attempt, "problems", len(f.problems))
		return l.replaceFolder(ctx, f, nil)
	}
	before := len(f.problems)
	err = l.replaceFolder(ctx, f, tables)
	if !unreadable(err) {
		if err == nil {
			l.summary.Loaded++
		}
		return err
	}
	l.summary.Failed++
	f.problems = f.problems[:before]
	f.add(Problem{Code: CodeLoadFailed, Source: path.Join(f.path, "*.parquet"), Detail: err.Error()})
	l.log.Warn("attempt not loaded", "cell", f.cell, "attempt", f.attempt, "error", err)
	return l.replaceFolder(ctx, f, nil)
}

// replaceFolder removes an attempt's rows and puts in those of its files, or
// only its problems when tables is nil.
func (l *loader) replaceFolder(ctx context.Context, f *folder, tables map[string]tableFile) error {
	id := l.campaign.plan.CampaignID
	var n counts
	err := l.db.Tx(ctx, func(tx *store.Tx) error {
		for _, table := range append([]string{"sources"}, perAttempt...) {
			if err := tx.Exec(ctx, "clear "+table, "DELETE FROM "+table+" WHERE campaign = ? AND cell = ? AND attempt = ?", id, f.cell, f.attempt); err != nil {
				return err
			}
		}
		err := tx.Exec(ctx, "clear problems", `DELETE FROM problems WHERE campaign = ? AND cell = ? AND attempt = ?
			AND (stage = 'collect' OR starts_with(source, ?))`, id, f.cell, f.attempt, f.path+"/")
		if err != nil {
			return err
		}
		if tables != nil {
			if n, err = l.loadTables(ctx, tx, f, tables); err != nil {
				return err
			}
			if err := writeSources(tx, id, f, f.files); err != nil {
				return err
			}
		}
		return writeProblems(tx, id, f.problems)
	})
	if err == nil {
		l.summary.Requests += n.requests
		l.summary.Events += n.events
		l.summary.Problems += int(n.problems) + len(f.problems)
	}
	return err
}

// counts are the rows one folder brought; problems are those that SQL found.
type counts struct{ requests, events, problems int64 }

// loadTables runs the SQL files over one folder.
func (l *loader) loadTables(ctx context.Context, tx *store.Tx, f *folder, tables map[string]tableFile) (n counts, err error) {
	run := func(step, statements string) func() error {
		return func() error { return tx.Exec(ctx, step, statements) }
	}
	for _, step := range []func() error{
		func() error { return l.nameAttempt(ctx, tx, f) },
		func() error { return l.showFiles(ctx, tx, f, tables) },
		run("decode events", eventsSQL),
		func() error { return classifyRequests(ctx, tx) },
		run("reduce events to requests", requestFactsSQL),
		run("note what is wrong with requests", findingsSQL),
		func() error { return l.writeGPUAliases(ctx, tx) },
		run("copy samples", samplesSQL),
		func() error { return l.loadPages(ctx, tx, f, tables) },
		func() error { return l.loadIdentities(ctx, tx, f) },
		func() error { n, err = l.count(ctx, tx, f); return err },
		func() error { return dropTemporary(ctx, tx) },
	} {
		if err := step(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// nameAttempt sets the variables by which the SQL files know the attempt.
func (l *loader) nameAttempt(ctx context.Context, tx *store.Tx, f *folder) error {
	for name, value := range map[string]any{
		"campaign": l.campaign.plan.CampaignID, "arm": f.arm, "cell": f.cell, "attempt": f.attempt, "folder": f.path,
	} {
		if err := setVariable(ctx, tx, name, value); err != nil {
			return err
		}
	}
	return nil
}

// dropTemporary leaves no text and no path on the connection.
func dropTemporary(ctx context.Context, tx *store.Tx) error {
	drop := "DROP TABLE decoded_events; DROP TABLE classified; DROP TABLE gpu_aliases"
	for _, d := range record.AllTables {
		drop += "; DROP " + shownAs(d) + " raw_" + d.TableName()
	}
	return tx.Exec(ctx, "drop decoded text", drop)
}

// showFiles makes what the SQL files read as raw_TABLE. Rows of requests the plan does not have
// and second rows with one key are left out and become problems.
func (l *loader) showFiles(ctx context.Context, tx *store.Tx, f *folder, tables map[string]tableFile) error {
	c, _ := l.campaign.plan.Cell(f.cell)
	for _, d := range record.AllTables {
		t, present := tables[d.TableName()]
		where := ""
		if key := rowKey[d.TableName()]; key != "" && present {
			var err error
			if where, err = l.keyFilter(ctx, f, t, keyed{key: key, requests: c.Requests}); err != nil {
				return err
			}
		}
		if err := tx.Exec(ctx, "show "+d.TableName(), showTable(d, t, present, where)); err != nil {
			return err
		}
	}
	return nil
}

// rowKey is the key of the tables whose rows belong to requests.
var rowKey = map[string]string{"requests": "request_index", "events": "request_index, seq"}

type keyed struct {
	key      string
	requests int64
}

func (l *loader) keyFilter(ctx context.Context, f *folder, t tableFile, k keyed) (string, error) {
	planned := fmt.Sprintf("request_index BETWEEN 0 AND %d", k.requests-1)
	query := fmt.Sprintf(`SELECT count(*) FILTER (NOT %[1]s), count(*) FILTER (%[1]s) - count(DISTINCT CASE WHEN %[1]s THEN (%[2]s) END)
		FROM read_parquet(%[3]s, hive_partitioning = false)`, planned, k.key, literal(t.path))
	type row struct{ unplanned, second int64 }
	rows, err := l.db.Query(ctx, "check keys of "+t.table.TableName(), query)
	found, err := store.Collect(rows, err, func(r *row) []any { return []any{&r.unplanned, &r.second} })
	if err != nil {
		return "", err
	}
	source := path.Join(f.path, t.table.TableName()+".parquet")
	where := " WHERE " + planned
	for _, n := range found {
		if n.unplanned > 0 {
			f.add(Problem{Code: CodeUnplannedRows, Source: source, Detail: fmt.Sprintf("%d rows belong to no planned request; they are not used", n.unplanned)})
		}
		if n.second > 0 {
			f.add(Problem{Code: CodeDuplicateRows, Source: source, Detail: fmt.Sprintf("%d rows have the key of an earlier row; they are not used", n.second)})
			where += " QUALIFY row_number() OVER (PARTITION BY " + k.key + " ORDER BY file_row_number) = 1"
		}
	}
	return where, nil
}

// classifyRequests fills the temporary table classified with the requests
// whose outcome an error text decides.
func classifyRequests(ctx context.Context, tx *store.Tx) error {
	const evidenceSQL = `CREATE OR REPLACE TEMP TABLE classified (request_index BIGINT, outcome VARCHAR, fault_class VARCHAR, error_pattern VARCHAR,
    error_limit_of VARCHAR, error_limit_tokens BIGINT, error_asked_tokens BIGINT, error_prompt_tokens BIGINT, error_output_tokens BIGINT, error_at_least BOOLEAN);
CREATE OR REPLACE TEMP VIEW error_evidence AS
WITH errors AS (
    SELECT request_index, arg_min(error_text, seq) FILTER (kind = 'error') AS error_text,
        coalesce(min(seq) FILTER (output) < min(seq) FILTER (kind = 'error'), false) AS output_first
    FROM decoded_events GROUP BY request_index)
SELECT request_index, http_status, lower(trim(split_part(content_type, ';', 1))) = 'text/event-stream' AS event_stream,
    body, error_text, coalesce(output_first, false) AS output_first
FROM raw_requests LEFT JOIN errors USING (request_index)
WHERE http_status IS NOT NULL
    AND (http_status <> 200 OR lower(trim(split_part(content_type, ';', 1))) <> 'text/event-stream' OR error_text IS NOT NULL)`
	if err := tx.Exec(ctx, "prepare error texts", evidenceSQL); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, "read error texts", "SELECT * FROM error_evidence ORDER BY request_index")
	all, err := store.Collect(rows, err, func(e *evidence) []any {
		return []any{&e.request, &e.status, &e.eventStream, &e.body, &e.errorEvent, &e.outputFirst}
	})
	if err != nil {
		return err
	}
	for _, e := range all {
		c := classify(e)
		n := c.numbers
		err := tx.Exec(ctx, "store outcomes", "INSERT INTO classified VALUES (?, nullif(?, ''), nullif(?, ''), nullif(?, ''), nullif(?, ''), ?, ?, ?, ?, ?)",
			e.request, c.outcome, c.faultClass, c.pattern, n.LimitOf, n.Limit, n.Asked, n.Prompt, n.Output, c.atLeast())
		if err != nil {
			return err
		}
	}
	return tx.Exec(ctx, "forget error texts", "DROP VIEW error_evidence")
}

// count says what the folder brought.
func (l *loader) count(ctx context.Context, tx *store.Tx, f *folder) (counts, error) {
	const query = `SELECT (SELECT count(*) FROM request_facts WHERE campaign = $1 AND cell = $2 AND attempt = $3),
		(SELECT count(*) FROM decoded_events),
		(SELECT count(*) FROM problems WHERE campaign = $1 AND cell = $2 AND attempt = $3 AND stage = 'ingest' AND starts_with(source, $4))`
	rows, err := tx.Query(ctx, "count rows", query, l.campaign.plan.CampaignID, f.cell, f.attempt, f.path+"/")
	all, err := store.Collect(rows, err, func(n *counts) []any { return []any{&n.requests, &n.events, &n.problems} })
	if err != nil || len(all) == 0 {
		return counts{}, err
	}
	return all[0], nil
}
