-- What the client itself cost and how late it was, each arm: sums and the worst of its counted attempts.
-- key: arm
-- n: attempts
-- rows: readings where source = 'host'
SELECT arm, count(*) AS attempts, sum(readings)::BIGINT AS readings, max(cpu_share) AS cpu_share, sum(gc_pause_ns)::BIGINT AS gc_pause_ns,
    max(rss_max_bytes) AS rss_max_bytes, max(goroutines_max) AS goroutines_max, max(lag_max_ns) AS lag_max_ns,
    sum(pages_dropped)::BIGINT AS pages_dropped, sum(samples_dropped)::BIGINT AS samples_dropped
FROM client_telemetry GROUP BY arm ORDER BY arm;
