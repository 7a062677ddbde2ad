-- One row per arm and claim; the three kinds are never mixed (measurement.md
-- section 13).
--   scheduler_ceiling     configured
--   kv_resident_capacity  the reported token pool. pool_contexts (pool / configured
--                         context) and envelope_remainder (pool - concurrency x
--                         (longest prompt + output limit) of the arm's most
--                         demanding cell) are arithmetic, not claims of fit
--   measured_concurrency  most requests of a measured cell between their own first
--                         and last output at one instant: exact, client. Of cells
--                         with the same k the one with the largest context stands.
--                         sampled_running, the highest running count of a page, is
--                         a lower bound
CREATE OR REPLACE VIEW concurrency_claims AS
WITH facts AS (
    SELECT campaign, arm,
        min(value) FILTER (fact = 'max_num_seqs') AS ceiling, min(source) FILTER (fact = 'max_num_seqs') AS ceiling_source,
        min(confidence) FILTER (fact = 'max_num_seqs') AS ceiling_confidence,
        min(value) FILTER (fact = 'kv_pool_tokens') AS pool, min(source) FILTER (fact = 'kv_pool_tokens') AS pool_source,
        min(confidence) FILTER (fact = 'kv_pool_tokens') AS pool_confidence,
        min(value) FILTER (fact = 'max_model_len_configured') AS context
    FROM capacity_facts
    GROUP BY ALL
), sizes AS (
    SELECT k.campaign, k.arm, k.cell, k.cell_order, k.context_tokens, k.concurrency,
        min(v.prompt_tokens) AS prompt_min, max(v.prompt_tokens) AS prompt_max,
        min(v.completion_tokens) AS output_min, max(v.completion_tokens) AS output_max
    FROM counted_attempts k
    JOIN request_values v ON v.campaign = k.campaign AND v.cell = k.cell AND v.attempt = k.attempt
    WHERE NOT k.excluded_warmup AND v.dispatched
    GROUP BY ALL
), measured AS (
    SELECT s.*, o.generating_overlap
    FROM sizes s
    JOIN overlap_figures o ON o.campaign = s.campaign AND o.cell = s.cell
    WHERE o.generating_overlap > 0
    QUALIFY row_number() OVER (PARTITION BY s.campaign, s.arm
        ORDER BY o.generating_overlap DESC, s.context_tokens DESC, s.cell_order, s.cell) = 1
), envelopes AS (
    SELECT s.*, c.max_tokens, s.concurrency * (s.prompt_max + c.max_tokens) AS demand
    FROM sizes s
    JOIN cells c ON c.campaign = s.campaign AND c.cell = s.cell
    WHERE s.prompt_max IS NOT NULL AND c.max_tokens IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY s.campaign, s.arm ORDER BY demand DESC, s.cell_order, s.cell) = 1
), running AS (
    SELECT g.campaign, g.arm, max(g.value) AS value, count(g.value) AS pages
    FROM engine_gauges g
    JOIN counted_attempts k ON k.campaign = g.campaign AND k.cell = g.cell
    WHERE g.canonical = 'requests_running' AND g.phase = 'during' AND NOT k.excluded_warmup
    GROUP BY ALL
), claims AS (
    SELECT a.campaign, a.arm, a.arm_order, unnest([
            {'place': 1, 'claim': 'scheduler_ceiling', 'value': f.ceiling, 'unit': 'requests', 'source': f.ceiling_source,
                'note': CASE WHEN f.ceiling IS NULL THEN 'the engine does not state it' ELSE f.ceiling_confidence END},
            {'place': 2, 'claim': 'kv_resident_capacity', 'value': f.pool, 'unit': 'tokens', 'source': f.pool_source,
                'note': CASE WHEN f.pool IS NULL THEN 'pool ' || f.pool_confidence ELSE 'pool, ' || f.pool_confidence END},
            {'place': 3, 'claim': 'pool_contexts', 'value': f.pool / f.context, 'unit': 'contexts', 'source': 'arithmetic',
                'note': CASE WHEN f.pool / f.context IS NULL THEN 'pool or configured context unknown'
                    ELSE format('{} / {}; not a claim of fit', f.pool::BIGINT, f.context::BIGINT) END},
            {'place': 4, 'claim': 'envelope_remainder', 'value': f.pool - e.demand, 'unit': 'tokens', 'source': 'arithmetic',
                'note': CASE WHEN f.pool - e.demand IS NULL THEN 'pool, prompt or output limit unknown'
                    ELSE format('{} - {} x ({} + {}), cell {}', f.pool::BIGINT, e.concurrency, e.prompt_max, e.max_tokens, e.cell) END},
            {'place': 5, 'claim': 'measured_concurrency', 'value': m.generating_overlap::DOUBLE, 'unit': 'requests', 'source': 'client, exact',
                'note': CASE WHEN m.cell IS NULL THEN 'no measured request had output'
                    ELSE format('cell {}; prompts of {} to {} tokens, outputs of {} to {}', m.cell,
                        coalesce(m.prompt_min::VARCHAR, 'unknown'), coalesce(m.prompt_max::VARCHAR, 'unknown'),
                        coalesce(m.output_min::VARCHAR, 'unknown'), coalesce(m.output_max::VARCHAR, 'unknown')) END},
            {'place': 6, 'claim': 'sampled_running', 'value': r.value, 'unit': 'requests', 'source': 'engine pages',
                'note': CASE WHEN r.value IS NULL THEN 'not visible' ELSE format('lower bound, {} pages', r.pages) END}
        ], recursive := true)
    FROM arms a
    LEFT JOIN facts f ON f.campaign = a.campaign AND f.arm = a.arm
    LEFT JOIN measured m ON m.campaign = a.campaign AND m.arm = a.arm
    LEFT JOIN envelopes e ON e.campaign = a.campaign AND e.arm = a.arm
    LEFT JOIN running r ON r.campaign = a.campaign AND r.arm = a.arm
)
SELECT campaign, arm, claim, value, unit, source, note
FROM claims
ORDER BY campaign, arm_order, arm, place;
COMMENT ON VIEW concurrency_claims IS 'One row per arm and claim about concurrency; configured, reported and measured are never mixed.';
COMMENT ON COLUMN concurrency_claims.campaign IS 'Campaign.';
COMMENT ON COLUMN concurrency_claims.arm IS 'Arm.';
COMMENT ON COLUMN concurrency_claims.claim IS 'scheduler_ceiling, kv_resident_capacity, pool_contexts, envelope_remainder, measured_concurrency or sampled_running.';
COMMENT ON COLUMN concurrency_claims.value IS 'The claim, in its unit; null when nothing supports one.';
COMMENT ON COLUMN concurrency_claims.unit IS 'Unit of value.';
COMMENT ON COLUMN concurrency_claims.source IS 'Where the value comes from.';
COMMENT ON COLUMN concurrency_claims.note IS 'Conditions of the claim.';
