-- One row per counted attempt, canonical histogram, full label set, and bucket
-- edge on either page: after - before, cumulative as scraped. A series absent
-- before counts as 0 when its family was declared then and the process start is
-- the same. delta and total are null with a reason; see histogram_series.
CREATE OR REPLACE VIEW histogram_deltas AS
WITH series AS (
    FROM histogram_series
), before AS (
    SELECT campaign, cell, canonical, family, labels, unnest(edges_before) AS le, unnest(buckets_before) AS value
    FROM series
), after AS (
    SELECT campaign, cell, canonical, family, labels, unnest(edges_after) AS le, unnest(buckets_after) AS value
    FROM series
), edges AS (
    SELECT campaign, cell, canonical, family, labels, le FROM before
    UNION
    SELECT campaign, cell, canonical, family, labels, le FROM after
)
SELECT h.campaign, h.arm, h.cell, h.attempt, h.canonical, h.family AS series, h.labels, e.le,
    CASE WHEN h.reason IS NULL AND NOT h.in_before THEN 0 ELSE b.value END AS before,
    a.value AS after,
    CASE WHEN h.reason IS NULL THEN a.value - CASE WHEN h.in_before THEN b.value ELSE 0 END END AS delta,
    h.count_delta AS total,
    h.reason
FROM edges e
JOIN series h ON h.campaign = e.campaign AND h.cell = e.cell AND h.canonical = e.canonical AND h.family = e.family AND h.labels = e.labels
LEFT JOIN (SELECT campaign, cell, canonical, family, labels, le, min(value) AS value FROM before GROUP BY ALL) b
    ON b.campaign = e.campaign AND b.cell = e.cell AND b.canonical = e.canonical AND b.family = e.family AND b.labels = e.labels AND b.le = e.le
LEFT JOIN (SELECT campaign, cell, canonical, family, labels, le, min(value) AS value FROM after GROUP BY ALL) a
    ON a.campaign = e.campaign AND a.cell = e.cell AND a.canonical = e.canonical AND a.family = e.family AND a.labels = e.labels AND a.le = e.le
ORDER BY h.campaign, h.cell, h.canonical, h.family, h.labels, e.le;
COMMENT ON VIEW histogram_deltas IS 'One row per counted attempt, canonical histogram, full label set and bucket edge: after minus before the cell.';
COMMENT ON COLUMN histogram_deltas.campaign IS 'Campaign.';
COMMENT ON COLUMN histogram_deltas.arm IS 'Arm.';
COMMENT ON COLUMN histogram_deltas.cell IS 'Cell.';
COMMENT ON COLUMN histogram_deltas.attempt IS 'Counted attempt.';
COMMENT ON COLUMN histogram_deltas.canonical IS 'Canonical name.';
COMMENT ON COLUMN histogram_deltas.series IS 'Name of the family as scraped, without _bucket, _sum and _count.';
COMMENT ON COLUMN histogram_deltas.labels IS 'Full label set without le, JSON with sorted keys.';
COMMENT ON COLUMN histogram_deltas.le IS 'Upper edge of the bucket, in the unit of the canonical name; Infinity for the last.';
COMMENT ON COLUMN histogram_deltas.before IS 'Observations up to the edge before the cell, cumulative.';
COMMENT ON COLUMN histogram_deltas.after IS 'Observations up to the edge after the cell, cumulative.';
COMMENT ON COLUMN histogram_deltas.delta IS 'Observations up to the edge during the cell, cumulative; null with a reason.';
COMMENT ON COLUMN histogram_deltas.total IS 'All observations during the cell: the delta of the count; null with a reason.';
COMMENT ON COLUMN histogram_deltas.reason IS 'Why there is no delta: no_baseline, torn_scrape, counter_reset or bucket_change, and the evidence; null when there is one.';
