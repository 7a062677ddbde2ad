package analyze

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"assay/collect/engine"
	"assay/ingest/store"
)

// Over 10,000 generated page pairs of all engines, with resets in any subset of
// their series, changed buckets, missing series and values that are no number: a
// delta is exactly what the engine counted, or null with a reason. None is
// negative, wrapped or clamped, and the sums of parts equal wholes.
func TestDeltasOfTenThousandPagePairs(t *testing.T) {
	t.Parallel()
	const pairs = 10_000
	db := open(t, 2)
	want := loadPairs(t, db, pairs)
	createViews(t, db)
	for _, statement := range []string{
		"CREATE TABLE counters AS FROM counter_deltas WHERE series IS NOT NULL AND labels IS NOT NULL",
		"CREATE TABLE buckets AS FROM histogram_deltas",
		"CREATE TABLE histograms AS FROM histogram_series",
	} {
		if _, err := db.SQL().Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"a delta that is negative or no number":           "SELECT count(*) FROM (SELECT delta FROM counters UNION ALL SELECT delta FROM buckets UNION ALL SELECT count_delta FROM histograms UNION ALL SELECT sum_delta FROM histograms) WHERE delta < 0 OR NOT isfinite(delta)",
		"a delta with a reason, or none without one":      "SELECT count(*) FROM (SELECT delta, reason FROM counters UNION ALL SELECT delta, reason FROM buckets UNION ALL SELECT count_delta, reason FROM histograms) WHERE (delta IS NULL) <> (reason IS NOT NULL)",
		"a delta that is not the difference of its pages": "SELECT count(*) FROM (SELECT before, after, delta FROM counters UNION ALL SELECT before, after, delta FROM buckets) WHERE delta IS NOT NULL AND delta IS DISTINCT FROM after - before",
		"a delta of a value that fell":                    "SELECT count(*) FROM (SELECT before, after, delta FROM counters UNION ALL SELECT before, after, delta FROM buckets) WHERE delta IS NOT NULL AND after < before",
		"a bucket of a histogram without its others":      "SELECT count(*) FROM (SELECT count(DISTINCT delta IS NULL) AS kinds FROM buckets GROUP BY cell, canonical, labels) WHERE kinds <> 1",
		"buckets whose sum is not the total": `SELECT count(*) FROM (SELECT total, sum(step) AS steps FROM (
			SELECT cell, canonical, labels, total, delta - lag(delta, 1, 0) OVER (PARTITION BY cell, canonical, labels ORDER BY le) AS step FROM buckets WHERE delta IS NOT NULL)
			GROUP BY cell, canonical, labels, total) WHERE steps <> total`,
		"label sets whose sum is not the whole": `SELECT count(*) FROM (SELECT sum(delta) AS parts, sum(after) - sum(before) AS whole FROM counters GROUP BY cell, canonical
			HAVING count(*) = count(delta)) WHERE parts <> whole`,
		"a reset whose reason is another": `SELECT count(*) FROM counters WHERE after < before AND NOT isnan(before) AND NOT starts_with(reason, 'counter_reset')`,
	} {
		if got := one(t, db, text)[0]; got != "0" {
			t.Errorf("%s: %s", name, got)
		}
	}
	compareWithTruth(t, db, want)
}

// loadPairs fills a database with the pages of generated pairs, a cell each.
func loadPairs(t *testing.T, db *store.DB, pairs int) []expected {
	t.Helper()
	m := &pairMaker{Rand: rand.New(rand.NewPCG(3, 4))}
	var want []expected
	made := make([]pagePair, pairs)
	cell := func(i int) string { return fmt.Sprintf("%s %d", pairedEngines[i%len(pairedEngines)].engine, i) }
	for i := range made {
		made[i] = m.make(cell(i), pairedEngines[i%len(pairedEngines)])
		want = append(want, made[i].want...)
	}
	insert := func(tx *store.Tx, text string) error { return tx.Exec(context.Background(), "fill", text) }
	err := db.Tx(context.Background(), func(tx *store.Tx) error {
		err := tx.Append("engine_samples", func(add func(...any) error) error {
			for i, pair := range made {
				for side, lines := range [][]string{pair.before, pair.after} {
					key := []any{campaign, "baseline", cell(i), int64(1), int64(side), []string{"before", "after"}[side], int64(side)}
					err := pairSamples(lines, func(s engine.Series, declared bool) error {
						return add(append(key[:7:7], s.Name, s.Labels, store.Null(s.LE), s.Value, declared)...)
					}, func(family string) error { return add(append(key[:7:7], family, "{}", nil, nil, true)...) })
					if err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, text := range []string{
			`INSERT INTO campaigns BY NAME SELECT 'c1' AS campaign, 'measured' AS kind, '' AS plan_sha256, '[]' AS deviations, '{}' AS settings, '{}' AS plan`,
			`INSERT INTO arms BY NAME SELECT 'c1' AS campaign, 'baseline' AS arm, 0 AS arm_order`,
			`INSERT INTO cells BY NAME SELECT DISTINCT campaign, arm, cell, 0 AS cell_order, 'natural' AS workload, 1 AS context_tokens, 1 AS concurrency, 1 AS requests, 1 AS seed, false AS excluded_warmup, 1 AS outer_timeout_s, 1 AS idle_timeout_s, 0 AS response_words, false AS request_canaries FROM engine_samples`,
			`INSERT INTO attempts BY NAME SELECT DISTINCT campaign, arm, cell, 1 AS attempt, 'complete' AS run_state, true AS counted FROM engine_samples`,
			`INSERT INTO pages BY NAME SELECT DISTINCT campaign, arm, cell, 1 AS attempt, page_seq, phase, 0 AS start_ns, 0 AS end_ns, 0 AS start_unix_ns, '' AS error, '' AS body_sha256, 1 AS series FROM engine_samples`,
		} {
			if err := insert(tx, text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return want
}

// compareWithTruth holds every delta against what the generator counted.
func compareWithTruth(t *testing.T, db *store.DB, want []expected) {
	t.Helper()
	type found struct{ delta, sum *float64 }
	got := map[[3]string]found{}
	rows, err := db.SQL().Query(`SELECT cell, canonical, labels, delta, NULL::DOUBLE FROM counters
		UNION ALL SELECT cell, canonical, labels, count_delta, sum_delta FROM histograms`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key [3]string
		var f found
		if err := rows.Scan(&key[0], &key[1], &key[2], &f.delta, &f.sum); err != nil {
			t.Fatal(err)
		}
		if _, twice := got[key]; twice {
			t.Fatalf("%v has two deltas", key)
		}
		got[key] = f
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	known, wrong := 0, 0
	for _, w := range want {
		f, ok := got[[3]string{w.cell, w.canonical, w.labels}]
		same := ok && (f.delta != nil) == w.known && (f.delta == nil || *f.delta == w.delta) && (f.sum == nil || *f.sum == w.sum)
		if w.known {
			known++
		}
		if wrong += btoi(!same); !same && wrong < 10 {
			t.Errorf("%s %s %s: delta %s, want %v (known %v)", w.cell, w.canonical, w.labels, pointer(f.delta), w.delta, w.known)
		}
	}
	if wrong > 0 || len(want) != len(got) {
		t.Errorf("%d of %d deltas are wrong; %d series came out", wrong, len(want), len(got))
	}
	// The generator must make enough of both kinds, or the test says little.
	if known < len(want)/4 || known > len(want)*3/4 {
		t.Errorf("%d of %d series have a delta", known, len(want))
	}
	t.Logf("%d series, %d with a delta", len(want), known)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func pointer(v *float64) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprint(*v)
}
