-- Engine histogram deltas of each arm by bucket: requests at or below each edge, summed over the counted attempts that have a delta.
-- key: arm, canonical, le
-- n: total
-- rows: requests where counted and dispatched
SELECT d.arm, d.canonical, d.le, sum(d.delta::BIGINT)::BIGINT AS at_or_below, sum(d.total::BIGINT)::BIGINT AS total
FROM histogram_deltas d JOIN attempts a USING (campaign, arm, cell, attempt)
WHERE a.counted AND d.le IS NOT NULL AND d.delta IS NOT NULL
GROUP BY d.arm, d.canonical, d.le ORDER BY d.arm, d.canonical, d.le;
