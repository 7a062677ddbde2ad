-- Distribution of each request metric in each eligible cell; nearest rank, warm-ups excluded.
-- key: cell, metric
-- n: n
-- rows: metric_requests where population = 'eligible'
SELECT d.arm, d.cell, d.metric, d.unit, d.n, d.min, d.p50, d.p95, d.max, d.p50_low, d.p50_high, d.note
FROM cell_distributions d WHERE d.population = 'eligible'
ORDER BY d.arm, d.cell, d.metric;
