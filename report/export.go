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
	"assay/collect/private"
	"assay/ingest/store"
	"assay/report/bundle"
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
	return ExportWith(ctx, db, campaign, Options{})
}

// ExportWith is Export with more names to deny, and texts to allow. An allow
// entry that matches nothing is an error.
func ExportWith(ctx context.Context, db *store.DB, campaign string, opt Options) (Data, error) {
	e := exporter{
		db: db.SQL(), campaign: campaign, files: map[string][]byte{}, limit: thinBytes, opt: opt,
		record: sanitizeRecord{
			RulesSHA256: sanitize.RulesSHA256(), Dropped: map[string]int64{}, Replaced: map[string]int64{},
			Allow: append([]sanitize.AllowEntry{}, opt.Allow...),
		},
	}
	for _, step := range []func(context.Context) error{e.plan, e.sources, e.tables, e.finish} {
		if err := step(ctx); err != nil {
			return Data{}, fmt.Errorf("export campaign %s: %w", campaign, err)
		}
	}
	return Data{Files: e.files}, nil
}

type exporter struct {
	db         querier
	campaign   string
	limit      int // bytes above which a file is thinned
	files      map[string][]byte
	columns    []tableColumns
	record     sanitizeRecord
	planSHA256 string // of the private plan
	lock       plan.Lock

	opt Options
	// redactor is that of the plan, so that a placeholder means the same in the
	// plan and in every table.
	redactor *private.Redactor
}

// sanitizeRecord is sanitize.json.
type sanitizeRecord = bundle.SanitizeRecord

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
	if e.redactor, err = plan.NewRedactor(p); err != nil {
		return fmt.Errorf("redact the plan: %w", err)
	}
	redacted, err := plan.RedactWith(p, e.redactor)
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
	for class, n := range e.redactor.Counts {
		e.record.Replaced[planFile+":"+string(class)] = n
	}
	e.redactor.Known.Deny, e.redactor.Known.Secrets = e.opt.Deny, e.opt.Secrets // the lock knows nothing of them; a plan that names one fails the scan
	e.files[planFile] = redacted.Bytes
	return nil
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
		list[i].Path = e.clean(sourcesFile, "path", list[i].Path)
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
	e.cleanRows(p, rows)
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

func (e *exporter) finish(context.Context) error {
	if err := errors.Join(
		e.json(columnsFile, map[string]any{"schema": dataSchema, "tables": e.columns}),
		e.json(sanitizeFile, e.record),
	); err != nil {
		return err
	}
	digests := map[string]bool{e.planSHA256: true, e.lock.RedactedCanonicalSHA256: true, e.lock.BytesSHA256: true}
	rules := sanitize.Rules{Known: private.Known{Digests: digests, Deny: e.opt.Deny, Secrets: e.opt.Secrets}, Allow: e.opt.Allow}
	return sanitize.Refusal(rules.Scan(e.files))
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
