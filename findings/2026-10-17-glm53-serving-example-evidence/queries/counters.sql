-- Engine counters of each arm: the sum of the deltas of its counted attempts, and how many had none.
-- key: arm, canonical, labels
-- n: deltas
-- rows: requests where counted and dispatched
SELECT d.arm, d.canonical, d.labels, min(d.unit) AS unit,
    sum(d.delta ORDER BY d.cell, d.attempt, d.series) AS delta, count(d.delta) AS deltas, count(*) - count(d.delta) AS without,
    min(d.reason) AS reason
FROM counter_deltas d JOIN attempts a USING (campaign, arm, cell, attempt)
WHERE a.counted GROUP BY d.arm, d.canonical, d.labels ORDER BY d.arm, d.canonical, d.labels;
