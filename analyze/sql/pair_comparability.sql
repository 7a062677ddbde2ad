-- One row per pair of matched cells (see cell_pairs): whether it may be compared,
-- and every reason why not (measurement.md section 8). A pair is comparable when
-- both cells are eligible, every control and the protocol are equal, and prompts
-- and real prompt tokens agree index by index, within the plan's tolerance for
-- tokens (0 unless the plan states another). Nothing is normalised.
-- Requests are compared where both arms sent them.
CREATE OR REPLACE VIEW pair_comparability AS
WITH sides AS (
    SELECT campaign, pair, baseline_arm AS arm, baseline_cell AS cell FROM cell_pairs
    UNION ALL
    SELECT campaign, pair, candidate_arm, candidate_cell FROM cell_pairs
), unpaired AS (
    SELECT campaign, pair, 'unpaired: ' || arm || ' has no such cell' AS reason FROM sides WHERE cell IS NULL
    UNION ALL
    SELECT campaign, pair, format('ambiguous: {} cells of one arm share the key', repeats) FROM cell_pairs WHERE repeats > 1
), ineligible AS (
    SELECT s.campaign, s.pair,
        s.arm || ' ineligible' || CASE WHEN e.run_state <> 'complete' THEN ' (' || e.run_state || ')' ELSE '' END
            || CASE WHEN e.dispatched = 0 THEN ', nothing was sent' ELSE ': ' || array_to_string(from_json(e.failed_rules, '["VARCHAR"]'), ', ') END AS reason
    FROM sides s
    JOIN cell_eligibility e ON e.campaign = s.campaign AND e.cell = s.cell
    WHERE e.eligibility <> 'eligible'
), refused AS (
    SELECT s.campaign, s.pair,
        s.arm || ' refused' || CASE WHEN count(t.rule) > 0 THEN ' (proven)' ELSE '' END
            || ': ' || string_agg(DISTINCT f.outcome, ', ' ORDER BY f.outcome) AS reason
    FROM sides s
    JOIN counted_attempts k ON k.campaign = s.campaign AND k.cell = s.cell
    JOIN request_facts f ON f.campaign = k.campaign AND f.cell = k.cell AND f.attempt = k.attempt
    LEFT JOIN stops t ON t.campaign = k.campaign AND t.cell = k.cell AND t.rule = 'capacity_refusal'
    WHERE f.outcome LIKE 'refused\_%' ESCAPE '\'
    GROUP BY s.campaign, s.pair, s.arm
), controls AS (
    SELECT p.campaign, p.pair, unnest([
            {'control': 'max_tokens', 'differs': b.max_tokens IS DISTINCT FROM c.max_tokens},
            {'control': 'max_model_len', 'differs': b.max_model_len IS DISTINCT FROM c.max_model_len},
            {'control': 'response_words', 'differs': b.response_words <> c.response_words},
            {'control': 'output_policy', 'differs': b.output_policy <> c.output_policy},
            {'control': 'reasoning_effort', 'differs': b.reasoning_effort IS DISTINCT FROM c.reasoning_effort},
            {'control': 'temperature', 'differs': coalesce(TRY_CAST(b.temperature AS DOUBLE)::VARCHAR, b.temperature)
                IS DISTINCT FROM coalesce(TRY_CAST(c.temperature AS DOUBLE)::VARCHAR, c.temperature)},
            {'control': 'top_p', 'differs': coalesce(TRY_CAST(b.top_p AS DOUBLE)::VARCHAR, b.top_p)
                IS DISTINCT FROM coalesce(TRY_CAST(c.top_p AS DOUBLE)::VARCHAR, c.top_p)},
            {'control': 'prompt_cache_mode', 'differs': b.prompt_cache_mode IS DISTINCT FROM c.prompt_cache_mode},
            {'control': 'request_canaries', 'differs': b.request_canaries <> c.request_canaries},
            {'control': 'outer_timeout_s', 'differs': b.outer_timeout_s <> c.outer_timeout_s},
            {'control': 'idle_timeout_s', 'differs': b.idle_timeout_s <> c.idle_timeout_s}
        ], recursive := true)
    FROM cell_pairs p
    JOIN cells b ON b.campaign = p.campaign AND b.cell = p.baseline_cell
    JOIN cells c ON c.campaign = p.campaign AND c.cell = p.candidate_cell
), matched AS (
    SELECT p.campaign, p.pair, b.request_index,
        coalesce(s.prompt_token_tolerance, 0) AS tolerance,
        b.http_version AS baseline_http, c.http_version AS candidate_http,
        b.template_version AS baseline_template, c.template_version AS candidate_template,
        b.prompt_sha256 AS baseline_prompt, c.prompt_sha256 AS candidate_prompt,
        b.prompt_tokens AS baseline_tokens, c.prompt_tokens AS candidate_tokens
    FROM cell_pairs p
    JOIN counted_attempts kb ON kb.campaign = p.campaign AND kb.cell = p.baseline_cell
    JOIN counted_attempts kc ON kc.campaign = p.campaign AND kc.cell = p.candidate_cell
    JOIN request_facts b ON b.campaign = p.campaign AND b.cell = kb.cell AND b.attempt = kb.attempt AND b.dispatched
    JOIN request_facts c ON c.campaign = p.campaign AND c.cell = kc.cell AND c.attempt = kc.attempt AND c.dispatched
        AND c.request_index = b.request_index
    LEFT JOIN plan_settings s ON s.campaign = p.campaign
), by_index AS (
    SELECT campaign, pair, request_index, unnest([
            {'what': 'http_version', 'found': CASE WHEN baseline_http IS DISTINCT FROM candidate_http
                THEN format('{} and {}', coalesce(baseline_http, 'unknown'), coalesce(candidate_http, 'unknown')) END},
            {'what': 'template_version', 'found': CASE WHEN baseline_template <> candidate_template
                THEN format('{} and {}', baseline_template, candidate_template) END},
            {'what': 'prompt', 'found': CASE WHEN baseline_prompt <> candidate_prompt THEN 'another SHA-256' END},
            {'what': 'prompt_tokens', 'found': CASE WHEN baseline_tokens IS NULL OR candidate_tokens IS NULL
                THEN format('{} and {}', coalesce(baseline_tokens::VARCHAR, 'unknown'), coalesce(candidate_tokens::VARCHAR, 'unknown'))
                WHEN abs(baseline_tokens - candidate_tokens) > tolerance
                THEN format('{} and {}', baseline_tokens, candidate_tokens) END}
        ], recursive := true)
    FROM matched
), differing AS (
    SELECT campaign, pair, what, count(*) AS indices,
        min(request_index) AS first_index,
        (list(found ORDER BY request_index))[1] AS first_found
    FROM by_index
    WHERE found IS NOT NULL
    GROUP BY ALL
), reasons AS (
    FROM unpaired
    UNION ALL FROM ineligible
    UNION ALL FROM refused
    UNION ALL SELECT campaign, pair, 'control differs: ' || control FROM controls WHERE differs
    UNION ALL SELECT campaign, pair, format('{} differs at index {}: {}', what, first_index, first_found)
        || CASE WHEN indices > 1 THEN format('; and at {} more', indices - 1) ELSE '' END
    FROM differing
), listed AS (
    SELECT campaign, pair, list(DISTINCT reason ORDER BY reason) AS reasons FROM reasons GROUP BY ALL
)
SELECT p.campaign, p.pair, p.workload, p.context_tokens, p.concurrency, p.seed,
    p.baseline_arm, p.baseline_cell, p.candidate_arm, p.candidate_cell,
    l.reasons IS NULL AS comparable,
    to_json(coalesce(l.reasons, []))::VARCHAR AS reasons
FROM cell_pairs p
LEFT JOIN listed l ON l.campaign = p.campaign AND l.pair = p.pair
ORDER BY p.campaign, p.pair_order, p.pair;
COMMENT ON VIEW pair_comparability IS 'One row per pair of matched cells: whether it may be compared, and every reason why not.';
COMMENT ON COLUMN pair_comparability.campaign IS 'Campaign.';
COMMENT ON COLUMN pair_comparability.pair IS 'Workload, context, concurrency, seed and requests in one word.';
COMMENT ON COLUMN pair_comparability.workload IS 'natural, controlled or capacity-edge.';
COMMENT ON COLUMN pair_comparability.context_tokens IS 'Nominal context label; a target, not a token count.';
COMMENT ON COLUMN pair_comparability.concurrency IS 'Requests kept in flight, as planned.';
COMMENT ON COLUMN pair_comparability.seed IS 'Seed of the workload.';
COMMENT ON COLUMN pair_comparability.baseline_arm IS 'Arm that is divided by.';
COMMENT ON COLUMN pair_comparability.baseline_cell IS 'Its cell; null when it has none.';
COMMENT ON COLUMN pair_comparability.candidate_arm IS 'Arm that is divided.';
COMMENT ON COLUMN pair_comparability.candidate_cell IS 'Its cell; null when it has none.';
COMMENT ON COLUMN pair_comparability.comparable IS 'Both cells are eligible and were measured under the same protocol, with equal prompts.';
COMMENT ON COLUMN pair_comparability.reasons IS 'JSON list of the reasons why the pair is not comparable, sorted; empty when it is.';
