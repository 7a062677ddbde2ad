-- One row per counted attempt that sent a request: how its requests overlapped, in
-- exact integer ns. A request lasts [t0, end): at one instant an end comes before a
-- start. Between its own first and last output a request generates; both instants
-- belong to it, so there a start comes before an end. With an impossible time in the
-- cell the figures that need outputs are unknown.
CREATE OR REPLACE VIEW overlap_figures AS
WITH requests AS (
    SELECT k.campaign, k.arm, k.cell, k.attempt, k.concurrency, v.*
        EXCLUDE (campaign, arm, cell, attempt, concurrency, counted, workload, context_tokens, excluded_warmup)
    FROM counted_attempts k
    JOIN request_values v ON v.campaign = k.campaign AND v.cell = k.cell AND v.attempt = k.attempt
    WHERE v.dispatched
), edges AS (
    SELECT campaign, cell, concurrency, start_ns AS at_ns, 1 AS step FROM requests WHERE end_ns > start_ns
    UNION ALL
    SELECT campaign, cell, concurrency, end_ns, -1 FROM requests WHERE end_ns > start_ns
), levels AS (
    SELECT campaign, cell, concurrency, at_ns,
        sum(step) OVER sweep AS level,
        lead(at_ns) OVER sweep - at_ns AS held_ns
    FROM edges
    WINDOW sweep AS (PARTITION BY campaign, cell ORDER BY at_ns, step ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
), in_flight AS (
    SELECT campaign, cell,
        max(level)::BIGINT AS max_overlap,
        max(at_ns) - min(at_ns) AS span_ns,
        sum(level * held_ns)::HUGEINT AS request_ns,
        coalesce(sum(held_ns) FILTER (level >= concurrency), 0)::HUGEINT AS full_ns
    FROM levels
    GROUP BY ALL
), output_edges AS (
    SELECT campaign, cell, first_output_ns AS at_ns, 1 AS step FROM requests WHERE last_output_ns >= first_output_ns
    UNION ALL
    SELECT campaign, cell, last_output_ns, -1 FROM requests WHERE last_output_ns >= first_output_ns
), output_levels AS (
    SELECT campaign, cell, sum(step) OVER (PARTITION BY campaign, cell ORDER BY at_ns, step DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS level
    FROM output_edges
), generating AS (
    SELECT campaign, cell, max(level)::BIGINT AS generating_overlap FROM output_levels GROUP BY ALL
), windows AS (
    SELECT campaign, arm, cell, attempt, concurrency,
        count(*) AS requests,
        bool_or(impossible_time) AS impossible_time,
        max(last_output_ns) - min(start_ns) AS window_ns,
        CASE WHEN count(completion_tokens) = count(*) THEN sum(completion_tokens)::BIGINT END AS completion_tokens
    FROM requests
    GROUP BY ALL
)
SELECT w.campaign, w.arm, w.cell, w.attempt, w.concurrency, w.requests,
    o.max_overlap, o.span_ns,
    o.request_ns::DOUBLE / o.span_ns::DOUBLE AS mean_overlap,
    o.full_ns::DOUBLE / o.span_ns::DOUBLE AS full_share,
    CASE WHEN NOT w.impossible_time THEN w.window_ns END AS window_ns,
    CASE WHEN NOT w.impossible_time THEN coalesce(g.generating_overlap, 0) END AS generating_overlap,
    w.completion_tokens
FROM windows w
LEFT JOIN in_flight o ON o.campaign = w.campaign AND o.cell = w.cell
LEFT JOIN generating g ON g.campaign = w.campaign AND g.cell = w.cell
ORDER BY w.campaign, w.cell;
COMMENT ON VIEW overlap_figures IS 'One row per counted attempt that sent a request: how its requests overlapped, exact.';
COMMENT ON COLUMN overlap_figures.campaign IS 'Campaign.';
COMMENT ON COLUMN overlap_figures.arm IS 'Arm.';
COMMENT ON COLUMN overlap_figures.cell IS 'Cell.';
COMMENT ON COLUMN overlap_figures.attempt IS 'Counted attempt.';
COMMENT ON COLUMN overlap_figures.concurrency IS 'Requests kept in flight, as planned.';
COMMENT ON COLUMN overlap_figures.requests IS 'Requests sent.';
COMMENT ON COLUMN overlap_figures.max_overlap IS 'Most requests in flight at one instant.';
COMMENT ON COLUMN overlap_figures.span_ns IS 'First t0 to last end, ns.';
COMMENT ON COLUMN overlap_figures.mean_overlap IS 'Requests in flight, averaged over span_ns.';
COMMENT ON COLUMN overlap_figures.full_share IS 'Share of span_ns with at least the planned concurrency in flight, 0 to 1.';
COMMENT ON COLUMN overlap_figures.window_ns IS 'Window of the throughput: first t0 to last output, ns; null with an impossible time.';
COMMENT ON COLUMN overlap_figures.generating_overlap IS 'Measured concurrency k: most requests between their own first and last output at one instant; null with an impossible time.';
COMMENT ON COLUMN overlap_figures.completion_tokens IS 'Sum over all requests sent; null when one of them has no usage.';
