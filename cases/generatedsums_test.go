package cases

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/ingest/store"
)

// addUp counts in SQL what must be equal in every table. Each query lists what
// does not add up.
func (g *generated) addUp(ctx context.Context, db *store.DB) error {
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		rows, err := db.Query(ctx, name, sums[name])
		lines, err := store.Strings(rows, err)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, line := range lines {
			campaign, rest, _ := strings.Cut(line, " ")
			g.note(campaign, "%s: %s", name, rest)
		}
	}
	return nil
}

// sums are the identities every table must keep, each as a query of the rows
// that break it: the campaign, then what is off.
var sums = map[string]string{
	"each planned request has a row in each attempt": `SELECT concat_ws(' ', campaign, cell, attempt, rows, 'of', requests) FROM (
		SELECT a.campaign, a.cell, a.attempt, c.requests, count(f.request_index) AS rows
		FROM attempts a JOIN cells c USING (campaign, cell)
		LEFT JOIN request_facts f ON f.campaign = a.campaign AND f.cell = a.cell AND f.attempt = a.attempt AND f.request_index BETWEEN 0 AND c.requests - 1
		GROUP BY ALL) WHERE rows <> requests`,
	"each planned cell has an attempt row, one counted": `SELECT concat_ws(' ', campaign, cell) FROM cells
		LEFT JOIN attempts a USING (campaign, cell) GROUP BY campaign, cell HAVING count(*) FILTER (a.counted) <> 1`,
	"a request that was not sent says why": `SELECT concat_ws(' ', campaign, cell, attempt, request_index) FROM request_facts
		WHERE NOT dispatched AND (outcome <> 'not_dispatched' OR end_kind NOT IN ('not_dispatched', 'not_recorded')
			OR end_kind = 'not_dispatched' AND end_detail = ''
			OR end_kind = 'not_recorded' AND end_detail = '' AND NOT EXISTS (FROM problems p WHERE p.campaign = request_facts.campaign
				AND p.cell = request_facts.cell AND p.attempt = request_facts.attempt AND p.code = 'request_missing'
				AND p.position = printf('request %d', request_index)))`,
	"planned = dispatched + not dispatched = sum of outcomes": `SELECT concat_ws(' ', e.campaign, e.cell) FROM cell_eligibility e
		JOIN (SELECT campaign, cell, attempt, count(*) FILTER (dispatched) AS sent, count(*) FILTER (NOT dispatched) AS unsent,
				count(*) FILTER (outcome = 'not_dispatched') AS not_sent, count(*) FILTER (outcome <> 'not_dispatched') AS outcomes
			FROM request_facts GROUP BY ALL) f ON f.campaign = e.campaign AND f.cell = e.cell AND f.attempt = e.attempt
		WHERE e.planned <> f.sent + f.unsent OR e.dispatched <> f.sent OR f.unsent <> f.not_sent OR f.sent <> f.outcomes`,
	"eligible <= passing <= terminal or dispatched <= planned": `SELECT concat_ws(' ', campaign, cell) FROM cell_eligibility
		WHERE eligible > passing OR passing > dispatched OR terminal > dispatched OR dispatched > planned OR eligible NOT IN (0, passing)
			OR (eligibility = 'eligible') <> (eligible > 0 OR eligibility = 'eligible' AND passing = 0)`,
	"one eligibility row a planned cell": `SELECT concat_ws(' ', campaign, cell, count(e.cell)) FROM cells
		LEFT JOIN cell_eligibility e USING (campaign, cell) GROUP BY campaign, cell HAVING count(e.cell) <> 1`,
	"verdicts = planned requests x request rules": `SELECT concat_ws(' ', c.campaign, c.cell, count(v.rule)) FROM cells c
		LEFT JOIN request_verdicts v USING (campaign, cell) GROUP BY c.campaign, c.cell, c.requests
		HAVING count(v.rule) <> 8 * c.requests OR count(DISTINCT (v.request_index, v.rule)) <> 8 * c.requests`,
	"a verdict that is no pass has a detail, a pass has none": `SELECT concat_ws(' ', campaign, cell, request_index, rule, verdict, detail) FROM request_verdicts
		WHERE (verdict = 'pass') <> (detail = '') OR verdict NOT IN ('pass', 'fail', 'not_applicable', 'not_evaluable')`,
	"cell verdicts count each planned request once": `SELECT concat_ws(' ', v.campaign, v.cell, v.rule) FROM cell_verdicts v JOIN cells c USING (campaign, cell)
		WHERE v.scope = 'request' AND v.passing + v.failing + v.not_applicable + v.not_evaluable <> c.requests
			OR v.rule = 'cell_complete' AND v.passing + v.failing <> c.requests
			OR v.rule <> 'identity_stable' AND v.failing <> len(from_json(v.failing_requests, '["BIGINT"]'))`,
	"ten rules a cell": `SELECT concat_ws(' ', campaign, cell, count(*)) FROM cell_verdicts GROUP BY campaign, cell
		HAVING count(*) <> 10 OR count(DISTINCT rule) <> 10`,
	"request verdicts and cell verdicts count the same": `SELECT concat_ws(' ', v.campaign, v.cell, v.rule) FROM cell_verdicts v
		JOIN (SELECT campaign, cell, rule, count(*) FILTER (verdict = 'pass') AS passing, count(*) FILTER (verdict = 'fail') AS failing
			FROM request_verdicts GROUP BY ALL) r USING (campaign, cell, rule)
		WHERE v.passing <> r.passing OR v.failing <> r.failing`,
	"a distribution has no more values than its population": `SELECT concat_ws(' ', d.campaign, d.cell, d.metric, d.n) FROM cell_distributions d
		JOIN cell_eligibility e USING (campaign, cell)
		WHERE d.n > CASE WHEN d.population = 'eligible' THEN least(e.planned, e.dispatched) ELSE e.passing END
			OR (d.population = 'eligible') <> (e.eligibility = 'eligible') OR e.eligibility = 'excluded_warmup'
			OR NOT (d.n = 0 AND d.p50 IS NULL OR d.n > 0 AND d.min <= d.p50 AND d.p50 <= d.p95 AND d.p95 <= d.max)`,
	"ten distributions a measured cell": `SELECT concat_ws(' ', campaign, cell, count(d.metric)) FROM cell_eligibility e
		LEFT JOIN cell_distributions d USING (campaign, cell) WHERE e.eligibility <> 'excluded_warmup' GROUP BY campaign, cell HAVING count(d.metric) <> 10`,
	"a missing value of an eligible cell has its reason in the note": `SELECT concat_ws(' ', d.campaign, d.cell, d.metric, d.note) FROM cell_distributions d
		JOIN cell_eligibility e USING (campaign, cell) WHERE d.population = 'eligible' AND d.n < e.planned AND d.note NOT LIKE '% of %'`,
	"one overlap row a planned cell, with a throughput or a note": `SELECT concat_ws(' ', c.campaign, c.cell) FROM cells c LEFT JOIN cell_overlap o USING (campaign, cell)
		GROUP BY c.campaign, c.cell HAVING count(o.cell) <> 1 OR bool_or((o.throughput_tok_s IS NULL) <> (o.throughput_note <> ''))`,
	"comparisons of comparable pairs alone": `SELECT concat_ws(' ', campaign, pair, metric) FROM comparisons c
		JOIN pair_comparability p USING (campaign, pair) WHERE NOT p.comparable OR c.pairs > least(c.baseline_n, c.candidate_n)`,
	"a measured cell is in at most one pair, and in one when there are two arms": `SELECT concat_ws(' ', c.campaign, c.cell, count(p.pair)) FROM cells c
		JOIN (SELECT campaign, count(*) AS arms FROM arms GROUP BY ALL) a USING (campaign)
		LEFT JOIN pair_comparability p ON p.campaign = c.campaign AND c.cell IN (p.baseline_cell, p.candidate_cell)
		GROUP BY c.campaign, c.cell, c.excluded_warmup, a.arms HAVING count(p.pair) <> CASE WHEN a.arms = 2 AND NOT c.excluded_warmup THEN 1 ELSE 0 END`,
	"metrics of every request of every attempt": `SELECT concat_ws(' ', campaign, cell, attempt, request_index) FROM request_facts
		ANTI JOIN request_metrics USING (campaign, cell, attempt, request_index)`,
	"events stored = events counted": `SELECT concat_ws(' ', f.campaign, f.cell, f.attempt, f.request_index) FROM request_facts f
		LEFT JOIN (SELECT campaign, cell, attempt, request_index, count(*) AS events, count(*) FILTER (output) AS outputs FROM events GROUP BY ALL) e
			USING (campaign, cell, attempt, request_index)
		WHERE f.events <> coalesce(e.events, 0) OR f.output_events <> coalesce(e.outputs, 0)`,
	"each delta has a value or a reason": `SELECT concat_ws(' ', campaign, cell, canonical) FROM (
		SELECT campaign, cell, canonical, delta, reason FROM counter_deltas UNION ALL SELECT campaign, cell, canonical, delta, reason FROM histogram_deltas)
		WHERE (delta IS NULL) <> (reason IS NOT NULL) OR delta < 0`,
}
