package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"assay/analyze"
	collect "assay/collect/cli"
	"assay/ingest"
	"assay/ingest/store"
)

// Events shown of a long stream unless all are asked for.
const (
	showFirst = 20
	showLast  = 10
)

func showCommand(env collect.Env) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "show RUN CELL INDEX", Args: arguments(3, 3),
		Short: "print one request: phases, events, verdicts and why",
		Long: "Print one request of a run directory: how it ended, its phases, its events with their times, and every verdict with its reason.\n" +
			"No text of a prompt or an answer is printed.",
		RunE: func(cmd *cobra.Command, args []string) error {
			index, err := strconv.ParseInt(args[2], 10, 64)
			if err != nil || index < 0 {
				return collect.Usage(fmt.Errorf("INDEX %q is not a request index; indexes start at 0", args[2]))
			}
			return show(cmd.Context(), env.Stdout, args[0], args[1], index, all)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "print every event of a long stream")
	return cmd
}

// shown is one part of what show prints: a heading and a query over the request.
type shown struct{ title, query string }

// The parts take the cell, attempt and index through these variables.
const thisRequest = `cell = getvariable('cell') AND attempt = getvariable('attempt') AND request_index = getvariable('index')`

// showParts are printed in this order. Times are in ms after the request's t0.
var showParts = []shown{
	{"request", `SELECT cell, attempt, request_index, marker, outcome, end_kind, nullif(end_detail, '') AS end_detail, http_status, http_version,
		fault_class, error_pattern FROM request_facts WHERE ` + thisRequest},
	{"phases, ms after t0", `UNPIVOT (SELECT dns_ns / 1e6 AS dns, connect_ns / 1e6 AS connected, tls_ns / 1e6 AS tls, wrote_ns / 1e6 AS wrote,
		first_byte_ns / 1e6 AS first_byte, head_ns / 1e6 AS head, first_event_ns / 1e6 AS first_event, ttfo_ns / 1e6 AS first_output,
		ttft_ns / 1e6 AS first_visible, last_output_ns / 1e6 AS last_output, finish_ns / 1e6 AS finish_reason, usage_ns / 1e6 AS usage,
		done_ns / 1e6 AS done, close_ns / 1e6 AS body_ended, end_ns / 1e6 AS over FROM request_facts WHERE ` + thisRequest + `)
		ON COLUMNS(*) INTO NAME phase VALUE ms`},
	{"tokens and text", `SELECT prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, usage_chunks, usage_fault, finish_reasons, reasoning_field,
		visible_chars, reasoning_chars, canary_state, foreign_markers, words_observed FROM request_facts WHERE ` + thisRequest},
	{"stream", `SELECT events, events_seen, output_events, bad_events, kernel_stamped_events, raised_stamps, gaps, same_read_gaps, short_gaps,
		gap_p50_ns / 1e6 AS gap_p50_ms, gap_max_ns / 1e6 AS gap_max_ms, lag_p99_ns / 1e6 AS lag_p99_ms, trailing_bytes, tail_bytes
		FROM request_facts WHERE ` + thisRequest},
	{"metrics", `SELECT ttfo_ns / 1e6 AS ttfo_ms, ttft_ns / 1e6 AS ttft_ms, e2e_ns / 1e6 AS e2e_ms, tpot_ns / 1e6 AS tpot_ms, decode_tok_s,
		effective_prefill_tok_s, cached_share, tokens_per_chunk, withheld FROM request_metrics WHERE ` + thisRequest},
	{"verdicts", `SELECT rule, verdict, detail FROM request_verdicts WHERE ` + thisRequest + ` ORDER BY rule`},
	{"withheld", `SELECT flag, metric, reason FROM metric_withholdings WHERE cell = getvariable('cell') AND attempt = getvariable('attempt')
		AND (request_index IS NULL OR request_index = getvariable('index')) ORDER BY ALL`},
}

const showEvents = `SELECT seq, at_ns / 1e6 AS at_ms, stamp_source AS stamp, lag_ns / 1e3 AS lag_us, read_seq AS "read", kind, reasoning_chars AS reasoning,
	content_chars AS content, tool_chars AS tool, finish_reason AS finish, prompt_tokens, completion_tokens
	FROM events WHERE ` + thisRequest + ` ORDER BY seq`

// show loads the request's cell into a database in memory and prints the
// counted attempt's request, the same way any analyst would see it.
func show(ctx context.Context, w io.Writer, dir, cell string, index int64, all bool) (err error) {
	db, err := store.Open("", store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := ingest.RunCell(ctx, db, dir, cell, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	if err := analyze.CreateViews(ctx, db); err != nil {
		return err
	}
	conn, err := db.SQL().Conn(ctx) // variables belong to a connection
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ask := func(query string, args ...any) (grid, error) {
		rows, err := conn.QueryContext(ctx, query, args...)
		if err != nil {
			return grid{}, err
		}
		return readGrid(rows)
	}
	found, err := ask("SELECT attempt FROM attempts JOIN request_facts USING (campaign, cell, attempt) WHERE cell = ? AND request_index = ? AND counted", cell, index)
	if err != nil {
		return err
	}
	if len(found.rows) == 0 {
		return fmt.Errorf("the run has no request %d in cell %q; assay plan show lists the cells and their requests", index, cell)
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("SET VARIABLE cell = '%s'; SET VARIABLE attempt = %v; SET VARIABLE index = %d",
		escapeQuotes(cell), found.rows[0][0], index)); err != nil {
		return err
	}
	for _, part := range showParts {
		g, err := ask(part.query)
		if err != nil {
			return fmt.Errorf("show %s: %w", part.title, err)
		}
		if err := writePart(w, part.title, g); err != nil {
			return err
		}
	}
	events, err := ask(showEvents)
	if err != nil {
		return fmt.Errorf("show events: %w", err)
	}
	return writeEvents(w, events, all)
}

func escapeQuotes(text string) string { return strings.ReplaceAll(text, "'", "''") }

// writePart prints one row as names beside values, and several as a table.
func writePart(w io.Writer, title string, g grid) error {
	if err := printf(w, "\n%s\n", title); err != nil {
		return err
	}
	switch len(g.rows) {
	case 0:
		return printf(w, "  none\n")
	case 1:
		for i, name := range g.names {
			if err := printf(w, "  %-24s %s\n", name, g.column(i)[0]); err != nil {
				return err
			}
		}
		return nil
	}
	return writeTable(w, g)
}

// writeEvents prints the first and the last events of a long stream.
func writeEvents(w io.Writer, g grid, all bool) error {
	if all || len(g.rows) <= showFirst+showLast {
		return writePart(w, "events", g)
	}
	left := len(g.rows) - showFirst - showLast
	head, tail := grid{g.names, g.rows[:showFirst]}, grid{g.names, g.rows[len(g.rows)-showLast:]}
	if err := writePart(w, "events, the first "+strconv.Itoa(showFirst), head); err != nil {
		return err
	}
	if err := printf(w, "... %d more; --all prints them\n", left); err != nil {
		return err
	}
	return writePart(w, "events, the last "+strconv.Itoa(showLast), tail)
}
