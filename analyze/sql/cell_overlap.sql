-- One row per planned cell: how its requests really overlapped, and its aggregate
-- throughput: all completion tokens / (first t0 to last output of the cell). The
-- throughput is null, with the reason, unless the cell is eligible, every request
-- has usage, and the cell's times are not withheld.
CREATE OR REPLACE VIEW cell_overlap AS
WITH withheld AS (
    SELECT campaign, cell, string_agg(DISTINCT flag, ', ' ORDER BY flag) AS flags
    FROM metric_withholdings
    WHERE metric = 'throughput_tok_s'
    GROUP BY ALL
), noted AS (
    SELECT k.*, o.* EXCLUDE (campaign, arm, cell, attempt, concurrency, requests), coalesce(o.requests, 0) AS sent,
        CASE WHEN o.cell IS NULL THEN 'no request was sent'
            WHEN e.eligibility = 'excluded_warmup' THEN 'withheld: warm-up'
            WHEN e.eligibility <> 'eligible' THEN 'withheld: the cell is not eligible'
            WHEN w.flags IS NOT NULL THEN 'withheld: ' || w.flags
            WHEN o.completion_tokens IS NULL THEN 'unknown: a request has no usage'
            WHEN o.window_ns IS NULL OR o.window_ns <= 0 THEN 'unknown: no output'
            ELSE '' END AS note
    FROM counted_attempts k
    JOIN cell_eligibility e ON e.campaign = k.campaign AND e.cell = k.cell
    LEFT JOIN overlap_figures o ON o.campaign = k.campaign AND o.cell = k.cell
    LEFT JOIN withheld w ON w.campaign = k.campaign AND w.cell = k.cell
)
SELECT campaign, arm, cell, attempt, concurrency, sent AS requests,
    max_overlap, mean_overlap, full_share, window_ns, generating_overlap, completion_tokens,
    CASE WHEN note = '' THEN completion_tokens::DOUBLE * 1e9 / window_ns::DOUBLE END AS throughput_tok_s,
    note AS throughput_note
FROM noted
ORDER BY campaign, cell_order, cell;
COMMENT ON VIEW cell_overlap IS 'One row per planned cell: how its requests overlapped, exact, and its aggregate throughput.';
COMMENT ON COLUMN cell_overlap.campaign IS 'Campaign.';
COMMENT ON COLUMN cell_overlap.arm IS 'Arm.';
COMMENT ON COLUMN cell_overlap.cell IS 'Cell.';
COMMENT ON COLUMN cell_overlap.attempt IS 'Counted attempt; 0 when the cell was never started.';
COMMENT ON COLUMN cell_overlap.concurrency IS 'Requests kept in flight, as planned.';
COMMENT ON COLUMN cell_overlap.requests IS 'Requests sent.';
COMMENT ON COLUMN cell_overlap.max_overlap IS 'Most requests in flight at one instant, from the intervals [t0, end); null when none was sent.';
COMMENT ON COLUMN cell_overlap.mean_overlap IS 'Requests in flight, averaged over the time from first t0 to last end.';
COMMENT ON COLUMN cell_overlap.full_share IS 'Share of that time with at least the planned concurrency in flight, 0 to 1.';
COMMENT ON COLUMN cell_overlap.window_ns IS 'Window of the throughput: first t0 to last output, ns.';
COMMENT ON COLUMN cell_overlap.generating_overlap IS 'Measured concurrency k: most requests between their own first and last output at one instant.';
COMMENT ON COLUMN cell_overlap.completion_tokens IS 'Sum over all requests sent; null when one of them has no usage.';
COMMENT ON COLUMN cell_overlap.throughput_tok_s IS 'Aggregate completion throughput, tokens/s: completion_tokens / window_ns.';
COMMENT ON COLUMN cell_overlap.throughput_note IS 'Why there is no throughput; empty when there is one.';
