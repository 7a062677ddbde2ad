-- Every planned request of every attempt: how it ended, and whether it passes. terminal and passes are of the counted attempt.
-- key: cell, attempt, request_index
SELECT f.campaign, f.arm, c.workload, f.cell, f.attempt, coalesce(a.counted, false) AS counted, f.request_index,
    f.dispatched, f.outcome, p.terminal, p.passes, e.run_state, e.eligibility, f.marker, f.t0_ns, f.end_ns
FROM request_facts f
JOIN cells c USING (campaign, arm, cell)
JOIN cell_eligibility e USING (campaign, arm, cell)
LEFT JOIN attempts a ON a.campaign = f.campaign AND a.cell = f.cell AND a.attempt = f.attempt
LEFT JOIN request_passes p ON p.campaign = f.campaign AND p.cell = f.cell AND p.attempt = f.attempt AND p.request_index = f.request_index
ORDER BY f.cell, f.attempt, f.request_index;
