-- One row per request of every attempt: the metrics of measurement.md section 5. A
-- metric is null when its definition says so, and when it is withheld (section 9);
-- withheld then names it and the flag. request_values has the figures before
-- anything is withheld.
CREATE OR REPLACE VIEW request_metrics AS
WITH marks AS (
    SELECT campaign, cell, attempt, request_index, metric, flag FROM request_withholdings
    WHERE metric <> 'throughput_tok_s'
    UNION
    SELECT w.campaign, w.cell, w.attempt, v.request_index, w.metric, w.flag
    FROM metric_withholdings w
    JOIN request_values v ON v.campaign = w.campaign AND v.cell = w.cell AND v.attempt = w.attempt
    WHERE w.request_index IS NULL AND w.metric IN ('ttfo_ns', 'ttft_ns', 'ttft_nonblank_ns', 'e2e_ns', 'tpot_ns', 'decode_tok_s', 'effective_prefill_tok_s', 'gap_p50_ns')
), marked AS (
    SELECT campaign, cell, attempt, request_index,
        list(metric || ': ' || flag ORDER BY metric, flag) AS withheld,
        coalesce(list(metric) FILTER (flag <> 'cache_assisted'), []) AS hidden
    FROM marks
    GROUP BY ALL
), joined AS (
    SELECT v.*, coalesce(m.withheld, []) AS withheld, coalesce(m.hidden, []) AS hidden
    FROM request_values v
    LEFT JOIN marked m ON m.campaign = v.campaign AND m.cell = v.cell AND m.attempt = v.attempt AND m.request_index = v.request_index
)
SELECT campaign, arm, cell, attempt, request_index, counted, workload, context_tokens, concurrency, excluded_warmup,
    CASE WHEN NOT list_contains(hidden, 'ttfo_ns') THEN ttfo_ns END AS ttfo_ns,
    CASE WHEN NOT list_contains(hidden, 'ttft_ns') THEN ttft_ns END AS ttft_ns,
    CASE WHEN NOT list_contains(hidden, 'ttft_nonblank_ns') THEN ttft_nonblank_ns END AS ttft_nonblank_ns,
    CASE WHEN NOT list_contains(hidden, 'e2e_ns') THEN e2e_ns END AS e2e_ns,
    CASE WHEN NOT list_contains(hidden, 'tpot_ns') THEN tpot_ns END AS tpot_ns,
    CASE WHEN NOT list_contains(hidden, 'decode_tok_s') THEN decode_tok_s END AS decode_tok_s,
    CASE WHEN NOT list_contains(hidden, 'effective_prefill_tok_s') THEN effective_prefill_tok_s END AS effective_prefill_tok_s,
    CASE WHEN NOT list_contains(hidden, 'gap_p50_ns') THEN gap_p50_ns END AS gap_p50_ns,
    tokens_per_chunk, prompt_tokens, completion_tokens, reasoning_tokens, cached_share,
    start_ns, end_ns,
    to_json(withheld)::VARCHAR AS withheld
FROM joined
ORDER BY campaign, cell, attempt, request_index;
COMMENT ON VIEW request_metrics IS 'One row per request of every attempt: its metrics, null where unknown or withheld.';
COMMENT ON COLUMN request_metrics.campaign IS 'Campaign.';
COMMENT ON COLUMN request_metrics.arm IS 'Arm.';
COMMENT ON COLUMN request_metrics.cell IS 'Cell.';
COMMENT ON COLUMN request_metrics.attempt IS 'Attempt; 0 for requests of a cell that was never started.';
COMMENT ON COLUMN request_metrics.request_index IS 'Position of the request in its cell, from 0.';
COMMENT ON COLUMN request_metrics.counted IS 'The attempt stands for its cell.';
COMMENT ON COLUMN request_metrics.workload IS 'warmup, natural, controlled or capacity-edge.';
COMMENT ON COLUMN request_metrics.context_tokens IS 'Nominal context label; a target, not a token count.';
COMMENT ON COLUMN request_metrics.concurrency IS 'Requests kept in flight, as planned.';
COMMENT ON COLUMN request_metrics.excluded_warmup IS 'Warm-up: listed, never part of a statistic.';
COMMENT ON COLUMN request_metrics.ttfo_ns IS 'First output, reasoning or visible, ns after t0.';
COMMENT ON COLUMN request_metrics.ttft_ns IS 'First non-empty visible content, ns after t0.';
COMMENT ON COLUMN request_metrics.ttft_nonblank_ns IS 'First visible content with a character that is not white space, ns after t0.';
COMMENT ON COLUMN request_metrics.e2e_ns IS 'The [DONE] event, ns after t0.';
COMMENT ON COLUMN request_metrics.tpot_ns IS 'Per-request proxy for the time of one output token, ns: (last output - first output) / (completion tokens - 1).';
COMMENT ON COLUMN request_metrics.decode_tok_s IS 'Reasoning and visible tokens together, tokens/s: (completion tokens - 1) / (last output - first output).';
COMMENT ON COLUMN request_metrics.effective_prefill_tok_s IS 'Prompt tokens / first output, tokens/s; includes the queue, and is not the speed of a prefill kernel.';
COMMENT ON COLUMN request_metrics.gap_p50_ns IS 'Nearest-rank median gap between consecutive output events, ns; null with fewer than two.';
COMMENT ON COLUMN request_metrics.tokens_per_chunk IS 'Completion tokens / output events.';
COMMENT ON COLUMN request_metrics.prompt_tokens IS 'Prompt tokens from usage.';
COMMENT ON COLUMN request_metrics.completion_tokens IS 'Completion tokens from usage, reasoning included.';
COMMENT ON COLUMN request_metrics.reasoning_tokens IS 'Reasoning tokens from usage.';
COMMENT ON COLUMN request_metrics.cached_share IS 'Cached prompt tokens / prompt tokens, 0 to 1; null when the engine does not say.';
COMMENT ON COLUMN request_metrics.start_ns IS 't0, ns since the run''s clock anchor.';
COMMENT ON COLUMN request_metrics.end_ns IS 'Exchange over, ns since the run''s clock anchor.';
COMMENT ON COLUMN request_metrics.withheld IS 'JSON list of "metric: flag", sorted. The value of such a metric is null here, save that cache_assisted keeps it and withholds it from comparisons.';
