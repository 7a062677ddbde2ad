package artifact

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/ingest/store"
)

// retained are 264 files of real runs; formats.md section 6 has what must come
// out of them.
func retained(t *testing.T) *store.DB {
	t.Helper()
	const dir = "../../../shared/data/anvil-serving/findings"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the retained artifacts are not here (../shared)")
	}
	db := openDB(t)
	s := load(t, db, dir)
	if s.Files != 264 || s.Loaded != 259 || s.Named != 4 || s.Refused != 1 || s.Problems != 2 {
		t.Errorf("summary: %+v", s)
	}
	return db
}

func TestRetainedFilesAllHaveTheirKind(t *testing.T) {
	db := retained(t)
	want(t, db, "SELECT kind, count(*) FROM artifacts GROUP BY ALL ORDER BY ALL",
		"benchmark|257", "comparison|2", "counters|1", "hardware_samples|1", "quality|1", "summary|1", "unknown|1")
	want(t, db, "SELECT count(*), count(protocol) FROM artifacts WHERE kind <> 'benchmark'", "7|0")
	want(t, db, "SELECT protocol, shape, percentile_rule, summary_only, count(*) FROM artifacts WHERE kind = 'benchmark' GROUP BY ALL ORDER BY ALL",
		"anvil/capacity-v2|v2|nearest_rank|true|37",
		"anvil/capacity-v3|v3|nearest_rank|false|28",
		"anvil/capacity-v3|v3-first-output|nearest_rank|false|6",
		"anvil/capacity-v4-reasoning|distributions-sampling|nearest_rank|false|5",
		"anvil/capacity-v4-reasoning|v4|nearest_rank|false|41",
		"anvil/legacy|legacy|round_half_even|true|140")
	want(t, db, "SELECT code || ' ' || regexp_replace(source, '.*/', '') || ' ' || position FROM problems ORDER BY ALL",
		"not_json voice-ws-handshake.json line 1 column 1", "protocol_label glm-capacity-c4-strict128.json /measurement_protocol")
	want(t, db, "SELECT count(DISTINCT run_id), count(DISTINCT sha256), count(DISTINCT artifact) FROM artifacts WHERE protocol = 'anvil/legacy' OR shape LIKE 'v%'", "242|252|252")
}

// The figures of formats.md section 6.1.
func TestRetainedStatisticsFollowFromTheirRows(t *testing.T) {
	db := retained(t)
	const old = "FROM artifact_stats s JOIN artifacts a USING (artifact) WHERE a.shape LIKE 'v%' AND NOT a.summary_only"
	want(t, db, "SELECT count(DISTINCT artifact) FROM artifacts WHERE shape LIKE 'v%' AND NOT summary_only", "75")
	want(t, db, "SELECT agreement, count(*) "+old+" AND stat IN ('p50', 'p95') GROUP BY ALL", "exact|1144")
	want(t, db, "SELECT count(*), sum(derived_stated), sum(derived_exact) FROM artifact_requests JOIN artifacts USING (artifact) WHERE shape LIKE 'v%' AND status = 'completed'",
		"509|2245|2245")
	want(t, db, "SELECT agreement, count(*), max(abs(value - recomputed) / value) < 1e-9 "+old+" AND source_key = 'throughput_tok_s' AND coalesce(value, 1) > 0 GROUP BY ALL ORDER BY ALL",
		"close|1|true", "exact|73|true")
	want(t, db, "SELECT regexp_replace(path, '.*/', ''), value, recomputed "+old+" AND agreement = 'close'",
		"deepseek-v4-flash-0731-capacity-32k-c1-reasoning-v4-max2048.json|7.59630572878913|7.596305728789128")
	want(t, db, "SELECT DISTINCT source_key "+old+" AND agreement = 'not_evaluable' AND shape <> 'v3'", "prefix_cache_hit_avg")

	const later = "FROM artifact_stats s JOIN artifacts a USING (artifact) WHERE a.shape LIKE 'distributions%'"
	want(t, db, "SELECT count(DISTINCT artifact), count(*), bool_and(value = recomputed OR abs(value - recomputed) <= 1e-12 * abs(value)) "+later+" AND value IS NOT NULL AND source_key <> 'prefix_cache_hit_avg'",
		"5|647|true")
	want(t, db, "SELECT agreement, count(*) "+later+" AND (stat IN ('n', 'sum', 'exact', 'passed', 'unobservable', 'min', 'max') OR stat LIKE 'p__') GROUP BY ALL", "exact|"+exactLater)
	want(t, db, "SELECT count(*) "+later+" AND agreement = 'different'", "0")
	want(t, db, "SELECT sum(derived_stated) - sum(derived_exact) FROM artifact_requests", "0")
}

// exactLater is how many counts, sums, ends and percentiles the five later
// files state: 9 of each of 11 distributions, 10 single ones, and the token
// source of the four files with a completed request.
const exactLater = "549"

// A reasoning cell whose requests all failed: the label says capacity-v3, its
// streams show reasoning.
func TestRetainedCellOfFailuresKeepsThem(t *testing.T) {
	db := retained(t)
	const file = "WHERE path LIKE '%/glm-capacity-c4-strict128.json'"
	want(t, db, "SELECT protocol, label_protocol, protocol_basis, requests, completed, failed, performance_eligible FROM artifacts "+file,
		"anvil/capacity-v4-reasoning|capacity-v3|streams|4|0|4|false")
	want(t, db, `SELECT request_index, status, failure_class, round(elapsed_ms), round(t_first_any_ms), round(t_first_visible_ms), round(e2e_ms), reasoning_chunks, code_words, finish_reasons
		FROM artifact_requests JOIN artifacts USING (artifact) `+file+" ORDER BY 1",
		`0|failed|controlled_output_failed|6374|2789|3484|6371|36|189|["stop"]`,
		`1|failed|controlled_output_failed|11301|7562|8437|11298|56|186|["stop"]`,
		`2|failed|controlled_output_failed|15873|12100|12967|15870|54|192|["stop"]`,
		`3|failed|request_canary_failed|88040|16507|16713|88037|24|1635|["length"]`)
}

func TestRetainedComparisonFollowsFromItsOwnValues(t *testing.T) {
	db := retained(t)
	want(t, db, "SELECT agreement, count(*) FROM artifact_stats WHERE stat = 'percent_change' GROUP BY ALL", "exact|14")
	want(t, db, "SELECT scope, round(value, 4) FROM artifact_stats WHERE stat = 'percent_change' AND metric IN ('ttft_mean_ms', 'requests_per_second') AND scope LIKE 'unique/%' ORDER BY ALL",
		"unique/candidate_percent_change|-2.3875", "unique/candidate_percent_change|4.0155")
	want(t, db, "SELECT agreement, round(value, 6) FROM artifact_stats WHERE metric = 'hit_fraction'", "exact|0.75582")
}

// Two tries give the same rows, whatever the number of readers, and the second
// into one database gives none.
func TestRetainedLoadIsStable(t *testing.T) {
	db, again := retained(t), openDB(t)
	t.Setenv("GOMAXPROCS", "1")
	const dir = "../../../shared/data/anvil-serving/findings"
	load(t, again, dir)
	tables := []string{"artifacts", "artifact_requests", "artifact_stats", "problems"}
	for _, table := range tables {
		a, b := query(t, db, "SELECT * FROM "+table), query(t, again, "SELECT * FROM "+table)
		if strings.Join(a, "\n") != strings.Join(b, "\n") {
			t.Errorf("%s: two loads differ", table)
		}
		if s := load(t, db, dir); s.Unchanged != 264 || s.Problems != 0 {
			t.Errorf("second load: %+v", s)
		}
		if len(query(t, db, "SELECT * FROM "+table)) != len(a) {
			t.Errorf("%s: a second load changed it", table)
		}
	}
	load(t, again, filepath.Join(dir, "2026-07-27-omni-stack-evidence", "omni-capacity.json"))
	want(t, again, "SELECT count(*), count(DISTINCT artifact) FROM artifacts WHERE path LIKE '%omni-capacity.json'", "2|2")
}
