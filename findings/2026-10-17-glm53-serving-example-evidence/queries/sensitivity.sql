-- Requests that pass every rule in cells that are not eligible: k of n, outside every main table.
-- key: cell, metric
-- n: n
-- rows: metric_requests where population = 'passing_only'
SELECT d.arm, d.cell, d.metric, d.unit, d.n, d.min, d.p50, d.p95, d.max, e.planned, e.passing, d.note
FROM cell_distributions d JOIN cell_eligibility e USING (campaign, arm, cell)
WHERE d.population = 'passing_only' AND e.eligibility = 'ineligible'
ORDER BY d.arm, d.cell, d.metric;
