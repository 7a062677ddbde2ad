-- Each metric of each request of the two cells of a pair; requests of one index are compared with each other.
-- key: pair, metric, request_index, side
WITH sides AS (
    SELECT campaign, pair, comparable, 'baseline' AS side, baseline_arm AS arm, baseline_cell AS cell FROM pair_comparability
    UNION ALL
    SELECT campaign, pair, comparable, 'candidate', candidate_arm, candidate_cell FROM pair_comparability
), valued AS (
    SELECT s.campaign, s.pair, s.comparable, s.side, s.arm, s.cell, m.attempt, m.request_index, f.outcome, f.prompt_sha256,
        unnest([
            {'metric': 'ttfo_ns', 'value': m.ttfo_ns::DOUBLE},
            {'metric': 'ttft_ns', 'value': m.ttft_ns::DOUBLE},
            {'metric': 'e2e_ns', 'value': m.e2e_ns::DOUBLE},
            {'metric': 'decode_tok_s', 'value': m.decode_tok_s},
            {'metric': 'tpot_ns', 'value': m.tpot_ns},
            {'metric': 'effective_prefill_tok_s', 'value': m.effective_prefill_tok_s},
            {'metric': 'prompt_tokens', 'value': m.prompt_tokens::DOUBLE},
            {'metric': 'completion_tokens', 'value': m.completion_tokens::DOUBLE},
            {'metric': 'reasoning_tokens', 'value': m.reasoning_tokens::DOUBLE},
            {'metric': 'gap_p50_ns', 'value': m.gap_p50_ns::DOUBLE}
        ], recursive := true)
    FROM sides s
    JOIN cell_eligibility e ON e.campaign = s.campaign AND e.cell = s.cell
    JOIN request_metrics m ON m.campaign = s.campaign AND m.cell = s.cell AND m.attempt = e.attempt
    JOIN request_facts f ON f.campaign = s.campaign AND f.cell = s.cell AND f.attempt = m.attempt AND f.request_index = m.request_index
)
FROM valued
ORDER BY pair, metric, request_index, side;
