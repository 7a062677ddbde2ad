package cases

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/analyze"
	"assay/collect/campaign"
	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/sample"
	"assay/collect/simengine"
	"assay/ingest"
	"assay/ingest/store"
)

// faultCell is one cell of a test campaign and the fault its requests meet. Each
// cell has a seed of its own, by which the simulated engine knows it.
type faultCell struct {
	name        string   // in the cell's id
	faults      []string // NAME[=N] or NAME[=N]@index=I; none is a sound engine
	requests    int      // 0 is 1
	concurrency int      // 0 is 1
	outer       int      // outer timeout in seconds, 0 is 60
}

// faultCampaign is a campaign whose cells meet faults, on an engine of its own.
type faultCampaign struct {
	id    string
	idle  int // idle limit of a request in seconds, 0 is 60
	cells []faultCell
	whole []string // faults of the whole engine
	// observe lets the stop rules write what they decide and block nothing.
	observe bool
	// other, when set, makes a second arm whose requests all meet this fault.
	other  string
	change func(*simengine.Config)
	gpu    sample.GPU // nil is that of this host

	dir      string
	arrivals []simengine.Arrival // of chat requests at the first arm
	summary  campaign.Summary
	plan     *plan.Plan
}

func (c *faultCampaign) seed(cell int) int { return 7000 + 10*cell }

// spec is the campaign as a plan spec.
func (c *faultCampaign) spec() string {
	var s strings.Builder
	fmt.Fprintf(&s, `
schema: assay/plan-spec/v1
campaign_id: %s
metric_profile: serving-comparison/v1
created_at: 2026-10-17T10:00:00Z
frozen_at: 2026-10-17T10:30:00Z
dispatch_clock_started_at: 2026-10-17T11:00:00Z
request_cutoff_seconds: 600
restoration_reserve_seconds: 300
load_bound_seconds: 200
controls: {max_tokens: 4096, model_max_len: 32768, prompt_cache_mode: unique, request_canaries: true}
arms:
  - {name: baseline, model: model-a, engine: sim, port: 31841}
`, c.id)
	if c.other != "" {
		s.WriteString("  - {name: candidate, model: model-a, engine: sim, port: 31843}\n")
	}
	fmt.Fprintf(&s, "command: [bench]\nrequest_timeout_seconds: %d\ncells:\n", or(c.idle, 60))
	for i, cell := range c.cells {
		fmt.Fprintf(&s, "  - {workload: natural, name: %s, contexts: [1024], concurrency: [%d], requests: %d, seed_base: %d, outer_timeout_seconds: %d}\n",
			cell.name, or(cell.concurrency, 1), or(cell.requests, 1), c.seed(i)-or(cell.concurrency, 1), or(cell.outer, 60))
	}
	s.WriteString(`eligibility:
  - all planned requests completed and terminal
  - exact usage counts
  - allowed finish reason and visible output
  - own canary first; no foreign marker; complete capture
  - same measurement_protocol in compared arms
publication: {finding: findings/2026-10-17-faults.md}
`)
	return s.String()
}

// specifications are the faults as the engine of the first arm gets them.
func (c *faultCampaign) specifications() []string {
	all := append([]string(nil), c.whole...)
	for i, cell := range c.cells {
		for _, f := range cell.faults {
			sep := "@"
			if strings.Contains(f, "@") {
				sep = ","
			}
			all = append(all, fmt.Sprintf("%s%sseed=%d", f, sep, c.seed(i)))
		}
	}
	return all
}

// engine starts a simulated engine with these faults.
func (c *faultCampaign) engine(t *testing.T, faults []string) (*simengine.Engine, string) {
	profile, _ := simengine.LookupProfile("glm53-baseline")
	config := simengine.Config{Profile: profile, Model: "model-a", MaxModelLen: 32768, Seed: 1,
		TimeScale: 50, OutputScale: 0.01, DecodeScale: 0.2, Faults: faults}
	if c.change != nil {
		c.change(&config)
	}
	engine, url, stop, err := simengine.Start(context.Background(), config)
	if err != nil {
		t.Error(err)
		return nil, ""
	}
	t.Cleanup(stop)
	return engine, url
}

// collect runs the campaign into a folder below root.
func (c *faultCampaign) collect(t *testing.T, root string) {
	text, problems := plan.Expand([]byte(c.spec()), time.Now())
	if len(problems) > 0 {
		t.Errorf("%s: %v", c.id, problems)
		return
	}
	c.plan, _ = plan.Decode(text)
	engine, url := c.engine(t, c.specifications())
	urls := map[string]string{"baseline": url}
	if c.other != "" {
		_, urls["candidate"] = c.engine(t, []string{c.other})
	}
	c.dir = filepath.Join(root, c.id)
	var err error
	c.summary, err = campaign.Run(t.Context(), campaign.Options{
		Plan: c.plan, Dir: c.dir, BaseURLs: urls, Version: "test", RestartClock: true, SampleEvery: 10 * time.Millisecond,
		StopsBlockNothing: c.observe, GPU: c.gpu,
	})
	if err != nil {
		t.Errorf("%s: %v", c.id, err)
	}
	for _, a := range engine.Arrivals() {
		if a.Path == "/v1/chat/completions" {
			c.arrivals = append(c.arrivals, a)
		}
	}
}

// playFaults collects campaigns side by side and loads them into one database.
func playFaults(t *testing.T, campaigns ...*faultCampaign) faultDB {
	t.Helper()
	root := t.TempDir()
	var group sync.WaitGroup
	for _, c := range campaigns {
		group.Go(func() { c.collect(t, root) })
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	db, err := store.Open("", store.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := ingest.Run(t.Context(), db, []string{root}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if err := analyze.CreateViews(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return keepAnswers(t, db)
}

// faultDB is the loaded database.
type faultDB struct{ conn *sql.Conn }

// keepAnswers evaluates the views once: the tests ask them some hundred times.
func keepAnswers(t *testing.T, db *store.DB) faultDB {
	t.Helper()
	conn, err := db.SQL().Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	d := faultDB{conn}
	d.list(t, "CREATE SCHEMA kept")
	d.list(t, "SET search_path = 'kept,main'")
	for _, view := range []string{"request_verdicts", "cell_verdicts", "cell_eligibility", "cell_distributions", "cell_overlap", "engine_gauges", "pair_comparability", "comparisons"} {
		d.list(t, "CREATE TABLE kept."+view+" AS FROM main."+view)
	}
	return d
}

// list asks for rows; each is one text, columns joined by "|", null for a
// missing value.
func (d faultDB) list(t *testing.T, query string, args ...any) []string {
	t.Helper()
	found, err := d.conn.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = found.Close() }()
	columns, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for found.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := found.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = fmt.Sprint(v)
			if v == nil {
				texts[i] = "null"
			}
		}
		all = append(all, strings.Join(texts, "|"))
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// want compares the rows of a query.
func (d faultDB) want(t *testing.T, query string, want ...string) {
	t.Helper()
	if got := d.list(t, query); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\ngot  %q\nwant %q", query, got, want)
	}
}

// cellID is the id of a cell of the first arm.
func (c *faultCampaign) cellID(name string) string {
	for _, cell := range c.plan.Cells {
		if strings.HasPrefix(cell.ID, "baseline-"+name+"-ctx") {
			return cell.ID
		}
	}
	return ""
}

// of narrows a query to one cell of the campaign.
func (c *faultCampaign) of(name string) string {
	return fmt.Sprintf("campaign = '%s' AND cell = '%s'", c.id, c.cellID(name))
}

// file is a table of a cell's first attempt.
func (c *faultCampaign) file(cell, table string) string {
	return filepath.Join(c.dir, record.AttemptFolder("baseline", c.cellID(cell), 1), table+".parquet")
}

// onceEach checks that the engine saw every dispatched request exactly once. One
// that the cell's bound cut off may not have got that far.
func (c *faultCampaign) onceEach(t *testing.T, d faultDB) {
	t.Helper()
	seen := map[string]int{}
	for _, a := range c.arrivals {
		seen[a.Marker]++
	}
	outcomes := map[string]string{}
	for _, row := range d.list(t, "SELECT marker, outcome FROM request_facts WHERE arm = 'baseline' AND dispatched AND campaign = ?", c.id) {
		marker, outcome, _ := strings.Cut(row, "|")
		outcomes[marker] = outcome
		want := 1
		if outcome == "connect_failed" {
			want = 0
		}
		if seen[marker] != want && outcome != "outer_timeout" {
			t.Errorf("%s: the engine saw %s (%s) %d times", c.id, marker, outcome, seen[marker])
		}
	}
	for marker, n := range seen {
		if n > 1 || outcomes[marker] == "" {
			t.Errorf("%s: the engine saw %s %d times, outcome %q", c.id, marker, n, outcomes[marker])
		}
	}
}

func or(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}
