-- Counts for each arm and workload.
-- key: arm, workload
-- n: planned
-- rows: requests where counted
SELECT e.arm, c.workload, min(e.cell_order) AS first_cell,
    count(*) AS cells,
    count(*) FILTER (WHERE e.run_state = 'complete') AS complete,
    count(*) FILTER (WHERE e.eligibility = 'eligible') AS eligible_cells,
    sum(e.planned)::BIGINT AS planned, sum(e.dispatched)::BIGINT AS dispatched, sum(e.terminal)::BIGINT AS terminal,
    sum(e.passing)::BIGINT AS passing, sum(e.eligible)::BIGINT AS eligible
FROM cell_eligibility e JOIN cells c USING (campaign, arm, cell)
GROUP BY e.arm, c.workload ORDER BY first_cell, e.arm, c.workload;
