package plan

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Row is one cell as `plan show` prints it.
type Row struct {
	Cell             Cell
	PromptCharacters int64 // exact length of each prompt
}

// Summary is a plan in numbers.
type Summary struct {
	Rows                       []Row // in plan order
	Arms                       []string
	Cells                      int64
	WarmupCells                int64
	Requests                   int64 // warm-ups included
	WarmupRequests             int64
	OuterTimeoutSeconds        int64 // sum over all cells
	LongestOuterTimeoutSeconds int64 // of one cell
	RequestCutoffSeconds       int64 // 0 when the plan could not be read
}

// Summarise counts what p plans.
func Summarise(p *Plan) Summary {
	s := Summary{Arms: p.Arms(), RequestCutoffSeconds: p.RequestCutoffSeconds}
	for _, c := range p.Cells {
		s.Rows = append(s.Rows, Row{Cell: c, PromptCharacters: c.Request.PromptCharacters()})
		s.Cells++
		s.Requests += c.Requests
		if c.ExcludedWarmup {
			s.WarmupCells++
			s.WarmupRequests += c.Requests
		}
		s.OuterTimeoutSeconds += c.OuterTimeoutSeconds
		s.LongestOuterTimeoutSeconds = max(s.LongestOuterTimeoutSeconds, c.OuterTimeoutSeconds)
	}
	return s
}

// WriteMatrix prints the matrix as a table, then the totals. The error is that
// of the writer.
func WriteMatrix(w io.Writer, p *Plan) error {
	s := Summarise(p)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "#\tid\tarm\tworkload\tcontext\tC\trequests\tseed\twords\tprompt chars\tidle s\touter s\t\n")
	for i, row := range s.Rows {
		c := row.Cell
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", i+1, c.ID, c.Arm, c.Workload, c.PlannedContextTokens, c.Concurrency,
			c.Requests, c.Seed, c.Request.ResponseWords, row.PromptCharacters, c.Request.TimeoutSeconds, c.OuterTimeoutSeconds)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write matrix: %w", err)
	}
	_, err := fmt.Fprintf(w, "\n%s  arms: %s\n%d cells (%d warm-up), %d requests (%d measured, %d warm-up)\nouter timeouts add up to %s s; the request cutoff is %s s after dispatch, the deadline %s s\n",
		p.CampaignID, strings.Join(s.Arms, ", "), s.Cells, s.WarmupCells, s.Requests, s.Requests-s.WarmupRequests, s.WarmupRequests,
		group(s.OuterTimeoutSeconds), group(s.RequestCutoffSeconds), group(p.TotalBoundSeconds))
	if err != nil {
		return fmt.Errorf("write matrix: %w", err)
	}
	return nil
}

// group writes a whole number with a comma between thousands.
func group(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func joinInts(list []int64) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(texts, ", ")
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
