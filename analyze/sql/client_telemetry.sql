-- One row per counted attempt that ran: what the client itself cost and how late it
-- was, so that a reader can see that it is not what was measured. Costs are
-- differences of the collector's own counters between the first and the last reading
-- of the attempt; a counter that falls belongs to another process, and then there is
-- no cost. A share of 1 is one core. The lag of a read is its distance to the kernel's
-- stamp; the p99 of each request is known, and no p99 over the cell's events exceeds
-- the largest of them.
CREATE OR REPLACE VIEW client_telemetry AS
WITH readings AS (
    SELECT campaign, cell, attempt,
        count(*) AS readings,
        arg_min(client_cpu_ns, at_ns) AS cpu_first, arg_max(client_cpu_ns, at_ns) AS cpu_last,
        arg_min(client_gc_pause_ns, at_ns) AS gc_first, arg_max(client_gc_pause_ns, at_ns) AS gc_last,
        min(at_ns) FILTER (client_cpu_ns IS NOT NULL) AS first_ns, max(at_ns) FILTER (client_cpu_ns IS NOT NULL) AS last_ns,
        max(client_rss_bytes) AS rss_max_bytes, max(client_goroutines) AS goroutines_max
    FROM host_samples
    GROUP BY ALL
), streams AS (
    SELECT campaign, cell, attempt,
        sum(events)::BIGINT AS events, sum(kernel_stamped_events)::BIGINT AS kernel_stamped,
        list(lag_p99_ns ORDER BY lag_p99_ns) FILTER (lag_p99_ns IS NOT NULL) AS lags
    FROM request_facts
    WHERE dispatched
    GROUP BY ALL
), dropped AS (
    SELECT campaign, cell, attempt,
        coalesce(sum(TRY_CAST(regexp_extract(detail, '(\d+)$', 1) AS BIGINT)) FILTER (source = 'pages'), 0)::BIGINT AS pages_dropped,
        coalesce(sum(TRY_CAST(regexp_extract(detail, '(\d+)$', 1) AS BIGINT)) FILTER (source = 'samples'), 0)::BIGINT AS samples_dropped
    FROM problems
    WHERE code = 'sample_skipped' AND stage = 'collect'
    GROUP BY ALL
)
SELECT k.campaign, k.arm, k.cell, k.attempt,
    coalesce(r.readings, 0) AS readings,
    CASE WHEN r.cpu_last >= r.cpu_first AND r.last_ns > r.first_ns THEN r.cpu_last - r.cpu_first END AS cpu_ns,
    CASE WHEN r.cpu_last >= r.cpu_first AND r.last_ns > r.first_ns THEN (r.cpu_last - r.cpu_first)::DOUBLE / (r.last_ns - r.first_ns)::DOUBLE END AS cpu_share,
    CASE WHEN r.gc_last >= r.gc_first AND r.last_ns > r.first_ns THEN r.gc_last - r.gc_first END AS gc_pause_ns,
    r.rss_max_bytes, r.goroutines_max,
    coalesce(q.events, 0) AS events, coalesce(q.kernel_stamped, 0) AS kernel_stamped_events,
    q.lags[(50 * len(q.lags) + 99) // 100] AS lag_p50_ns, q.lags[-1] AS lag_max_ns,
    coalesce(d.pages_dropped, 0) AS pages_dropped, coalesce(d.samples_dropped, 0) AS samples_dropped
FROM counted_attempts k
LEFT JOIN readings r ON r.campaign = k.campaign AND r.cell = k.cell AND r.attempt = k.attempt
LEFT JOIN streams q ON q.campaign = k.campaign AND q.cell = k.cell AND q.attempt = k.attempt
LEFT JOIN dropped d ON d.campaign = k.campaign AND d.cell = k.cell AND d.attempt = k.attempt
WHERE k.attempt > 0
ORDER BY k.campaign, k.cell_order, k.cell;
COMMENT ON VIEW client_telemetry IS 'One row per counted attempt that ran: what the client itself cost and how late it was.';
COMMENT ON COLUMN client_telemetry.campaign IS 'Campaign.';
COMMENT ON COLUMN client_telemetry.arm IS 'Arm.';
COMMENT ON COLUMN client_telemetry.cell IS 'Cell.';
COMMENT ON COLUMN client_telemetry.attempt IS 'Counted attempt.';
COMMENT ON COLUMN client_telemetry.readings IS 'Readings of the collector''s own process.';
COMMENT ON COLUMN client_telemetry.cpu_ns IS 'CPU time of the collector between its first and last reading, ns; null with fewer than two, or when its process changed.';
COMMENT ON COLUMN client_telemetry.cpu_share IS 'That CPU time / the time between these readings; 1 is one core.';
COMMENT ON COLUMN client_telemetry.gc_pause_ns IS 'Stop-the-world time of the collector between these readings, ns.';
COMMENT ON COLUMN client_telemetry.rss_max_bytes IS 'Largest resident memory of the collector that was read, bytes.';
COMMENT ON COLUMN client_telemetry.goroutines_max IS 'Most goroutines of the collector that were read.';
COMMENT ON COLUMN client_telemetry.events IS 'Server-sent events received.';
COMMENT ON COLUMN client_telemetry.kernel_stamped_events IS 'Of these, events whose time is the kernel''s receive stamp.';
COMMENT ON COLUMN client_telemetry.lag_p50_ns IS 'Median over the requests of the p99 of the reader''s lag behind the kernel, ns; null without stamps.';
COMMENT ON COLUMN client_telemetry.lag_max_ns IS 'Largest of these, ns.';
COMMENT ON COLUMN client_telemetry.pages_dropped IS 'Scrapes that were due while the one before was still under way, and were left out.';
COMMENT ON COLUMN client_telemetry.samples_dropped IS 'GPU, cgroup and host readings left out for the same reason.';
