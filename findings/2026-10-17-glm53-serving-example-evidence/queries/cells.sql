-- Every planned cell with its state, its verdict and its counts.
-- key: cell
-- n: planned
-- rows: requests where counted
SELECT e.arm, e.cell, e.cell_order, c.workload, c.context_tokens, c.concurrency, c.seed, c.excluded_warmup,
    e.attempt, e.run_state, e.eligibility, e.planned, e.dispatched, e.terminal, e.passing, e.eligible, e.failed_rules
FROM cell_eligibility e JOIN cells c USING (campaign, arm, cell)
ORDER BY e.cell_order, e.arm, e.cell;
