-- The ratios behind a comparison, request by request: candidate / baseline of the
-- end-to-end time, with the lengths that must be read beside it.
SELECT p.pair, b.request_index, b.prompt_tokens, b.completion_tokens AS baseline_tokens, c.completion_tokens AS candidate_tokens,
    b.e2e_ns AS baseline_ns, c.e2e_ns AS candidate_ns, c.e2e_ns / b.e2e_ns AS ratio
FROM pair_comparability p
JOIN request_metrics b ON b.campaign = p.campaign AND b.cell = p.baseline_cell AND b.counted
JOIN request_metrics c ON c.campaign = p.campaign AND c.cell = p.candidate_cell AND c.counted AND c.request_index = b.request_index
WHERE p.comparable
ORDER BY p.pair, b.request_index;
