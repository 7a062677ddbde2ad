-- One row per measured cell and metric. Population eligible: all requests of an
-- eligible cell. Population passing_only: the passing requests of an ineligible
-- cell, for the sensitivity section only.
-- n counts the values; unknown and withheld ones are not among them, and the note
-- says how many. A percentile is the nearest rank (q * n + 99) / 100, so always an
-- observed value. p50_low and p50_high are order statistics that bound the median
-- with at least 95 % confidence, null below n = 6. The note holds, as they apply:
--   no value; list of values (n below 6); p95 = max (n below 20); p50 descriptive
--   and p95 descriptive (below the floors of percentile_floors); withheld: FLAGS (k
--   of m); k of m without a value; cache_assisted: k of m, not compared
CREATE OR REPLACE VIEW cell_distributions AS
WITH populations AS (
    SELECT campaign, arm, cell, cell_order, attempt,
        CASE WHEN eligibility = 'eligible' THEN 'eligible' ELSE 'passing_only' END AS population
    FROM cell_eligibility
    WHERE eligibility <> 'excluded_warmup'
), metrics(place, metric, unit) AS (VALUES
    (1, 'ttfo_ns', 'ns'), (2, 'ttft_ns', 'ns'), (3, 'e2e_ns', 'ns'), (4, 'decode_tok_s', 'tokens/s'), (5, 'tpot_ns', 'ns/token'),
    (6, 'effective_prefill_tok_s', 'tokens/s'), (7, 'prompt_tokens', 'tokens'), (8, 'completion_tokens', 'tokens'),
    (9, 'reasoning_tokens', 'tokens'), (10, 'gap_p50_ns', 'ns')
), members AS (
    SELECT p.campaign, p.cell, p.population, from_json(m.withheld, '["VARCHAR"]') AS withheld,
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
    FROM populations p
    JOIN request_metrics m ON m.campaign = p.campaign AND m.cell = p.cell AND m.attempt = p.attempt
    JOIN request_passes q ON q.campaign = p.campaign AND q.cell = p.cell AND q.request_index = m.request_index
    WHERE p.population = 'eligible' OR q.passes
), flagged AS (
    SELECT * EXCLUDE (withheld),
        list_filter(withheld, lambda w: starts_with(w, metric || ': ') AND NOT ends_with(w, ': cache_assisted')) AS marks,
        list_contains(withheld, metric || ': cache_assisted') AS cache_assisted
    FROM members
), grouped AS (
    SELECT campaign, cell, population, metric,
        count(*) AS requests,
        list(value ORDER BY value) FILTER (value IS NOT NULL) AS observed,
        count(*) FILTER (value IS NULL AND len(marks) > 0) AS withheld,
        list_sort(list_distinct(flatten(list(list_transform(marks, lambda w: substr(w, length(metric) + 3)))))) AS flags,
        count(*) FILTER (cache_assisted) AS cache_assisted
    FROM flagged
    GROUP BY ALL
), sized AS (
    SELECT p.*, m.place, m.metric, m.unit,
        coalesce(g.observed, []) AS observed, len(coalesce(g.observed, [])) AS n,
        coalesce(g.requests, 0) AS requests, coalesce(g.withheld, 0) AS withheld,
        g.flags, coalesce(g.cache_assisted, 0) AS cache_assisted
    FROM populations p
    CROSS JOIN metrics m
    LEFT JOIN grouped g ON g.campaign = p.campaign AND g.cell = p.cell AND g.population = p.population AND g.metric = m.metric
)
SELECT s.campaign, s.arm, s.cell, s.population, s.metric, s.unit, s.n,
    s.observed[1] AS min,
    s.observed[(50 * s.n + 99) // 100] AS p50,
    s.observed[(95 * s.n + 99) // 100] AS p95,
    s.observed[s.n] AS max,
    s.observed[r.low] AS p50_low,
    s.observed[r.high] AS p50_high,
    concat_ws('; ',
        CASE WHEN s.n = 0 THEN 'no value' END,
        CASE WHEN s.n BETWEEN 1 AND 5 THEN 'list of values' END,
        CASE WHEN s.n BETWEEN 1 AND 19 THEN 'p95 = max' END,
        CASE WHEN s.n > 0 AND s.n < f50.n THEN 'p50 descriptive' END,
        CASE WHEN s.n > 0 AND s.n < f95.n THEN 'p95 descriptive' END,
        CASE WHEN s.withheld > 0 THEN format('withheld: {} ({} of {})', array_to_string(s.flags, ', '), s.withheld, s.requests) END,
        CASE WHEN s.requests - s.n - s.withheld > 0
            THEN format('{} of {} without a value', s.requests - s.n - s.withheld, s.requests) END,
        CASE WHEN s.cache_assisted > 0 THEN format('cache_assisted: {} of {}, not compared', s.cache_assisted, s.requests) END
    ) AS note
FROM sized s
LEFT JOIN median_ranks r ON r.n = s.n
LEFT JOIN percentile_floors f50 ON f50.percentile = 50
LEFT JOIN percentile_floors f95 ON f95.percentile = 95
ORDER BY s.campaign, s.cell_order, s.cell, s.place;
COMMENT ON VIEW cell_distributions IS 'One row per measured cell and metric: the distribution over its requests.';
COMMENT ON COLUMN cell_distributions.campaign IS 'Campaign.';
COMMENT ON COLUMN cell_distributions.arm IS 'Arm.';
COMMENT ON COLUMN cell_distributions.cell IS 'Cell.';
COMMENT ON COLUMN cell_distributions.population IS 'eligible: all requests of an eligible cell. passing_only: the passing requests of an ineligible cell, never in a main table.';
COMMENT ON COLUMN cell_distributions.metric IS 'Column of request_metrics.';
COMMENT ON COLUMN cell_distributions.unit IS 'Unit of min to p50_high.';
COMMENT ON COLUMN cell_distributions.n IS 'Number of values.';
COMMENT ON COLUMN cell_distributions.min IS 'Smallest value.';
COMMENT ON COLUMN cell_distributions.p50 IS 'Nearest-rank median.';
COMMENT ON COLUMN cell_distributions.p95 IS 'Nearest-rank 95th percentile over requests; the maximum below n = 20.';
COMMENT ON COLUMN cell_distributions.max IS 'Largest value.';
COMMENT ON COLUMN cell_distributions.p50_low IS 'Lower order statistic of the 95 % interval of the median; null below n = 6.';
COMMENT ON COLUMN cell_distributions.p50_high IS 'Upper order statistic of the 95 % interval of the median; null below n = 6.';
COMMENT ON COLUMN cell_distributions.note IS 'Labels and reasons a reader must see beside the numbers.';
