-- One row per planned cell: its plan and the attempt that stands for it.
-- The counted attempt is the first complete one, else the last; ingest marks it.
-- A cell without any attempt has attempt 0 and run_state not_run.
CREATE OR REPLACE VIEW counted_attempts AS
WITH marked AS (
    SELECT *, row_number() OVER (PARTITION BY campaign, cell ORDER BY attempt) AS place
    FROM attempts
    WHERE counted
)
SELECT c.campaign, c.arm, c.cell, c.cell_order,
    coalesce(a.attempt, 0) AS attempt,
    coalesce(a.run_state, 'not_run') AS run_state,
    c.workload, c.context_tokens, c.concurrency, c.requests, c.seed, c.excluded_warmup,
    c.outer_timeout_s, c.response_words, c.output_policy, c.request_canaries,
    a.clock_drift_ns
FROM cells c
LEFT JOIN marked a ON a.campaign = c.campaign AND a.cell = c.cell AND a.place = 1
ORDER BY c.campaign, c.cell_order, c.cell;
COMMENT ON VIEW counted_attempts IS 'One row per planned cell: its plan and the attempt that stands for it, the first complete one, else the last.';
COMMENT ON COLUMN counted_attempts.campaign IS 'Campaign.';
COMMENT ON COLUMN counted_attempts.arm IS 'Arm.';
COMMENT ON COLUMN counted_attempts.cell IS 'Cell.';
COMMENT ON COLUMN counted_attempts.cell_order IS 'Position in the plan''s matrix, from 0.';
COMMENT ON COLUMN counted_attempts.attempt IS 'Counted attempt; 0 when the cell was never started.';
COMMENT ON COLUMN counted_attempts.run_state IS 'complete, partial, outer_timeout, blocked_by_stop, not_run_deadline or not_run.';
COMMENT ON COLUMN counted_attempts.workload IS 'warmup, natural, controlled or capacity-edge.';
COMMENT ON COLUMN counted_attempts.context_tokens IS 'Nominal context label; a target, not a token count.';
COMMENT ON COLUMN counted_attempts.concurrency IS 'Requests kept in flight, as planned.';
COMMENT ON COLUMN counted_attempts.requests IS 'Planned requests.';
COMMENT ON COLUMN counted_attempts.seed IS 'Seed of the workload.';
COMMENT ON COLUMN counted_attempts.excluded_warmup IS 'Warm-up: listed, never part of a statistic.';
COMMENT ON COLUMN counted_attempts.outer_timeout_s IS 'Bound of the whole cell, seconds.';
COMMENT ON COLUMN counted_attempts.response_words IS 'Controlled output: how often the word is asked for; 0 for natural output.';
COMMENT ON COLUMN counted_attempts.output_policy IS 'strict: controlled output must be exact; observe: it is only recorded.';
COMMENT ON COLUMN counted_attempts.request_canaries IS 'Each request asks for its own marker first.';
COMMENT ON COLUMN counted_attempts.clock_drift_ns IS 'Wall clock minus monotonic clock over the attempt, ns; null when it never ran.';
