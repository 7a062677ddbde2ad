package ingest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"assay/collect/engine"
	"assay/collect/record"
	"assay/ingest/store"
)

//go:embed sql/unrecorded.sql
var unrecordedSQL string

// perAttempt are the tables that hold an attempt's rows.
var perAttempt = []string{
	"request_facts", "events", "pages", "engine_samples", "gpu_samples", "cgroup_samples", "host_samples", "identities", "engine_facts",
}

// writeCampaign replaces everything that concerns the whole campaign, and
// removes the rows of attempts that are no more.
func (l *loader) writeCampaign(ctx context.Context) error {
	id := l.campaign.plan.CampaignID
	l.summary.Problems += len(l.campaign.problems)
	return l.db.Tx(ctx, func(tx *store.Tx) error {
		for _, table := range []string{"campaigns", "arms", "cells", "attempts", "stops", "smoke_checks", "restoration_checks"} {
			if err := tx.Exec(ctx, "clear "+table, "DELETE FROM "+table+" WHERE campaign = ?", id); err != nil {
				return err
			}
		}
		// What was found inside an attempt folder is cleared with that folder.
		if err := tx.Exec(ctx, "clear problems", "DELETE FROM problems WHERE campaign = ? AND stage = 'ingest' AND source NOT LIKE 'cells/%/%/%/%'", id); err != nil {
			return err
		}
		for _, write := range []func(*store.Tx) error{
			l.writeCampaignRow, l.writeArms, l.writeCells, l.writeAttempts, l.writeStops, l.writeSmoke, l.writeRestoration,
			func(tx *store.Tx) error { return writeProblems(tx, id, l.campaign.problems) },
		} {
			if err := write(tx); err != nil {
				return err
			}
		}
		for _, table := range append([]string{"problems", "sources"}, perAttempt...) {
			// A row of the whole campaign has no attempt and stays.
			err := tx.Exec(ctx, "clear lost attempts", `DELETE FROM `+table+` WHERE campaign = $1 AND (attempt = 0 OR (attempt IS NOT NULL
				AND (cell, attempt) NOT IN (SELECT (cell, attempt) FROM attempts WHERE campaign = $1)))`, id)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (l *loader) writeCampaignRow(tx *store.Tx) error {
	c := l.campaign
	row := struct {
		redacted, locked, collector, anchor, restarted, dispatch, cutoff, deadline any
		deviations, settings                                                       string
	}{deviations: "[]", settings: "{}"}
	if c.lock != nil {
		row.redacted, row.locked = c.lock.RedactedCanonicalSHA256, c.lock.LockedAtUnixNs
	}
	if r := c.run; r != nil {
		row.collector, row.anchor = r.Collector, r.AnchorUnixNs
		row.restarted, row.dispatch, row.cutoff, row.deadline = r.Clock.Restarted, r.Clock.DispatchUnixNs, r.Clock.CutoffUnixNs, r.Clock.DeadlineUnixNs
		row.deviations, row.settings = jsonText(orEmpty(r.Deviations)), jsonText(r.Settings)
		if r.Settings == nil {
			row.settings = "{}"
		}
	}
	return tx.Append("campaigns", func(add func(...any) error) error {
		return add(c.plan.CampaignID, kindUnknown, c.digest, row.redacted, row.locked, row.collector, row.anchor, row.restarted,
			row.dispatch, row.cutoff, row.deadline, row.deviations, row.settings, string(c.plan.Bytes))
	})
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("ingest: encode %T: %v", v, err)) // lists and maps of strings always encode
	}
	return string(text)
}

// textOrNull is null for a text that is not there.
func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (l *loader) writeAttempts(tx *store.Tx) error {
	return tx.Append("attempts", func(add func(...any) error) error {
		for _, a := range l.attempts {
			startNs, startUnixNs := a.figure("start_ns"), a.figure("start_unix_ns")
			if a.start != nil {
				startNs, startUnixNs = &a.start.MonoNs, &a.start.UnixNs
			}
			var verified any
			if v := a.figure("drain_verified"); v != nil {
				verified = *v == 1
			}
			if err := add(l.campaign.plan.CampaignID, a.arm, a.cell, a.number, a.state, a.counted,
				store.Null(startNs), store.Null(a.figure("end_ns")), store.Null(startUnixNs), store.Null(a.figure("end_unix_ns")),
				store.Null(a.figure("drain_before_ns")), store.Null(a.figure("drain_after_ns")), verified, store.Null(a.figure("clock_drift_ns"))); err != nil {
				return err
			}
		}
		return nil
	})
}

func (l *loader) writeStops(tx *store.Tx) error {
	return tx.Append("stops", func(add func(...any) error) error {
		seq := int64(0)
		for _, e := range l.campaign.journal {
			if e.Kind != record.EntryStop {
				continue
			}
			var number any
			if e.Attempt > 0 && e.Cell != "" {
				number = int64(e.Attempt)
			}
			if err := add(l.campaign.plan.CampaignID, seq, e.MonoNs, e.UnixNs, e.Rule, textOrNull(e.Arm), textOrNull(e.Cell), number,
				e.Detail, jsonText(orEmpty(e.Blocks))); err != nil {
				return err
			}
			seq++
		}
		return nil
	})
}

// writeProblems adds problems of stage ingest; campaign "" is none.
func writeProblems(tx *store.Tx, campaign string, problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return tx.Append("problems", func(add func(...any) error) error {
		for _, p := range problems {
			// A file name need not be text.
			source := strings.ToValidUTF8(p.Source, "\uFFFD")
			if err := add(textOrNull(campaign), textOrNull(p.Arm), textOrNull(p.Cell), store.Null(p.Attempt), "ingest",
				string(p.Code), source, p.Position, p.Detail); err != nil {
				return err
			}
		}
		return nil
	})
}

// kindUnknown is what a campaign is called until an engine has said what it is.
const kindUnknown = "unknown"

// kindSQL tells a simulated campaign by the version its engines state, see
// engine.SimulatedMark.
const kindSQL = `UPDATE campaigns SET kind = coalesce((
	SELECT CASE WHEN bool_or(fact = 'engine_version' AND contains(value, $1)) THEN 'simulated' ELSE 'measured' END
	FROM identities WHERE identities.campaign = campaigns.campaign AND value IS NOT NULL HAVING count(*) > 0), 'unknown')
WHERE campaign = $2`

// finish gives every planned request of every attempt its row, says what kind
// of campaign it is, and notes the sources of the whole run last, so that an
// interrupted load is done again.
func (l *loader) finish(ctx context.Context) error {
	id := l.campaign.plan.CampaignID
	return l.db.Tx(ctx, func(tx *store.Tx) error {
		if err := setVariable(ctx, tx, "campaign", id); err != nil {
			return err
		}
		if err := tx.Exec(ctx, "fill in unrecorded requests", unrecordedSQL); err != nil {
			return err
		}
		if err := tx.Exec(ctx, "name the kind", kindSQL, engine.SimulatedMark, id); err != nil {
			return err
		}
		if err := tx.Exec(ctx, "clear sources", "DELETE FROM sources WHERE campaign = ? AND attempt IS NULL", id); err != nil {
			return err
		}
		return writeSources(tx, id, nil, l.tree.files)
	})
}

// setVariable names the attempt to the SQL files.
func setVariable(ctx context.Context, tx *store.Tx, name string, value any) error {
	return tx.Exec(ctx, "set "+name, "SET VARIABLE "+name+" = "+literal(value))
}
