-- Engine histograms over each cell, after minus before: mean, and quantiles as bucket intervals.
-- key: cell, canonical, place
-- n: n
-- rows: requests where counted and dispatched
SELECT s.arm, s.cell, row_number() OVER (PARTITION BY s.cell, s.canonical ORDER BY s.series, s.labels) AS place, s.canonical, s.series, s.labels, s.unit, s.n, s.sum, s.mean, s.tokens_per_observation, s.p50_low, s.p50_high, s.p95_low, s.p95_high, s.reason
FROM histogram_summary s JOIN attempts a USING (campaign, arm, cell, attempt)
WHERE a.counted ORDER BY s.arm, s.cell, s.canonical, s.series, s.labels;
