-- Attempts in short: how many cells needed more than one, and the largest drift and drain of any.
-- key: campaign
-- n: attempts
-- rows: requests
SELECT campaign, count(*) FILTER (WHERE attempt > 0) AS attempts,
    count(*) FILTER (WHERE attempt > 1) AS repeats,
    count(*) FILTER (WHERE attempt > 0 AND drain_verified) AS drains_verified,
    max(drain_before_ns) AS drain_before_max_ns, max(drain_after_ns) AS drain_after_max_ns,
    max(abs(clock_drift_ns)) AS clock_drift_max_ns
FROM attempts GROUP BY campaign ORDER BY campaign;
