package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/collect/plan"
	"assay/ingest/store"
	"assay/report/sanitize"
)

// Names of the evidence files of a bundle that Render reads.
const (
	planFile     = "plan.json"
	lockFile     = "plan.lock.json"
	sourcesFile  = "sources.json"
	columnsFile  = "data/columns.json"
	sanitizeFile = "sanitize.json"
)

// Data is the evidence part of a bundle: its files by their path in the bundle
// folder.
type Data struct {
	Files map[string][]byte
}

// ErrNoCampaign says that the database does not hold the campaign asked for.
var ErrNoCampaign = errors.New("the database does not hold this campaign; ingest its run directory first")

// Export reads a campaign from an analysed database and returns what may be
// published of it. The same evidence gives the same bytes. Something private in
// a text is a *sanitize.Error, and nothing is returned; a campaign that is not
// there is ErrNoCampaign.
func Export(ctx context.Context, db *store.DB, campaign string) (Data, error) {
	e := exporter{
		db: db.SQL(), campaign: campaign, files: map[string][]byte{}, limit: thinBytes,
		record: sanitizeRecord{RulesSHA256: sanitize.RulesSHA256(), Dropped: map[string]int64{}, Replaced: map[string]int64{}, Allow: []string{}},
	}
	for _, step := range []func(context.Context) error{e.plan, e.sources, e.tables, e.finish} {
		if err := step(ctx); err != nil {
			return Data{}, fmt.Errorf("export campaign %s: %w", campaign, err)
		}
	}
	return Data{Files: e.files}, nil
}

type exporter struct {
	db       querier
	campaign string
	limit    int // bytes above which a file is thinned
	files    map[string][]byte
	columns  []tableColumns
	record   sanitizeRecord
	// planSHA256 is the digest of the private plan; planBytesSHA256 that of its file.
	planSHA256, planBytesSHA256 string
	lock                        plan.Lock
}

// sanitizeRecord is sanitize.json: what was taken out, as counts.
type sanitizeRecord struct {
	RulesSHA256 string           `json:"rules_sha256"`
	Dropped     map[string]int64 `json:"dropped"`  // rows of each column that was left out
	Replaced    map[string]int64 `json:"replaced"` // places of the plan, by sort
	Allow       []string         `json:"allow"`    // entries that let a text pass; none in this version
}

// tableColumns describes one published table in columns.json.
type tableColumns struct {
	File    string         `json:"file"`
	Table   string         `json:"table"`
	Meaning string         `json:"meaning"`
	Rows    int64          `json:"rows"`
	Thinned *thinning      `json:"thinned"` // null when every row is published
	Columns []columnRecord `json:"columns"`
}

// thinning is the rule by which samples during a cell were left out.
type thinning struct {
	Rule      string `json:"rule"`
	KeepEvery int64  `json:"keep_every"`
	RowsAll   int64  `json:"rows_all"`
}

type columnRecord struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Unit    string `json:"unit"`
	Meaning string `json:"meaning"`
}

// plan publishes the redacted plan. Its digest must be the one that was locked
// before the first request.
func (e *exporter) plan(ctx context.Context) error {
	rows, err := e.query(ctx, `SELECT plan, plan_sha256, redacted_plan_sha256, locked_at_unix_ns, collector
		FROM campaigns WHERE campaign = ? ORDER BY campaign`, e.campaign)
	if err != nil {
		return err
	}
	if len(rows.rows) == 0 {
		return ErrNoCampaign
	}
	e.planSHA256 = rows.text(0, "plan_sha256")
	p, problems := plan.Decode([]byte(rows.text(0, "plan")))
	if p == nil {
		return fmt.Errorf("the stored plan cannot be read (%d problems); ingest the run again", len(problems))
	}
	redacted, counts, err := plan.Redact(p)
	if err != nil {
		return fmt.Errorf("redact the plan: %w", err)
	}
	locked := rows.text(0, "redacted_plan_sha256")
	if locked != "" && locked != redacted.Digest() {
		return errors.New("the redacted plan is not the one that was locked before the first request; report with the version that collected")
	}
	at, ok := rows.whole(0, "locked_at_unix_ns")
	if !ok {
		return errors.New("the campaign has no plan lock, so nobody could check that its plan came first")
	}
	e.lock = plan.Lock{
		CanonicalSHA256: e.planSHA256, RedactedCanonicalSHA256: redacted.Digest(),
		LockedAtUnixNs: at, CollectorVersion: rows.text(0, "collector"),
	}
	for sort, n := range map[string]int{
		"paths": counts.Paths, "secrets": counts.Secrets, "hosts": counts.Hosts, "containers": counts.Containers, "emails": counts.Emails,
	} {
		if n > 0 {
			e.record.Replaced["plan."+sort] = int64(n)
		}
	}
	e.files[planFile] = redacted.Bytes
	return sanitize.CheckJSON(planFile, redacted.Bytes)
}

// sourceRecord is one entry of sources.json.
type sourceRecord struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// sources publishes the list of the run directory's files by digest, and the
// lock, whose digest of the plan's bytes is one of them.
func (e *exporter) sources(ctx context.Context) error {
	rows, err := e.query(ctx, `SELECT path, kind, sha256, bytes FROM sources WHERE campaign = ? ORDER BY path, sha256`, e.campaign)
	if err != nil {
		return err
	}
	list := make([]sourceRecord, len(rows.rows))
	for i := range rows.rows {
		n, _ := rows.whole(i, "bytes")
		list[i] = sourceRecord{Path: rows.text(i, "path"), Kind: rows.text(i, "kind"), SHA256: rows.text(i, "sha256"), Bytes: n}
		if err := sanitize.Check("sources", "path", list[i].Path); err != nil {
			return err
		}
		if list[i].Kind == "plan" {
			e.lock.BytesSHA256 = list[i].SHA256
		}
	}
	if e.lock.BytesSHA256 == "" {
		return errors.New("the list of sources does not name the plan's file; ingest the run directory again")
	}
	e.files[lockFile] = e.lock.Encode()
	return e.json(sourcesFile, list)
}

func (e *exporter) tables(ctx context.Context) error {
	for _, p := range publishedTables {
		if err := e.table(ctx, p); err != nil {
			return fmt.Errorf("table %s: %w", p.file, err)
		}
	}
	return nil
}

func (e *exporter) table(ctx context.Context, p published) error {
	comments, err := e.query(ctx, `SELECT column_name, comment FROM duckdb_columns()
		WHERE table_name = ? AND schema_name = 'main' ORDER BY column_index`, p.table)
	if err != nil {
		return err
	}
	rows, thin, err := e.rows(ctx, p)
	if err != nil {
		return err
	}
	if p.optional && len(rows.rows) == 0 {
		return nil
	}
	if err := checkTexts(p.table, rows); err != nil {
		return err
	}
	data, err := e.encode(p, rows, thin)
	if err != nil {
		return err
	}
	e.files["data/"+p.file+".parquet"] = data
	described := tableColumns{File: "data/" + p.file + ".parquet", Table: p.table, Meaning: p.meaning, Rows: int64(len(rows.rows)), Thinned: thin}
	for i, name := range rows.columns {
		c := columnRecord{Name: name, Type: rows.types[i], Unit: unitOf(name)}
		if at := comments.find("column_name", name); len(at) == 1 {
			c.Meaning = comments.text(at[0], "comment")
		}
		described.Columns = append(described.Columns, c)
	}
	for i := range comments.rows {
		if name := comments.text(i, "column_name"); !slices.Contains(rows.columns, name) {
			e.record.Dropped[p.table+"."+name] = int64(len(rows.rows))
		}
	}
	e.columns = append(e.columns, described)
	return nil
}

// rows reads a table. Where its file would be larger than thinBytes, samples
// taken during a cell are left out: those whose number is not divisible by the
// smallest power of two that makes it fit.
func (e *exporter) rows(ctx context.Context, p published) (*result, *thinning, error) {
	all, err := e.selectRows(ctx, p, 1)
	if err != nil || p.thin == "" {
		return all, nil, err
	}
	rows := all
	for every := int64(1); ; every *= 2 {
		if every > 1 {
			if rows, err = e.selectRows(ctx, p, every); err != nil {
				return nil, nil, err
			}
		}
		thin := &thinning{
			Rule:      fmt.Sprintf("samples during a cell are kept when %s is divisible by keep_every", p.thin),
			KeepEvery: every, RowsAll: int64(len(all.rows)),
		}
		if every == 1 {
			thin = nil
		}
		data, err := e.encode(p, rows, thin)
		if err != nil || len(data) <= e.limit || every > 1<<20 {
			return rows, thin, err
		}
	}
}

func (e *exporter) selectRows(ctx context.Context, p published, every int64) (*result, error) {
	where := "campaign = ?"
	if p.where != "" {
		where += " AND " + p.where
	}
	if p.engine {
		where += " AND " + canonicalFamilies()
	}
	if every > 1 {
		where += fmt.Sprintf(" AND (phase <> 'during' OR %s %% %d = 0)", p.thin, every)
	}
	return e.query(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE %s ORDER BY %s",
		strings.Join(sanitize.Columns(p.table), ", "), p.table, where, p.key), e.campaign)
}

func (e *exporter) encode(p published, rows *result, thin *thinning) ([]byte, error) {
	meta := map[string]string{
		"assay.schema": dataSchema, "assay.table": p.table, "assay.plan_sha256": e.planSHA256,
		"assay.rows": fmt.Sprint(len(rows.rows)),
	}
	if thin != nil {
		meta["assay.keep_every"] = fmt.Sprint(thin.KeepEvery)
	}
	return writeParquet(rows, meta)
}

// checkTexts scans every text that is about to be published.
func checkTexts(table string, rows *result) error {
	for i, name := range rows.columns {
		seen := map[string]bool{}
		for _, row := range rows.rows {
			text, ok := row[i].(string)
			if !ok || seen[text] {
				continue
			}
			seen[text] = true
			if err := sanitize.Check(table, name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *exporter) finish(context.Context) error {
	return errors.Join(
		e.json(columnsFile, map[string]any{"schema": dataSchema, "tables": e.columns}),
		e.json(sanitizeFile, e.record),
	)
}

func (e *exporter) json(name string, v any) error {
	data, err := encodeJSON(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	e.files[name] = data
	return nil
}

func (e *exporter) query(ctx context.Context, text string, args ...any) (*result, error) {
	rows, err := e.db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, store.Error("read the database", err)
	}
	r, err := collect(rows)
	return r, store.Error("read the database", err)
}

// encodeJSON writes v indented, without HTML escapes and with a last newline.
// Keys of maps are sorted, those of structs in field order.
func encodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
