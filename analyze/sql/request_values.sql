-- One row per request of every attempt: the metrics of measurement.md section 5,
-- before anything is withheld, and the flags that a single request decides.
-- A duration below 0 or above the cell's outer bound is impossible; then no time
-- of the request is used.
CREATE OR REPLACE VIEW request_values AS
WITH timed AS (
    SELECT f.*, c.workload, c.context_tokens, c.concurrency, c.excluded_warmup,
        coalesce(a.counted, false) AND a.attempt = k.attempt AS counted,
        coalesce(least(f.ttfo_ns, f.ttft_ns, f.ttft_nonblank_ns, f.last_output_ns, f.done_ns, f.end_ns, f.gap_min_ns) < 0
            OR greatest(f.ttfo_ns, f.ttft_ns, f.ttft_nonblank_ns, f.last_output_ns, f.done_ns, f.gap_max_ns) > c.outer_timeout_s * 1000000000,
            false) AS impossible_time
    FROM request_facts f
    JOIN cells c ON c.campaign = f.campaign AND c.cell = f.cell
    JOIN counted_attempts k ON k.campaign = f.campaign AND k.cell = f.cell
    LEFT JOIN attempts a ON a.campaign = f.campaign AND a.cell = f.cell AND a.attempt = f.attempt
), windowed AS (
    SELECT *,
        CASE WHEN completion_tokens >= 2 AND output_events >= 2 AND last_output_ns > ttfo_ns AND NOT impossible_time
            THEN last_output_ns - ttfo_ns END AS decode_ns
    FROM timed
)
SELECT campaign, arm, cell, attempt, request_index, counted,
    workload, context_tokens, concurrency, excluded_warmup, dispatched,
    CASE WHEN NOT impossible_time THEN ttfo_ns END AS ttfo_ns,
    CASE WHEN NOT impossible_time THEN ttft_ns END AS ttft_ns,
    CASE WHEN NOT impossible_time THEN ttft_nonblank_ns END AS ttft_nonblank_ns,
    CASE WHEN NOT impossible_time THEN done_ns END AS e2e_ns,
    decode_ns::DOUBLE / (completion_tokens - 1)::DOUBLE AS tpot_ns,
    (completion_tokens - 1)::DOUBLE * 1e9 / decode_ns::DOUBLE AS decode_tok_s,
    CASE WHEN ttfo_ns > 0 AND NOT impossible_time
        THEN prompt_tokens::DOUBLE * 1e9 / ttfo_ns::DOUBLE END AS effective_prefill_tok_s,
    CASE WHEN gaps > 0 AND NOT impossible_time THEN gap_p50_ns END AS gap_p50_ns,
    CASE WHEN output_events > 0 THEN completion_tokens::DOUBLE / output_events::DOUBLE END AS tokens_per_chunk,
    prompt_tokens, completion_tokens, reasoning_tokens,
    CASE WHEN prompt_tokens > 0 THEN cached_tokens::DOUBLE / prompt_tokens::DOUBLE END AS cached_share,
    t0_ns AS start_ns, t0_unix_ns AS start_unix_ns,
    CASE WHEN end_ns >= 0 THEN t0_ns + end_ns END AS end_ns,
    CASE WHEN NOT impossible_time THEN t0_ns + ttfo_ns END AS first_output_ns,
    CASE WHEN NOT impossible_time THEN t0_ns + last_output_ns END AS last_output_ns,
    output_events, output_read_stamped, lag_p99_ns, http_version,
    coalesce(completion_tokens >= 32 AND short_gaps * 2 > output_events, false) AS burst_delivery,
    coalesce(prompt_tokens > 0 AND cached_tokens * 100 > prompt_tokens, false) AS cache_assisted,
    cached_tokens IS NOT NULL AS cache_reported,
    impossible_time
FROM windowed
ORDER BY campaign, cell, attempt, request_index;
COMMENT ON VIEW request_values IS 'One row per request of every attempt: its metrics as defined, before anything is withheld, and the flags one request decides.';
COMMENT ON COLUMN request_values.campaign IS 'Campaign.';
COMMENT ON COLUMN request_values.arm IS 'Arm.';
COMMENT ON COLUMN request_values.cell IS 'Cell.';
COMMENT ON COLUMN request_values.attempt IS 'Attempt; 0 for requests of a cell that was never started.';
COMMENT ON COLUMN request_values.request_index IS 'Position of the request in its cell, from 0.';
COMMENT ON COLUMN request_values.counted IS 'The attempt stands for its cell.';
COMMENT ON COLUMN request_values.workload IS 'warmup, natural, controlled or capacity-edge.';
COMMENT ON COLUMN request_values.context_tokens IS 'Nominal context label; a target, not a token count.';
COMMENT ON COLUMN request_values.concurrency IS 'Requests kept in flight, as planned.';
COMMENT ON COLUMN request_values.excluded_warmup IS 'Warm-up: listed, never part of a statistic.';
COMMENT ON COLUMN request_values.dispatched IS 'The request was sent.';
COMMENT ON COLUMN request_values.ttfo_ns IS 'First output, reasoning or visible, ns after t0.';
COMMENT ON COLUMN request_values.ttft_ns IS 'First non-empty visible content, ns after t0.';
COMMENT ON COLUMN request_values.ttft_nonblank_ns IS 'First visible content with a character that is not white space, ns after t0.';
COMMENT ON COLUMN request_values.e2e_ns IS 'The [DONE] event, ns after t0.';
COMMENT ON COLUMN request_values.tpot_ns IS 'Per-request proxy for the time of one output token, ns: (last output - first output) / (completion tokens - 1).';
COMMENT ON COLUMN request_values.decode_tok_s IS 'Reasoning and visible tokens together, tokens/s: (completion tokens - 1) / (last output - first output).';
COMMENT ON COLUMN request_values.effective_prefill_tok_s IS 'Prompt tokens / first output, tokens/s; includes the queue, and is not the speed of a prefill kernel.';
COMMENT ON COLUMN request_values.gap_p50_ns IS 'Nearest-rank median gap between consecutive output events, ns; null with fewer than two.';
COMMENT ON COLUMN request_values.tokens_per_chunk IS 'Completion tokens / output events.';
COMMENT ON COLUMN request_values.prompt_tokens IS 'Prompt tokens from usage.';
COMMENT ON COLUMN request_values.completion_tokens IS 'Completion tokens from usage, reasoning included.';
COMMENT ON COLUMN request_values.reasoning_tokens IS 'Reasoning tokens from usage.';
COMMENT ON COLUMN request_values.cached_share IS 'Cached prompt tokens / prompt tokens, 0 to 1; null when the engine does not say.';
COMMENT ON COLUMN request_values.start_ns IS 't0, ns since the run''s clock anchor.';
COMMENT ON COLUMN request_values.start_unix_ns IS 'Wall clock at t0, ns since 1970 UTC.';
COMMENT ON COLUMN request_values.end_ns IS 'Exchange over, ns since the run''s clock anchor.';
COMMENT ON COLUMN request_values.first_output_ns IS 'First output, ns since the run''s clock anchor.';
COMMENT ON COLUMN request_values.last_output_ns IS 'Last output, ns since the run''s clock anchor.';
COMMENT ON COLUMN request_values.output_events IS 'Events that carry output.';
COMMENT ON COLUMN request_values.output_read_stamped IS 'Output events whose time is the read stamp, not the kernel''s.';
COMMENT ON COLUMN request_values.lag_p99_ns IS 'Nearest-rank p99 of the reader''s lag behind the kernel over the request''s events, ns; the client''s own error bar.';
COMMENT ON COLUMN request_values.http_version IS 'HTTP version of the answer.';
COMMENT ON COLUMN request_values.burst_delivery IS '32 or more completion tokens, and more than half of the output events came in the same read as, or less than 1 ms after, the one before.';
COMMENT ON COLUMN request_values.cache_assisted IS 'More than 1 % of the prompt tokens came from a cache.';
COMMENT ON COLUMN request_values.cache_reported IS 'The engine says how many prompt tokens came from a cache.';
COMMENT ON COLUMN request_values.impossible_time IS 'A duration is negative or longer than the cell''s outer bound; none of the request''s times is used.';
