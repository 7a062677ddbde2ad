-- One row per comparable pair and metric: both medians with n, their difference,
-- and the distribution of the ratios candidate / baseline of requests with the same
-- index. All figures are nearest rank. Whole recipes are compared; no row says what
-- caused a difference, or which arm is better.
-- Withheld, with the reason in the note: the inter-chunk gap when the two cells'
-- stamp sources differ (a cell's source is kernel when at most 1 % of its output
-- events have the read stamp); effective prefill when a request of either cell is
-- cache_assisted, or the whole cell by the engine's own counters.
-- "output lengths differ" stands where the completion tokens of the two cells differ
-- in their least, median or most.
-- Beside each difference stands the spread of both medians over the campaign and its
-- repeats (see repeat_spread), or "no repeat".
CREATE OR REPLACE VIEW comparisons AS
WITH distributions AS (
    FROM cell_distributions WHERE population = 'eligible'
), compared AS (
    SELECT campaign, pair, baseline_arm, baseline_cell, candidate_arm, candidate_cell FROM pair_comparability WHERE comparable
), caches AS (
    SELECT DISTINCT campaign, cell FROM metric_withholdings WHERE flag = 'cache_assisted' AND request_index IS NULL
), stamps AS (
    SELECT k.campaign, k.cell,
        CASE WHEN sum(v.output_events) > 0 THEN
            CASE WHEN sum(v.output_read_stamped) * 100 <= sum(v.output_events) THEN 'kernel' ELSE 'read' END END AS stamp_source,
        count(*) FILTER (v.cache_assisted OR w.cell IS NOT NULL) AS cache_assisted,
        count(*) FILTER (NOT v.cache_reported) AS cache_unknown
    FROM counted_attempts k
    JOIN request_values v ON v.campaign = k.campaign AND v.cell = k.cell AND v.attempt = k.attempt
    LEFT JOIN caches w ON w.campaign = k.campaign AND w.cell = k.cell
    GROUP BY ALL
), clocks AS (
    SELECT campaign, cell, list(reason ORDER BY reason) AS reasons FROM metric_withholdings WHERE flag = 'clocks_differ' GROUP BY ALL
), conditions AS (
    SELECT c.*,
        CASE WHEN b.stamp_source <> d.stamp_source
            THEN format('withheld: stamp sources differ ({}: {}, {}: {})', c.baseline_arm, b.stamp_source, c.candidate_arm, d.stamp_source) END AS gap_note,
        CASE WHEN b.cache_assisted + d.cache_assisted > 0
            THEN format('withheld: cache_assisted ({}: {} requests, {}: {})', c.baseline_arm, b.cache_assisted, c.candidate_arm, d.cache_assisted) END AS prefill_note,
        CASE WHEN b.cache_unknown + d.cache_unknown > 0 THEN 'cached tokens unknown' END AS cache_note,
        list_filter(x.reasons, lambda r: list_contains(y.reasons, r))[1] AS clock_note
    FROM compared c
    JOIN stamps b ON b.campaign = c.campaign AND b.cell = c.baseline_cell
    JOIN stamps d ON d.campaign = c.campaign AND d.cell = c.candidate_cell
    LEFT JOIN clocks x ON x.campaign = c.campaign AND x.cell = c.baseline_cell
    LEFT JOIN clocks y ON y.campaign = c.campaign AND y.cell = c.candidate_cell
), observed AS (
    SELECT k.campaign, k.cell, m.request_index,
        unnest([
            {'metric': 'ttfo_ns', 'value': m.ttfo_ns::DOUBLE},
            {'metric': 'ttft_ns', 'value': m.ttft_ns::DOUBLE},
            {'metric': 'e2e_ns', 'value': m.e2e_ns::DOUBLE},
            {'metric': 'decode_tok_s', 'value': m.decode_tok_s},
            {'metric': 'tpot_ns', 'value': m.tpot_ns},
            {'metric': 'effective_prefill_tok_s', 'value': m.effective_prefill_tok_s},
            {'metric': 'prompt_tokens', 'value': m.prompt_tokens::DOUBLE},
            {'metric': 'completion_tokens', 'value': m.completion_tokens::DOUBLE},
            {'metric': 'reasoning_tokens', 'value': m.reasoning_tokens::DOUBLE},
            {'metric': 'gap_p50_ns', 'value': m.gap_p50_ns::DOUBLE}
        ], recursive := true)
    FROM counted_attempts k
    JOIN request_metrics m ON m.campaign = k.campaign AND m.cell = k.cell AND m.attempt = k.attempt
), ratios AS (
    SELECT c.campaign, c.pair, b.metric, list(d.value / b.value ORDER BY d.value / b.value) AS ratios
    FROM compared c
    JOIN observed b ON b.campaign = c.campaign AND b.cell = c.baseline_cell
    JOIN observed d ON d.campaign = c.campaign AND d.cell = c.candidate_cell AND d.request_index = b.request_index AND d.metric = b.metric
    WHERE b.value <> 0 AND d.value IS NOT NULL
    GROUP BY ALL
), lengths AS (
    SELECT c.campaign, list(c.pair ORDER BY c.pair) AS pairs
    FROM compared c
    JOIN distributions b ON b.campaign = c.campaign AND b.cell = c.baseline_cell AND b.metric = 'completion_tokens'
    JOIN distributions d ON d.campaign = c.campaign AND d.cell = c.candidate_cell AND d.metric = b.metric
    WHERE (b.min, b.p50, b.max) IS DISTINCT FROM (d.min, d.p50, d.max)
    GROUP BY ALL
), medians AS (
    SELECT c.*, b.metric, b.unit, b.n AS baseline_n, b.p50 AS baseline_p50, d.n AS candidate_n, d.p50 AS candidate_p50,
        coalesce(r.ratios, []) AS ratios,
        CASE WHEN b.metric IN ('e2e_ns', 'decode_tok_s', 'tpot_ns') AND list_contains(l.pairs, c.pair) THEN 'output lengths differ' END AS length_note,
        CASE b.metric WHEN 'gap_p50_ns' THEN c.gap_note WHEN 'effective_prefill_tok_s' THEN c.prefill_note END AS withheld
    FROM conditions c
    JOIN distributions b ON b.campaign = c.campaign AND b.cell = c.baseline_cell
    JOIN distributions d ON d.campaign = c.campaign AND d.cell = c.candidate_cell AND d.metric = b.metric
    LEFT JOIN ratios r ON r.campaign = c.campaign AND r.pair = c.pair AND r.metric = b.metric
    LEFT JOIN lengths l ON l.campaign = c.campaign
), shown AS (
    SELECT * EXCLUDE (ratios), CASE WHEN withheld IS NULL THEN ratios ELSE [] END AS ratios FROM medians
)
SELECT s.campaign, s.pair, s.metric, s.unit,
    len(s.ratios) AS pairs,
    s.baseline_n, CASE WHEN s.withheld IS NULL THEN s.baseline_p50 END AS baseline_p50,
    s.candidate_n, CASE WHEN s.withheld IS NULL THEN s.candidate_p50 END AS candidate_p50,
    CASE WHEN s.withheld IS NULL THEN s.candidate_p50 - s.baseline_p50 END AS median_difference,
    s.ratios[1] AS ratio_min,
    s.ratios[(50 * len(s.ratios) + 99) // 100] AS ratio_p50,
    s.ratios[-1] AS ratio_max,
    CASE WHEN s.withheld IS NULL THEN b.n END AS baseline_repeats,
    CASE WHEN s.withheld IS NULL THEN b.p50_min END AS baseline_p50_min,
    CASE WHEN s.withheld IS NULL THEN b.p50_max END AS baseline_p50_max,
    CASE WHEN s.withheld IS NULL THEN d.n END AS candidate_repeats,
    CASE WHEN s.withheld IS NULL THEN d.p50_min END AS candidate_p50_min,
    CASE WHEN s.withheld IS NULL THEN d.p50_max END AS candidate_p50_max,
    CASE WHEN s.withheld IS NOT NULL THEN 'withheld'
        WHEN b.note IS NULL OR d.note IS NULL THEN 'not set beside repeats'
        WHEN b.campaigns = 1 THEN 'no repeat'
        ELSE concat_ws('; ', CASE WHEN b.note <> '' THEN s.baseline_arm || ': ' || b.note END,
            CASE WHEN d.note <> '' THEN s.candidate_arm || ': ' || d.note END) END AS repeat_note,
    concat_ws('; ', s.withheld,
        CASE WHEN s.metric = 'effective_prefill_tok_s' THEN s.cache_note END,
        CASE WHEN s.withheld IS NULL AND len(s.ratios) < greatest(s.baseline_n, s.candidate_n)
            THEN format('{} of {} indices paired', len(s.ratios), greatest(s.baseline_n, s.candidate_n)) END,
        CASE WHEN s.withheld IS NULL AND least(s.baseline_n, s.candidate_n) < f.n THEN 'p50 descriptive' END,
        s.length_note, s.clock_note) AS note
FROM shown s
JOIN cell_pairs p ON p.campaign = s.campaign AND p.pair = s.pair
LEFT JOIN percentile_floors f ON f.percentile = 50
LEFT JOIN repeat_spread b ON b.campaign = s.campaign AND b.cell = s.baseline_cell AND b.metric = s.metric
LEFT JOIN repeat_spread d ON d.campaign = s.campaign AND d.cell = s.candidate_cell AND d.metric = s.metric
ORDER BY s.campaign, p.pair_order, s.pair, s.metric;
COMMENT ON VIEW comparisons IS 'One row per comparable pair and metric: candidate against baseline, whole recipe against whole recipe.';
COMMENT ON COLUMN comparisons.campaign IS 'Campaign.';
COMMENT ON COLUMN comparisons.pair IS 'Workload, context, concurrency, seed and requests in one word.';
COMMENT ON COLUMN comparisons.metric IS 'Column of request_metrics.';
COMMENT ON COLUMN comparisons.unit IS 'Unit of the medians and their difference; ratios have none.';
COMMENT ON COLUMN comparisons.pairs IS 'Requests with a value under the same index in both cells.';
COMMENT ON COLUMN comparisons.baseline_n IS 'Values of the baseline cell.';
COMMENT ON COLUMN comparisons.baseline_p50 IS 'Nearest-rank median of the baseline cell.';
COMMENT ON COLUMN comparisons.candidate_n IS 'Values of the candidate cell.';
COMMENT ON COLUMN comparisons.candidate_p50 IS 'Nearest-rank median of the candidate cell.';
COMMENT ON COLUMN comparisons.median_difference IS 'candidate_p50 - baseline_p50.';
COMMENT ON COLUMN comparisons.ratio_min IS 'Smallest ratio candidate / baseline of requests with the same index.';
COMMENT ON COLUMN comparisons.ratio_p50 IS 'Nearest-rank median of those ratios.';
COMMENT ON COLUMN comparisons.ratio_max IS 'Largest of those ratios.';
COMMENT ON COLUMN comparisons.baseline_repeats IS 'Campaigns with a median of the baseline cell, this one included.';
COMMENT ON COLUMN comparisons.baseline_p50_min IS 'Smallest of those medians; null with fewer than two.';
COMMENT ON COLUMN comparisons.baseline_p50_max IS 'Largest of those medians; null with fewer than two.';
COMMENT ON COLUMN comparisons.candidate_repeats IS 'Campaigns with a median of the candidate cell, this one included.';
COMMENT ON COLUMN comparisons.candidate_p50_min IS 'Smallest of those medians; null with fewer than two.';
COMMENT ON COLUMN comparisons.candidate_p50_max IS 'Largest of those medians; null with fewer than two.';
COMMENT ON COLUMN comparisons.repeat_note IS 'no repeat; withheld; or which arm lacks medians; empty when every campaign has both.';
COMMENT ON COLUMN comparisons.note IS 'What is withheld and why, and what a reader must see beside the numbers.';
