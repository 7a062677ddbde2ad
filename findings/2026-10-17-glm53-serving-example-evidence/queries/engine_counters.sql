-- Engine counters over each cell, after minus before.
-- key: cell, canonical, series, labels
-- rows: requests where counted and dispatched
SELECT d.arm, d.cell, d.canonical, d.series, d.labels, d.unit, d.before, d.after, d.delta, d.reason
FROM counter_deltas d JOIN attempts a USING (campaign, arm, cell, attempt)
WHERE a.counted ORDER BY d.arm, d.cell, d.canonical, d.series, d.labels;
