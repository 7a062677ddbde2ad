package cases

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/analyze"
	"assay/ingest"
	"assay/ingest/plantedtest"
	"assay/ingest/store"
)

var (
	generatedSeed  = flag.Int64("generated.seed", -1, "run only the generated campaign of this seed")
	generatedCount = flag.Int64("generated.n", 100, "number of generated campaigns, 40 at most with -short")
)

// TestGeneratedCampaignsGetTheirPlantedVerdicts takes campaigns with planted
// faults of every kind through ingest and the views and compares every verdict,
// eligibility, count, comparability, flag and reason with the generator's own
// truth, which knows nothing of the code under test.
func TestGeneratedCampaignsGetTheirPlantedVerdicts(t *testing.T) {
	seeds := generatedSeeds()
	const workers = 2 // each with a database of its own
	parts := make([]*generated, workers)
	var wait sync.WaitGroup
	for i := range parts {
		parts[i] = &generated{dir: filepath.Join(t.TempDir(), fmt.Sprint(i)), wrong: map[string][]string{}}
		for j := i; j < len(seeds); j += workers {
			parts[i].seeds = append(parts[i].seeds, seeds[j])
		}
		wait.Go(func() { parts[i].err = parts[i].check(t.Context()) })
	}
	wait.Wait()
	for _, g := range parts {
		if g.err != nil {
			t.Fatal(g.err)
		}
		g.report(t)
	}
}

func generatedSeeds() []int64 {
	if *generatedSeed >= 0 {
		return []int64{*generatedSeed}
	}
	n := *generatedCount
	if testing.Short() {
		n = min(n, 40)
	}
	seeds := make([]int64, n)
	for i := range seeds {
		seeds[i] = int64(i)
	}
	return seeds
}

// generated is one database of generated campaigns.
type generated struct {
	dir    string
	seeds  []int64
	truths map[string]plantedtest.Truth // by campaign
	wrong  map[string][]string          // what differs, by campaign
	err    error
}

// check loads the campaigns, makes the views once and compares everything.
func (g *generated) check(ctx context.Context) (err error) {
	if len(g.seeds) == 0 {
		return nil
	}
	db, err := store.Open("", store.Options{Threads: 1, TempDir: g.dir + ".tmp"})
	if err != nil {
		return err
	}
	defer func() {
		if closed := db.Close(); err == nil {
			err = closed
		}
	}()
	g.truths = map[string]plantedtest.Truth{}
	for batch := range slices.Chunk(g.seeds, 50) { // one call for many runs spares making the tables each time
		if err := g.load(ctx, db, batch); err != nil {
			return err
		}
	}
	if err := analyze.CreateViews(ctx, db); err != nil {
		return err
	}
	for _, compare := range []func(context.Context, *store.DB) error{
		g.compareRequests, g.compareVerdicts, g.compareCells, g.comparePairs, g.compareFlags, g.compareEngine, g.compareProblems, g.addUp,
	} {
		if err := compare(ctx, db); err != nil {
			return err
		}
	}
	return nil
}

// load writes campaigns, loads them and removes them again.
func (g *generated) load(ctx context.Context, db *store.DB, seeds []int64) error {
	attempts := 0
	for _, seed := range seeds {
		c, err := plantedtest.New(seed)
		if err != nil {
			return fmt.Errorf("generate seed %d: %w", seed, err)
		}
		if err := c.Write(filepath.Join(g.dir, c.ID)); err != nil {
			return fmt.Errorf("write seed %d: %w", seed, err)
		}
		truth := c.Truth()
		g.truths[c.ID] = truth
		attempts += truth.Attempts
	}
	summary, err := ingest.Run(ctx, db, []string{g.dir}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if summary.Folders != attempts || summary.Runs != len(seeds) {
		return fmt.Errorf("ingest read %d runs with %d attempts, %d with %d were written", summary.Runs, summary.Folders, len(seeds), attempts)
	}
	return os.RemoveAll(g.dir)
}

func (g *generated) note(campaign, format string, args ...any) {
	g.wrong[campaign] = append(g.wrong[campaign], fmt.Sprintf(format, args...))
}

// report fails the test once for each campaign that differs and says how to
// run it alone.
func (g *generated) report(t *testing.T) {
	const campaigns, lines = 8, 12
	bad := 0
	for _, seed := range g.seeds {
		id := fmt.Sprintf("planted-%06d", seed)
		wrong := g.wrong[id]
		if len(wrong) == 0 {
			continue
		}
		if bad++; bad > campaigns {
			continue
		}
		slices.Sort(wrong)
		more := ""
		if len(wrong) > lines {
			more = fmt.Sprintf("\n  and %d more", len(wrong)-lines)
		}
		t.Errorf("seed %d differs; run only it with: go test . -run TestGeneratedCampaigns -generated.seed=%d\n  %s%s",
			seed, seed, strings.Join(wrong[:min(lines, len(wrong))], "\n  "), more)
	}
	if bad > campaigns {
		t.Errorf("%d campaigns differ in all", bad)
	}
	for _, line := range g.wrong[""] {
		t.Error(line)
	}
}
