package analyze

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"assay/ingest/store"
)

// CellEligibility is one row of the view cell_eligibility: a planned cell, run
// or not, and the counts of its requests.
type CellEligibility struct {
	Campaign    string
	Arm         string
	Cell        string
	Attempt     int64  // counted attempt; 0 when the cell was never started
	RunState    string // complete, partial, outer_timeout, blocked_by_stop, not_run_deadline or not_run
	Eligibility string // eligible, ineligible or excluded_warmup
	Planned     int64
	Dispatched  int64
	Terminal    int64    // stream ended with [DONE]
	Passing     int64    // passes every demanded request rule
	Eligible    int64    // Passing in an eligible cell, else 0
	FailedRules []string // demanded rules that do not pass, sorted
}

const selectEligibility = `SELECT campaign, arm, cell, attempt, run_state, eligibility,
	planned, dispatched, terminal, passing, eligible, failed_rules
FROM cell_eligibility WHERE campaign = ? ORDER BY cell_order, cell`

// Eligibility lists the planned cells of a campaign in plan order. CreateViews
// must have been called. An unknown campaign has no rows.
func Eligibility(ctx context.Context, db *store.DB, campaign string) ([]CellEligibility, error) {
	type scanned struct {
		CellEligibility
		failed string
	}
	rows, err := db.Query(ctx, "read eligibility", selectEligibility, campaign)
	all, err := store.Collect(rows, err, func(r *scanned) []any {
		return []any{
			&r.Campaign, &r.Arm, &r.Cell, &r.Attempt, &r.RunState, &r.CellEligibility.Eligibility,
			&r.Planned, &r.Dispatched, &r.Terminal, &r.Passing, &r.Eligible, &r.failed,
		}
	})
	if err != nil {
		return nil, err
	}
	cells := make([]CellEligibility, 0, len(all))
	for _, r := range all {
		if err := json.Unmarshal([]byte(r.failed), &r.FailedRules); err != nil {
			return nil, fmt.Errorf("read failed rules of cell %s: %w", r.Cell, err)
		}
		cells = append(cells, r.CellEligibility)
	}
	return cells, nil
}

// WriteEligibility writes the cells as a text table, with a last line that adds
// up the measured cells. It says of each ineligible cell which rules failed.
func WriteEligibility(w io.Writer, cells []CellEligibility) error {
	var aligned strings.Builder
	table := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	line := func(fields ...string) { // tabwriter reports its error at Flush
		fmt.Fprintln(table, strings.Join(fields, "\t"))
	}
	line("CELL", "RUN", "ELIGIBILITY", "PLANNED", "DISPATCHED", "TERMINAL", "PASSING", "ELIGIBLE", "FAILED RULES")
	var total CellEligibility
	eligible, measured := 0, 0
	for _, c := range cells {
		line(c.Cell, c.RunState, c.Eligibility, count(c.Planned), count(c.Dispatched), count(c.Terminal),
			count(c.Passing), count(c.Eligible), strings.Join(c.FailedRules, " "))
		if c.Eligibility == "excluded_warmup" {
			continue
		}
		measured++
		if c.Eligibility == "eligible" {
			eligible++
		}
		total.Planned += c.Planned
		total.Dispatched += c.Dispatched
		total.Terminal += c.Terminal
		total.Passing += c.Passing
		total.Eligible += c.Eligible
	}
	line("measured cells", "", fmt.Sprintf("%d of %d eligible", eligible, measured), count(total.Planned), count(total.Dispatched),
		count(total.Terminal), count(total.Passing), count(total.Eligible), "")
	if err := table.Flush(); err != nil {
		return fmt.Errorf("align eligibility: %w", err)
	}
	for text := range strings.Lines(aligned.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(text, " \n")); err != nil {
			return fmt.Errorf("write eligibility: %w", err)
		}
	}
	return nil
}

func count(n int64) string { return strconv.FormatInt(n, 10) }
