-- One row per counted attempt, canonical histogram and full label set, and one with
-- null labels for a histogram that the engine does not expose. The mean is sum /
-- count. A quantile is an interval: the edges of the bucket that holds the nearest
-- rank; in the last bucket only the lower edge is known, which reads "> edge"; with
-- only a +Inf bucket it is unknown. Observed values are times and tokens, so the
-- first bucket begins at 0. Foreign traffic withholds mean and quantiles.
CREATE OR REPLACE VIEW histogram_summary AS
WITH foreign_cells AS (
    SELECT campaign, cell, min(reason) AS reason
    FROM metric_withholdings
    WHERE flag = 'foreign_traffic' AND metric = 'engine_means'
    GROUP BY ALL
), generated AS (
    SELECT campaign, cell, sum(delta ORDER BY series, labels) AS tokens
    FROM counter_deltas
    WHERE canonical = 'generation_tokens'
    GROUP BY ALL
    HAVING count(*) = count(delta)
), series AS (
    SELECT r.campaign, r.arm, r.cell, r.attempt, r.canonical, r.unit, coalesce(h.family, r.family) AS series, h.labels,
        h.edges_after AS edges, h.steps, h.count_delta, h.sum_delta,
        CASE WHEN r.family IS NULL THEN 'not_exposed: no series of this meaning is on the pages'
            WHEN h.labels IS NULL THEN 'no_baseline: the family has no series before or after the cell'
            ELSE h.reason END AS missing,
        f.reason AS foreign_reason,
        CASE WHEN r.canonical = 'itl_per_output_seconds' THEN g.tokens END AS tokens
    FROM resolved_series r
    LEFT JOIN histogram_series h ON h.campaign = r.campaign AND h.cell = r.cell AND h.canonical = r.canonical AND h.family = r.family
    LEFT JOIN foreign_cells f ON f.campaign = r.campaign AND f.cell = r.cell
    LEFT JOIN generated g ON g.campaign = r.campaign AND g.cell = r.cell
    WHERE r.kind = 'histogram'
), ranked AS (
    SELECT *,
        CASE WHEN missing IS NULL AND foreign_reason IS NULL AND count_delta > 0 AND len(edges) > 1 THEN
            list_position(list_transform(steps, lambda x: x >= (50 * count_delta::BIGINT + 99) // 100), true) END AS at50,
        CASE WHEN missing IS NULL AND foreign_reason IS NULL AND count_delta > 0 AND len(edges) > 1 THEN
            list_position(list_transform(steps, lambda x: x >= (95 * count_delta::BIGINT + 99) // 100), true) END AS at95
    FROM series
)
SELECT campaign, arm, cell, attempt, canonical, unit, series, labels,
    count_delta::BIGINT AS n, sum_delta AS sum,
    CASE WHEN foreign_reason IS NULL AND count_delta > 0 THEN sum_delta / count_delta END AS mean,
    CASE WHEN foreign_reason IS NULL AND count_delta > 0 THEN tokens / count_delta END AS tokens_per_observation,
    CASE WHEN at50 > 1 THEN edges[at50 - 1] WHEN at50 = 1 AND edges[1] > 0 THEN 0 END AS p50_low,
    CASE WHEN isfinite(edges[at50]) THEN edges[at50] END AS p50_high,
    CASE WHEN at95 > 1 THEN edges[at95 - 1] WHEN at95 = 1 AND edges[1] > 0 THEN 0 END AS p95_low,
    CASE WHEN isfinite(edges[at95]) THEN edges[at95] END AS p95_high,
    CASE WHEN missing IS NOT NULL THEN missing
        WHEN foreign_reason IS NOT NULL THEN 'foreign_traffic: ' || foreign_reason
        WHEN count_delta = 0 THEN 'no observations'
        WHEN sum_delta IS NULL THEN 'no sum on the page'
        WHEN len(edges) = 1 THEN 'quantiles unknown: only a +Inf bucket' END AS reason
FROM ranked
ORDER BY campaign, cell, canonical, series, labels;
COMMENT ON VIEW histogram_summary IS 'One row per counted attempt, canonical histogram and full label set: its observations during the cell.';
COMMENT ON COLUMN histogram_summary.campaign IS 'Campaign.';
COMMENT ON COLUMN histogram_summary.arm IS 'Arm.';
COMMENT ON COLUMN histogram_summary.cell IS 'Cell.';
COMMENT ON COLUMN histogram_summary.attempt IS 'Counted attempt.';
COMMENT ON COLUMN histogram_summary.canonical IS 'Canonical name.';
COMMENT ON COLUMN histogram_summary.unit IS 'Unit of sum to p95_high.';
COMMENT ON COLUMN histogram_summary.series IS 'Name of the family as scraped; null when the engine does not expose it.';
COMMENT ON COLUMN histogram_summary.labels IS 'Full label set without le, JSON with sorted keys; null when there is no series.';
COMMENT ON COLUMN histogram_summary.n IS 'Observations during the cell.';
COMMENT ON COLUMN histogram_summary.sum IS 'Sum of the observations.';
COMMENT ON COLUMN histogram_summary.mean IS 'sum / n; null without observations and under foreign traffic.';
COMMENT ON COLUMN histogram_summary.tokens_per_observation IS 'Of itl_per_output_seconds: generated tokens / observations. Where it is not 1 the mean is one of outputs, not of tokens; two such means with another number of tokens are not comparable. Null for other histograms.';
COMMENT ON COLUMN histogram_summary.p50_low IS 'Lower edge of the bucket that holds the median.';
COMMENT ON COLUMN histogram_summary.p50_high IS 'Upper edge of that bucket; null with a p50_low: the median is above p50_low.';
COMMENT ON COLUMN histogram_summary.p95_low IS 'Lower edge of the bucket that holds the 95th percentile.';
COMMENT ON COLUMN histogram_summary.p95_high IS 'Upper edge of that bucket; null with a p95_low: the percentile is above p95_low.';
COMMENT ON COLUMN histogram_summary.reason IS 'Why something is missing; null when nothing is.';
