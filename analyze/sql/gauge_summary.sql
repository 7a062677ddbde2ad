-- One row per counted attempt and canonical gauge: its values over the attempt's
-- whole pages. A page on which the gauge is no number is counted and takes no part;
-- it never becomes 0. Extremes are those that were sampled: the true ones lie
-- outside them or on them.
CREATE OR REPLACE VIEW gauge_summary AS
SELECT campaign, arm, cell, attempt, canonical, min(unit) AS unit, min(series) AS series,
    count(*) AS pages, count(value) FILTER (NOT isnan(value)) AS samples,
    count(*) - count(value) FILTER (NOT isnan(value)) AS not_a_number,
    min(value) FILTER (NOT isnan(value)) AS lowest, max(value) FILTER (NOT isnan(value)) AS highest,
    max(value) FILTER (NOT isnan(value) AND phase = 'during') AS highest_during,
    count(value) FILTER (NOT isnan(value) AND phase = 'during') AS samples_during
FROM engine_gauges
GROUP BY campaign, arm, cell, attempt, canonical
ORDER BY campaign, cell, canonical;
COMMENT ON VIEW gauge_summary IS 'One row per counted attempt and canonical gauge: its sampled values. Extremes are bounds: the true ones lie outside them or on them.';
COMMENT ON COLUMN gauge_summary.campaign IS 'Campaign.';
COMMENT ON COLUMN gauge_summary.arm IS 'Arm.';
COMMENT ON COLUMN gauge_summary.cell IS 'Cell.';
COMMENT ON COLUMN gauge_summary.attempt IS 'Counted attempt.';
COMMENT ON COLUMN gauge_summary.canonical IS 'Canonical name.';
COMMENT ON COLUMN gauge_summary.unit IS 'Unit of the values.';
COMMENT ON COLUMN gauge_summary.series IS 'Name as scraped.';
COMMENT ON COLUMN gauge_summary.pages IS 'Whole pages that have the gauge.';
COMMENT ON COLUMN gauge_summary.samples IS 'Pages on which it is a number.';
COMMENT ON COLUMN gauge_summary.not_a_number IS 'Pages on which it is none.';
COMMENT ON COLUMN gauge_summary.lowest IS 'Lowest sampled value, an upper bound of the true minimum; null without a number.';
COMMENT ON COLUMN gauge_summary.highest IS 'Highest sampled value, a lower bound of the true maximum; null without a number.';
COMMENT ON COLUMN gauge_summary.highest_during IS 'Highest value sampled during the cell''s requests.';
COMMENT ON COLUMN gauge_summary.samples_during IS 'Numbers sampled during the cell''s requests.';
