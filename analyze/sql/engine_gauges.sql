-- One row per whole page of a counted attempt and canonical gauge. Running and
-- waiting requests add over engine ranks; a usage ratio does not add, the highest
-- rank is given; a list with several entries is never made one number. Copies of
-- one value (tensor-parallel ranks) count once, with the largest. A value that is
-- no number is left out of a highest, makes a sum null, and never becomes 0.
CREATE OR REPLACE VIEW engine_gauges AS
WITH readings AS (
    SELECT r.campaign, r.arm, r.cell, r.attempt, s.page_seq, s.phase, s.at_ns, r.canonical, r.unit, r.aggregation,
        r.scraped, json_merge_patch(s.labels, r.copy_labels) AS labels,
        max(s.value) FILTER (NOT isnan(s.value)) AS value
    FROM resolved_series r
    JOIN engine_samples s ON s.campaign = r.campaign AND s.cell = r.cell AND s.attempt = r.attempt
        AND s.series = r.scraped
    JOIN pages p ON p.campaign = r.campaign AND p.cell = r.cell AND p.attempt = r.attempt
        AND p.page_seq = s.page_seq AND p.error = ''
    WHERE r.kind = 'gauge' AND s.value IS NOT NULL
        AND (r.label_filter = '{}' OR json_contains(s.labels, r.label_filter))
    GROUP BY ALL
), pages_of AS (
    SELECT campaign, arm, cell, attempt, page_seq, phase, at_ns, canonical, unit, aggregation,
        string_agg(DISTINCT scraped, ' + ' ORDER BY scraped) AS series,
        list(value ORDER BY scraped, labels) AS readings
    FROM readings
    GROUP BY ALL
)
SELECT campaign, arm, cell, attempt, page_seq, phase, at_ns, canonical, unit, series,
    CASE WHEN aggregation = 'max' THEN list_max(readings)
        WHEN list_count(readings) < len(readings) THEN NULL
        WHEN aggregation = 'sum' THEN list_sum(readings)
        WHEN len(readings) = 1 THEN readings[1] END AS value,
    len(readings) AS ranks
FROM pages_of
ORDER BY campaign, cell, page_seq, canonical;
COMMENT ON VIEW engine_gauges IS 'One row per whole page of a counted attempt and canonical gauge. A maximum over pages is a lower bound of the real one.';
COMMENT ON COLUMN engine_gauges.campaign IS 'Campaign.';
COMMENT ON COLUMN engine_gauges.arm IS 'Arm.';
COMMENT ON COLUMN engine_gauges.cell IS 'Cell.';
COMMENT ON COLUMN engine_gauges.attempt IS 'Counted attempt.';
COMMENT ON COLUMN engine_gauges.page_seq IS 'Page.';
COMMENT ON COLUMN engine_gauges.phase IS 'before, during or after the cell''s requests.';
COMMENT ON COLUMN engine_gauges.at_ns IS 'End of the scrape, ns since the run''s clock anchor.';
COMMENT ON COLUMN engine_gauges.canonical IS 'Canonical name.';
COMMENT ON COLUMN engine_gauges.unit IS 'Unit of the value.';
COMMENT ON COLUMN engine_gauges.series IS 'Name as scraped.';
COMMENT ON COLUMN engine_gauges.value IS 'Sum or highest over the engine ranks, as the canonical name says; null when a reading is no number.';
COMMENT ON COLUMN engine_gauges.ranks IS 'Engine ranks on the page.';
