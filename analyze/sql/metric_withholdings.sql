-- One row per counted attempt, flag and withheld metric (measurement.md section 9),
-- for one request or, with a null request_index, for the whole cell. A null metric
-- is a note: nothing is withheld.
--   burst_delivery, cache_assisted, impossible_time   see request_withholdings
--   cache_assisted   of a whole cell: the usage of a request does not say how many
--                    of its prompt tokens were cached, and by the engine's own
--                    counters more than 1 % of those of the cell were
--   foreign_traffic  the engine finished more requests than the client sent; or,
--                    when every request has usage and the engine preempted none,
--                    its token deltas exceed the client's. When the tokens cannot
--                    be checked, token_attribution is withheld and says why
--   clock_step       the wall clock moved against the monotonic one by more than
--                    50 ms over the cell: noted; by more than 1 s: every time
--   client_slow      more than 1 % of the output events have the read stamp, and
--                    the reader's lag exceeds 5 % of the cell's median tpot or
--                    20 ms. The lag is the largest p99 of a request, which no p99
--                    over the cell's events exceeds
--   overlap_short    measured concurrency below the planned one
--   warm_overlap     a warm-up's [t0, end) intersects that of one of the cell's
--                    requests, on the run's clock and on the wall clock: a resumed
--                    run may count from a new anchor
--   clocks_differ    median SM clock of the two cells of a pair differs by more
--                    than 5 % of the baseline's: noted
CREATE OR REPLACE VIEW metric_withholdings AS
WITH times(metric) AS (VALUES
    ('ttfo_ns'), ('ttft_ns'), ('ttft_nonblank_ns'), ('e2e_ns'), ('tpot_ns'), ('decode_tok_s'),
    ('effective_prefill_tok_s'), ('gap_p50_ns'), ('throughput_tok_s')
), totals AS (
    SELECT k.campaign, k.cell, k.attempt,
        count(*) FILTER (v.dispatched) AS dispatched,
        count(*) FILTER (v.dispatched AND (v.prompt_tokens IS NULL OR v.completion_tokens IS NULL)) AS without_usage,
        count(*) FILTER (v.dispatched AND NOT v.cache_reported) AS without_cached,
        coalesce(sum(v.prompt_tokens), 0)::BIGINT AS prompt_tokens,
        coalesce(sum(v.completion_tokens), 0)::BIGINT AS completion_tokens,
        sum(v.output_events)::BIGINT AS output_events,
        sum(v.output_read_stamped)::BIGINT AS output_read_stamped,
        max(v.lag_p99_ns) AS lag_ns,
        list(v.tpot_ns ORDER BY v.tpot_ns) FILTER (v.tpot_ns IS NOT NULL) AS tpots
    FROM counted_attempts k
    JOIN request_values v ON v.campaign = k.campaign AND v.cell = k.cell AND v.attempt = k.attempt
    GROUP BY ALL
    HAVING count(*) FILTER (v.dispatched) > 0
), counters AS (
    SELECT campaign, cell,
        (sum(delta ORDER BY series, labels) FILTER (canonical = 'requests_finished'))::BIGINT AS finished,
        (sum(delta ORDER BY series, labels) FILTER (canonical = 'prompt_tokens'))::BIGINT AS prompt_tokens,
        (sum(delta ORDER BY series, labels) FILTER (canonical = 'prompt_tokens_cached'))::BIGINT AS cached_tokens,
        (sum(delta ORDER BY series, labels) FILTER (canonical = 'prompt_tokens_computed'))::BIGINT AS computed_tokens,
        (sum(delta ORDER BY series, labels) FILTER (canonical = 'generation_tokens'))::BIGINT AS generation_tokens,
        (sum(delta ORDER BY series, labels) FILTER (canonical = 'preemptions'))::BIGINT AS preemptions,
        count(*) FILTER (canonical = 'preemptions' AND delta IS NULL) > 0 AS preemptions_unknown
    FROM counter_deltas
    GROUP BY ALL
), traffic AS (
    SELECT t.*, c.finished, c.prompt_tokens AS engine_prompt, c.generation_tokens AS engine_generation, c.preemptions,
        CASE WHEN t.without_usage > 0 THEN format('{} of {} requests have no usage', t.without_usage, t.dispatched)
            WHEN c.preemptions IS NULL OR c.preemptions_unknown THEN 'the engine does not say whether it preempted'
            WHEN c.preemptions > 0 THEN format('{} preemptions: tokens were computed again', c.preemptions)
            WHEN c.prompt_tokens IS NULL OR c.generation_tokens IS NULL THEN 'the engine''s token counters are not known'
        END AS not_evaluable
    FROM totals t
    LEFT JOIN counters c ON c.campaign = t.campaign AND c.cell = t.cell
), foreign_requests AS (
    SELECT campaign, cell, 'engine_means' AS metric,
        format('the engine finished {} requests, the client sent {}', finished, dispatched) AS reason
    FROM traffic WHERE finished > dispatched
), foreign_tokens AS (
    SELECT campaign, cell, 'engine_means' AS metric,
        format('the engine counted {} prompt and {} generated tokens, the client {} and {}',
            engine_prompt, engine_generation, prompt_tokens, completion_tokens) AS reason
    FROM traffic
    WHERE not_evaluable IS NULL AND coalesce(finished <= dispatched, true)
        AND (engine_prompt > prompt_tokens OR engine_generation > completion_tokens)
), cached AS (
    SELECT t.campaign, t.cell, 'effective_prefill_tok_s' AS metric,
        format('the engine took {} of {} prompt tokens from a cache; kept out of comparisons',
            c.cached_tokens, coalesce(c.prompt_tokens, c.cached_tokens + c.computed_tokens)) AS reason
    FROM totals t
    JOIN counters c ON c.campaign = t.campaign AND c.cell = t.cell
    WHERE t.without_cached > 0
        AND c.cached_tokens * 100 > coalesce(c.prompt_tokens, c.cached_tokens + c.computed_tokens)
), unattributed AS (
    SELECT campaign, cell, 'token_attribution' AS metric, 'not_evaluable: ' || not_evaluable AS reason
    FROM traffic WHERE not_evaluable IS NOT NULL
), steps AS (
    SELECT k.campaign, k.cell, m.metric,
        format('the wall clock moved by {} ms against the monotonic clock', k.clock_drift_ns // 1000000) AS reason
    FROM counted_attempts k
    JOIN (FROM times UNION ALL SELECT NULL) m ON (m.metric IS NULL) = (abs(k.clock_drift_ns) <= 1000000000)
    WHERE abs(k.clock_drift_ns) > 50000000
), lags AS (
    SELECT campaign, cell, lag_ns, tpots[(50 * len(tpots) + 99) // 100] AS tpot_ns
    FROM totals
    WHERE output_read_stamped * 100 > output_events
), slow AS (
    SELECT campaign, cell, 'gap_p50_ns' AS metric,
        format('the reader lagged by {} us (p99)', lag_ns // 1000) AS reason
    FROM lags WHERE lag_ns > 20000000 OR lag_ns * 20 > tpot_ns
    UNION ALL
    SELECT campaign, cell, NULL, 'not_evaluable: no event has the kernel''s stamp, so the reader''s lag is unknown'
    FROM lags WHERE lag_ns IS NULL
), short AS (
    SELECT campaign, cell, 'concurrency' AS metric,
        format('requested {}, observed {}', concurrency, generating_overlap) AS reason
    FROM overlap_figures WHERE generating_overlap < concurrency
), warm AS (
    SELECT campaign, cell, start_ns, end_ns, start_unix_ns FROM request_values
    WHERE excluded_warmup AND dispatched AND end_ns IS NOT NULL
), warmed AS (
    SELECT DISTINCT k.campaign, k.cell, w.cell AS warm_cell
    FROM counted_attempts k
    JOIN request_values v ON v.campaign = k.campaign AND v.cell = k.cell AND v.attempt = k.attempt
    JOIN warm w ON w.campaign = v.campaign AND w.start_ns < v.end_ns AND v.start_ns < w.end_ns
    WHERE NOT k.excluded_warmup AND v.dispatched
        AND coalesce(w.start_unix_ns < v.start_unix_ns + (v.end_ns - v.start_ns)
            AND v.start_unix_ns < w.start_unix_ns + (w.end_ns - w.start_ns), true)
), warm_overlaps AS (
    SELECT w.campaign, w.cell, t.metric, 'requests of the warm-up ' || min(w.warm_cell) || ' were still running' AS reason
    FROM warmed w CROSS JOIN times t
    GROUP BY ALL
), sm_clocks AS (
    SELECT k.campaign, k.cell, list(g.sm_clock_mhz ORDER BY g.sm_clock_mhz) AS clocks
    FROM counted_attempts k
    JOIN gpu_samples g ON g.campaign = k.campaign AND g.cell = k.cell AND g.attempt = k.attempt
    WHERE g.phase = 'during' AND g.status = 'ok' AND g.sm_clock_mhz IS NOT NULL
    GROUP BY ALL
), clock_medians AS (
    SELECT campaign, cell, clocks[(50 * len(clocks) + 99) // 100] AS mhz FROM sm_clocks
), clock_pairs AS (
    SELECT p.campaign, p.pair_order, p.baseline_cell, p.candidate_cell,
        format('median SM clock {} MHz ({}) and {} MHz ({})', b.mhz, p.baseline_arm, c.mhz, p.candidate_arm) AS reason
    FROM cell_pairs p
    JOIN clock_medians b ON b.campaign = p.campaign AND b.cell = p.baseline_cell
    JOIN clock_medians c ON c.campaign = p.campaign AND c.cell = p.candidate_cell
    WHERE abs(c.mhz - b.mhz) * 100 > 5 * b.mhz
), clocks AS (
    SELECT campaign, unnest([baseline_cell, candidate_cell]) AS cell, NULL::VARCHAR AS metric, reason FROM clock_pairs
), cell_wide AS (
    SELECT 'foreign_traffic' AS flag, * FROM foreign_requests
    UNION ALL SELECT 'foreign_traffic', * FROM foreign_tokens
    UNION ALL SELECT 'foreign_traffic', * FROM unattributed
    UNION ALL SELECT 'cache_assisted', * FROM cached
    UNION ALL SELECT 'clock_step', * FROM steps
    UNION ALL SELECT 'client_slow', * FROM slow
    UNION ALL SELECT 'overlap_short', * FROM short
    UNION ALL SELECT 'warm_overlap', * FROM warm_overlaps
    UNION ALL SELECT DISTINCT 'clocks_differ', * FROM clocks
), everything AS (
    SELECT w.campaign, k.arm, w.cell, k.attempt, NULL::BIGINT AS request_index, w.flag, w.metric, w.reason, k.cell_order
    FROM cell_wide w
    JOIN counted_attempts k ON k.campaign = w.campaign AND k.cell = w.cell
    UNION ALL
    SELECT r.campaign, r.arm, r.cell, r.attempt, r.request_index, r.flag, r.metric, r.reason, k.cell_order
    FROM request_withholdings r
    JOIN counted_attempts k ON k.campaign = r.campaign AND k.cell = r.cell
    WHERE r.counted
)
SELECT * EXCLUDE (cell_order) FROM everything
ORDER BY campaign, cell_order, cell, request_index NULLS FIRST, flag, metric NULLS FIRST, reason;
COMMENT ON VIEW metric_withholdings IS 'One row per counted attempt, flag and withheld metric: which number may not be published, and why.';
COMMENT ON COLUMN metric_withholdings.campaign IS 'Campaign.';
COMMENT ON COLUMN metric_withholdings.arm IS 'Arm.';
COMMENT ON COLUMN metric_withholdings.cell IS 'Cell.';
COMMENT ON COLUMN metric_withholdings.attempt IS 'Counted attempt.';
COMMENT ON COLUMN metric_withholdings.request_index IS 'Request; null when the whole cell is concerned.';
COMMENT ON COLUMN metric_withholdings.flag IS 'burst_delivery, cache_assisted, impossible_time, foreign_traffic, clock_step, client_slow, overlap_short, warm_overlap or clocks_differ.';
COMMENT ON COLUMN metric_withholdings.metric IS 'What is withheld: a column of request_metrics or cell_overlap, engine_means, token_attribution, or concurrency (the words "at concurrency C"); null for a note that withholds nothing. cache_assisted withholds from comparisons only.';
COMMENT ON COLUMN metric_withholdings.reason IS 'Evidence in one sentence.';
