-- Gaps between output events in each eligible cell: the median over the requests'
-- own medians, the longest gap, tokens in one event, and the share of gaps inside one
-- read, which are 0 by construction.
-- key: cell
-- n: n
-- rows: requests where counted
SELECT e.arm, e.cell, count(m.gap_p50_ns) AS n, quantile_disc(m.gap_p50_ns, 0.5) AS gap_p50_ns,
    max(f.gap_max_ns) FILTER (WHERE m.gap_p50_ns IS NOT NULL) AS gap_max_ns,
    sum(f.gaps)::BIGINT AS gaps, sum(f.output_events)::BIGINT AS output_events,
    sum(f.completion_tokens) FILTER (WHERE f.output_events > 0) / nullif(sum(f.output_events) FILTER (WHERE f.completion_tokens IS NOT NULL), 0) AS tokens_per_event,
    sum(f.same_read_gaps) / nullif(sum(f.gaps), 0) AS same_read_share
FROM cell_eligibility e
JOIN request_metrics m ON m.campaign = e.campaign AND m.cell = e.cell AND m.attempt = e.attempt
JOIN request_facts f ON f.campaign = m.campaign AND f.cell = m.cell AND f.attempt = m.attempt AND f.request_index = m.request_index
WHERE e.eligibility = 'eligible' AND f.dispatched
GROUP BY e.arm, e.cell
ORDER BY e.arm, e.cell;
