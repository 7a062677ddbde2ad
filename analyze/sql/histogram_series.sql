-- One row per counted attempt, canonical histogram, and full label set: its state
-- before and after the cell, and why there is no delta when there is none
-- (measurement.md section 11). Nothing is clamped, wrapped or guessed.
--   no_baseline    no whole page on one side; or absent before, and its family was
--                  not declared then, or the process start is not known to be the
--                  same
--   torn_scrape    buckets not monotone, an edge twice, +Inf bucket not the count,
--                  a value that is no number, absent after, or deltas not monotone
--   counter_reset  process start or _created changed, or a bucket, the count or
--                  the sum fell
--   bucket_change  bucket edges differ
-- Of copies of one value (tensor-parallel ranks) the largest stands alone.
-- The first of these in this order is given: no_baseline, process start, torn,
-- _created, edges, falls.
CREATE OR REPLACE VIEW histogram_series AS
WITH histograms AS (
    SELECT r.*, p.before_page, p.after_page, p.start_known, p.start_changed
    FROM resolved_series r
    JOIN attempt_pages p ON p.campaign = r.campaign AND p.cell = r.cell
    WHERE r.kind = 'histogram'
), samples AS (
    SELECT r.campaign, r.arm, r.cell, r.attempt, r.canonical, r.unit, r.family, r.copy_labels, s.labels, s.le, s.value,
        coalesce(s.page_seq = r.after_page, false) AS is_after,
        substr(s.series, length(r.family) + 2) AS part
    FROM histograms r
    JOIN engine_samples s ON s.campaign = r.campaign AND s.cell = r.cell AND s.attempt = r.attempt
        AND s.page_seq IN (r.before_page, r.after_page)
        AND s.series IN (r.family || '_bucket', r.family || '_sum', r.family || '_count', r.family || '_created')
    WHERE s.value IS NOT NULL
        AND (r.label_filter = '{}' OR json_contains(s.labels, r.label_filter))
), sides AS (
    SELECT campaign, arm, cell, attempt, canonical, unit, family, copy_labels, labels, is_after,
        list(le ORDER BY le, value) FILTER (part = 'bucket') AS edges,
        list(value ORDER BY le, value) FILTER (part = 'bucket') AS buckets,
        min(value) FILTER (part = 'count') AS count,
        min(value) FILTER (part = 'sum') AS sum,
        min(value) FILTER (part = 'created') AS created,
        bool_or(isnan(value)) AS has_nan
    FROM samples
    GROUP BY ALL
    HAVING count(*) FILTER (part <> 'created') > 0
), checked AS (
    SELECT *, CASE
            WHEN has_nan THEN 'a value is no number'
            WHEN edges IS NULL OR count IS NULL OR edges[-1] <> 'Infinity'::DOUBLE THEN 'the +Inf bucket or the count is missing'
            WHEN len(list_distinct(edges)) <> len(edges) THEN 'a bucket edge stands twice'
            WHEN list_sort(buckets) <> buckets THEN 'buckets are not monotone'
            WHEN buckets[-1] <> count THEN 'the +Inf bucket is not the count'
        END AS torn
    FROM sides
), declared AS (
    SELECT DISTINCT r.campaign, r.cell, r.canonical, r.family
    FROM histograms r
    JOIN engine_samples s ON s.campaign = r.campaign AND s.cell = r.cell AND s.attempt = r.attempt
        AND s.page_seq = r.before_page AND s.declared
        AND s.series IN (r.family, r.family || '_bucket', r.family || '_sum', r.family || '_count')
), keys AS (
    SELECT DISTINCT campaign, arm, cell, attempt, canonical, unit, family, copy_labels, labels FROM sides
), joined AS (
    SELECT k.*, p.before_page, p.after_page, p.start_known, p.start_changed,
        b.edges IS NOT NULL OR b.count IS NOT NULL OR b.sum IS NOT NULL AS in_before,
        a.edges IS NOT NULL OR a.count IS NOT NULL OR a.sum IS NOT NULL AS in_after,
        d.canonical IS NOT NULL AS was_declared,
        b.torn AS torn_before, a.torn AS torn_after,
        b.created AS created_before, a.created AS created_after,
        b.edges AS edges_before, a.edges AS edges_after,
        b.buckets AS buckets_before, a.buckets AS buckets_after,
        b.count AS count_before, a.count AS count_after,
        b.sum AS sum_before, a.sum AS sum_after
    FROM keys k
    JOIN attempt_pages p ON p.campaign = k.campaign AND p.cell = k.cell
    LEFT JOIN checked b ON b.campaign = k.campaign AND b.cell = k.cell AND b.canonical = k.canonical AND b.family = k.family AND b.labels = k.labels AND NOT b.is_after
    LEFT JOIN checked a ON a.campaign = k.campaign AND a.cell = k.cell AND a.canonical = k.canonical AND a.family = k.family AND a.labels = k.labels AND a.is_after
    LEFT JOIN declared d ON d.campaign = k.campaign AND d.cell = k.cell AND d.canonical = k.canonical AND d.family = k.family
    QUALIFY row_number() OVER (PARTITION BY k.campaign, k.cell, k.canonical, k.family, json_merge_patch(k.labels, k.copy_labels)
        ORDER BY a.count DESC NULLS LAST, k.labels) = 1
), differences AS (
    SELECT *,
        CASE WHEN NOT in_before THEN buckets_after
            WHEN edges_before = edges_after THEN list_transform(range(1, len(edges_after) + 1),
                lambda i: buckets_after[i] - buckets_before[i]) END AS steps
    FROM joined
), reasoned AS (
    SELECT *, CASE
            WHEN before_page IS NULL THEN 'no_baseline: no whole page before the cell'
            WHEN after_page IS NULL THEN 'no_baseline: no whole page after the cell'
            WHEN start_changed THEN 'counter_reset: the process start changed'
            WHEN NOT in_after THEN 'torn_scrape: absent after the cell'
            WHEN torn_after IS NOT NULL THEN 'torn_scrape: ' || torn_after || ', after'
            WHEN torn_before IS NOT NULL THEN 'torn_scrape: ' || torn_before || ', before'
            WHEN NOT in_before AND NOT was_declared THEN 'no_baseline: absent before, and its family was not declared'
            WHEN NOT in_before AND NOT start_known THEN 'no_baseline: absent before, and the process start is unknown'
            WHEN created_before <> created_after THEN 'counter_reset: _created changed'
            WHEN edges_before <> edges_after THEN 'bucket_change: the bucket edges differ'
            WHEN count_after < count_before THEN 'counter_reset: the count fell'
            WHEN len(list_filter(steps, lambda x: x < 0)) > 0 THEN 'counter_reset: a bucket fell'
            WHEN sum_after < sum_before THEN 'counter_reset: the sum fell'
            WHEN list_sort(steps) <> steps THEN 'torn_scrape: the bucket deltas are not monotone'
        END AS reason
    FROM differences
)
SELECT campaign, arm, cell, attempt, canonical, unit, family, labels,
    edges_before, edges_after, in_before, in_after, buckets_before, buckets_after, steps, reason,
    CASE WHEN reason IS NULL THEN count_after - CASE WHEN in_before THEN count_before ELSE 0 END END AS count_delta,
    CASE WHEN reason IS NULL THEN sum_after - CASE WHEN in_before THEN sum_before ELSE 0 END END AS sum_delta
FROM reasoned
ORDER BY campaign, cell, canonical, family, labels;
COMMENT ON VIEW histogram_series IS 'One row per counted attempt, canonical histogram and full label set: its state before and after the cell, and why there is no delta when there is none.';
COMMENT ON COLUMN histogram_series.campaign IS 'Campaign.';
COMMENT ON COLUMN histogram_series.arm IS 'Arm.';
COMMENT ON COLUMN histogram_series.cell IS 'Cell.';
COMMENT ON COLUMN histogram_series.attempt IS 'Counted attempt.';
COMMENT ON COLUMN histogram_series.canonical IS 'Canonical name.';
COMMENT ON COLUMN histogram_series.unit IS 'Unit of the observed values.';
COMMENT ON COLUMN histogram_series.family IS 'Name of the family as scraped, without _bucket, _sum and _count.';
COMMENT ON COLUMN histogram_series.labels IS 'Full label set without le, JSON with sorted keys.';
COMMENT ON COLUMN histogram_series.edges_before IS 'Bucket edges before, ascending.';
COMMENT ON COLUMN histogram_series.edges_after IS 'Bucket edges after, ascending.';
COMMENT ON COLUMN histogram_series.in_before IS 'The series is on the page before.';
COMMENT ON COLUMN histogram_series.in_after IS 'The series is on the page after.';
COMMENT ON COLUMN histogram_series.buckets_before IS 'Cumulative buckets before, in the order of edges_before.';
COMMENT ON COLUMN histogram_series.buckets_after IS 'Cumulative buckets after, in the order of edges_after.';
COMMENT ON COLUMN histogram_series.steps IS 'Cumulative bucket deltas, in the order of edges_after; null when the edges differ. Valid only without a reason.';
COMMENT ON COLUMN histogram_series.reason IS 'Why there is no delta; null when there is one.';
COMMENT ON COLUMN histogram_series.count_delta IS 'Observations during the cell; null with a reason.';
COMMENT ON COLUMN histogram_series.sum_delta IS 'Sum of the observations during the cell; null with a reason, or without a sum on the page.';
