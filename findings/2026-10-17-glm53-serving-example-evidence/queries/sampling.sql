-- Real sampling intervals of each source, each arm: the widest range over its cells.
-- key: arm, source
-- n: samples
-- rows: readings
SELECT s.arm, s.source, sum(s.samples)::BIGINT AS samples, sum(s.during)::BIGINT AS during, 
    sum(s.good)::BIGINT AS good, sum(s.expected)::BIGINT AS expected, sum(s.gaps)::BIGINT AS gaps,
    sum(s.errors)::BIGINT AS errors, min(s.min_ns) AS min_ns, quantile_disc(s.p50_ns, 0.5) AS p50_ns, max(s.max_ns) AS max_ns
FROM sampling_intervals s JOIN attempts a USING (campaign, arm, cell, attempt)
WHERE a.counted AND a.attempt > 0 GROUP BY s.arm, s.source ORDER BY s.arm, s.source;
