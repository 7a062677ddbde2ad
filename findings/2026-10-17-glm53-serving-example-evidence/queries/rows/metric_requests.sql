-- Each metric of each request that a distribution is made of; a value that is null is unknown or withheld.
-- key: cell, metric, request_index
SELECT d.arm, d.cell, m.attempt, m.request_index, d.population, d.metric, d.unit, m.withheld,
    CASE d.metric
        WHEN 'ttfo_ns' THEN m.ttfo_ns::DOUBLE WHEN 'ttft_ns' THEN m.ttft_ns::DOUBLE WHEN 'e2e_ns' THEN m.e2e_ns::DOUBLE
        WHEN 'decode_tok_s' THEN m.decode_tok_s WHEN 'tpot_ns' THEN m.tpot_ns WHEN 'effective_prefill_tok_s' THEN m.effective_prefill_tok_s
        WHEN 'prompt_tokens' THEN m.prompt_tokens::DOUBLE WHEN 'completion_tokens' THEN m.completion_tokens::DOUBLE
        WHEN 'reasoning_tokens' THEN m.reasoning_tokens::DOUBLE WHEN 'gap_p50_ns' THEN m.gap_p50_ns::DOUBLE END AS value
FROM cell_distributions d
JOIN cell_eligibility e USING (campaign, arm, cell)
JOIN request_metrics m ON m.campaign = d.campaign AND m.cell = d.cell AND m.attempt = e.attempt
JOIN request_passes p ON p.campaign = d.campaign AND p.cell = d.cell AND p.request_index = m.request_index
WHERE d.population = 'eligible' OR p.passes
ORDER BY d.cell, d.metric, m.request_index;
