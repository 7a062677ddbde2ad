-- The client's own error bar: how events were stamped, and the reader's lag behind the kernel.
-- key: arm
-- n: requests
-- rows: requests where counted and dispatched
SELECT f.arm, count(*) AS requests, sum(f.events)::BIGINT AS events, sum(f.kernel_stamped_events)::BIGINT AS kernel_stamped,
    sum(f.raised_stamps)::BIGINT AS raised, quantile_disc(f.lag_p99_ns, 0.5) AS lag_p50_ns, max(f.lag_p99_ns) AS lag_max_ns,
    sum(f.gaps)::BIGINT AS gaps, sum(f.same_read_gaps)::BIGINT AS same_read_gaps, min(f.reasoning_field) AS reasoning_field,
    min(f.http_version) AS http_version
FROM request_facts f JOIN attempts a USING (campaign, arm, cell, attempt)
WHERE a.counted AND f.dispatched GROUP BY f.arm ORDER BY f.arm;
