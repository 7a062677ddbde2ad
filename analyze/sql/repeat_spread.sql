-- One row per measured cell and metric: the spread of its median over this campaign
-- and its repeats. Without a second median there is no spread. Medians of prefill
-- from a warm cache are left out, and so is the inter-chunk gap, whose stamps may
-- differ between campaigns.
CREATE OR REPLACE VIEW repeat_spread AS
WITH own AS (
    SELECT campaign, arm, cell, metric, unit,
        CASE WHEN population = 'eligible' AND NOT (metric = 'effective_prefill_tok_s' AND contains(note, 'cache_assisted')) THEN p50 END AS p50
    FROM cell_distributions
    WHERE metric <> 'gap_p50_ns'
), medians AS (
    SELECT campaign, cell, metric, p50 FROM own WHERE p50 IS NOT NULL
    UNION ALL
    SELECT campaign, cell, metric, p50 FROM repeat_medians WHERE p50 IS NOT NULL
), sorted AS (
    SELECT campaign, cell, metric, list(p50 ORDER BY p50) AS medians
    FROM medians
    GROUP BY ALL
), repeats AS (
    SELECT campaign, count(*) AS repeats FROM campaign_repeats GROUP BY ALL
), sized AS (
    SELECT o.campaign, o.arm, o.cell, o.metric, o.unit,
        1 + coalesce(r.repeats, 0) AS campaigns,
        coalesce(s.medians, []) AS medians
    FROM own o
    LEFT JOIN sorted s ON s.campaign = o.campaign AND s.cell = o.cell AND s.metric = o.metric
    LEFT JOIN repeats r ON r.campaign = o.campaign
)
SELECT campaign, arm, cell, metric, unit, campaigns, len(medians) AS n,
    CASE WHEN len(medians) > 1 THEN medians[1] END AS p50_min,
    CASE WHEN len(medians) > 1 THEN medians[(50 * len(medians) + 99) // 100] END AS p50_median,
    CASE WHEN len(medians) > 1 THEN medians[-1] END AS p50_max,
    CASE WHEN campaigns = 1 THEN 'no repeat'
        WHEN len(medians) < campaigns THEN format('{} of {} campaigns have a median', len(medians), campaigns)
        ELSE '' END AS note
FROM sized
ORDER BY campaign, cell, metric;
COMMENT ON VIEW repeat_spread IS 'One row per measured cell and metric: the spread of its median over this campaign and its repeats.';
COMMENT ON COLUMN repeat_spread.campaign IS 'Campaign.';
COMMENT ON COLUMN repeat_spread.arm IS 'Arm.';
COMMENT ON COLUMN repeat_spread.cell IS 'Cell.';
COMMENT ON COLUMN repeat_spread.metric IS 'Column of request_metrics.';
COMMENT ON COLUMN repeat_spread.unit IS 'Unit of p50_min to p50_max.';
COMMENT ON COLUMN repeat_spread.campaigns IS 'This campaign and its repeats.';
COMMENT ON COLUMN repeat_spread.n IS 'Of these, the ones with a median.';
COMMENT ON COLUMN repeat_spread.p50_min IS 'Smallest median; null with fewer than two.';
COMMENT ON COLUMN repeat_spread.p50_median IS 'Nearest-rank median of the medians; null with fewer than two.';
COMMENT ON COLUMN repeat_spread.p50_max IS 'Largest median; null with fewer than two.';
COMMENT ON COLUMN repeat_spread.note IS 'no repeat, or how many of the campaigns have a median; empty when all have one.';
