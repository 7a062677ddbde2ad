-- Every request of the counted attempts with its times and metrics, as plotted.
-- key: cell, request_index
-- plain
-- rows: requests where counted
SELECT m.arm, m.cell, m.request_index, m.workload, m.context_tokens, m.concurrency, m.excluded_warmup, e.eligibility,
    m.ttfo_ns, m.ttft_ns, m.e2e_ns, m.decode_tok_s, m.prompt_tokens, m.completion_tokens,
    m.start_ns, m.end_ns, f.last_output_ns, f.outcome
FROM request_metrics m
JOIN cell_eligibility e ON e.campaign = m.campaign AND e.cell = m.cell
JOIN request_facts f ON f.campaign = m.campaign AND f.cell = m.cell AND f.attempt = m.attempt AND f.request_index = m.request_index
WHERE m.counted ORDER BY m.arm, m.cell, m.request_index;
