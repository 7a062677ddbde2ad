-- One row per counted attempt, canonical counter, and full label set: after -
-- before (measurement.md section 11); and one row with null labels for a counter
-- that the engine does not expose. Engine ranks stay apart here; a total over
-- them is a sum of deltas. Of copies of one value (tensor-parallel ranks) the
-- largest stands alone. A series absent before counts as 0 when it is labelled or
-- its family was declared then, and the process start is the same.
CREATE OR REPLACE VIEW counter_deltas AS
WITH counters AS (
    SELECT r.*, p.before_page, p.after_page, p.start_known, p.start_changed
    FROM resolved_series r
    JOIN attempt_pages p ON p.campaign = r.campaign AND p.cell = r.cell
    WHERE r.kind = 'counter'
), sides AS (
    SELECT r.campaign, r.cell, r.canonical, r.scraped, r.label_filter, r.copy_labels, s.labels,
        min(s.value) FILTER (s.page_seq = r.before_page) AS before,
        min(s.value) FILTER (s.page_seq = r.after_page) AS after
    FROM counters r
    JOIN engine_samples s ON s.campaign = r.campaign AND s.cell = r.cell AND s.attempt = r.attempt
        AND s.page_seq IN (r.before_page, r.after_page) AND s.series = r.scraped
    WHERE s.value IS NOT NULL
        AND (r.label_filter = '{}' OR json_contains(s.labels, r.label_filter))
    GROUP BY ALL
), samples AS (
    SELECT * FROM sides
    QUALIFY row_number() OVER (PARTITION BY campaign, cell, canonical, scraped, label_filter, json_merge_patch(labels, copy_labels)
        ORDER BY after DESC NULLS LAST, labels) = 1
), created AS (
    SELECT r.campaign, r.cell, r.canonical, r.scraped, s.labels,
        min(s.value) FILTER (s.page_seq = r.before_page) AS before,
        min(s.value) FILTER (s.page_seq = r.after_page) AS after
    FROM counters r
    JOIN engine_samples s ON s.campaign = r.campaign AND s.cell = r.cell AND s.attempt = r.attempt
        AND s.page_seq IN (r.before_page, r.after_page)
        AND s.series = regexp_replace(r.scraped, '_total$', '') || '_created'
    GROUP BY ALL
), declared AS (
    SELECT DISTINCT r.campaign, r.cell, r.canonical, r.scraped
    FROM counters r
    JOIN engine_samples s ON s.campaign = r.campaign AND s.cell = r.cell AND s.attempt = r.attempt
        AND s.page_seq = r.before_page AND s.declared
        AND regexp_replace(s.series, '_total$', '') = regexp_replace(r.scraped, '_total$', '')
), reasoned AS (
    SELECT r.campaign, r.arm, r.cell, r.attempt, r.canonical, r.unit, r.scraped, s.labels, s.before, s.after,
        CASE
            WHEN r.scraped IS NULL THEN 'not_exposed: no series of this meaning is on the pages'
            WHEN r.before_page IS NULL THEN 'no_baseline: no whole page before the cell'
            WHEN r.after_page IS NULL THEN 'no_baseline: no whole page after the cell'
            WHEN s.labels IS NULL THEN 'no_baseline: the family has no series on either page'
            WHEN r.start_changed THEN 'counter_reset: the process start changed'
            WHEN s.after IS NULL THEN 'torn_scrape: absent after the cell'
            WHEN isnan(s.after) OR isnan(s.before) THEN 'torn_scrape: a value is no number'
            WHEN s.before IS NULL AND s.labels = '{}' AND d.canonical IS NULL THEN 'no_baseline: absent before, without labels, and its family was not declared'
            WHEN s.before IS NULL AND NOT r.start_known THEN 'no_baseline: absent before, and the process start is unknown'
            WHEN c.before <> c.after THEN 'counter_reset: _created changed'
            WHEN s.after < s.before THEN 'counter_reset: the counter fell'
        END AS reason
    FROM counters r
    LEFT JOIN samples s ON s.campaign = r.campaign AND s.cell = r.cell AND s.canonical = r.canonical AND s.scraped = r.scraped AND s.label_filter = r.label_filter
    LEFT JOIN created c ON c.campaign = r.campaign AND c.cell = r.cell AND c.canonical = r.canonical AND c.scraped = r.scraped AND c.labels = s.labels
    LEFT JOIN declared d ON d.campaign = r.campaign AND d.cell = r.cell AND d.canonical = r.canonical AND d.scraped = r.scraped
)
SELECT campaign, arm, cell, attempt, canonical, unit, scraped AS series, labels,
    CASE WHEN reason IS NULL THEN coalesce(before, 0) ELSE before END AS before,
    after,
    CASE WHEN reason IS NULL THEN after - coalesce(before, 0) END AS delta,
    reason
FROM reasoned
ORDER BY campaign, cell, canonical, series, labels;
COMMENT ON VIEW counter_deltas IS 'One row per counted attempt, canonical counter and full label set: after minus before the cell.';
COMMENT ON COLUMN counter_deltas.campaign IS 'Campaign.';
COMMENT ON COLUMN counter_deltas.arm IS 'Arm.';
COMMENT ON COLUMN counter_deltas.cell IS 'Cell.';
COMMENT ON COLUMN counter_deltas.attempt IS 'Counted attempt.';
COMMENT ON COLUMN counter_deltas.canonical IS 'Canonical name.';
COMMENT ON COLUMN counter_deltas.unit IS 'Unit of the counter.';
COMMENT ON COLUMN counter_deltas.series IS 'Name as scraped; null when the engine does not expose it.';
COMMENT ON COLUMN counter_deltas.labels IS 'Full label set, JSON with sorted keys; null when there is no series.';
COMMENT ON COLUMN counter_deltas.before IS 'Value before the cell.';
COMMENT ON COLUMN counter_deltas.after IS 'Value after the cell.';
COMMENT ON COLUMN counter_deltas.delta IS 'Increase during the cell; null with a reason.';
COMMENT ON COLUMN counter_deltas.reason IS 'Why there is no delta: not_exposed, no_baseline, torn_scrape or counter_reset, and the evidence; null when there is one.';
