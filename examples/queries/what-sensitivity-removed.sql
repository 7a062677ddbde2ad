-- What eligibility removed: cells whose passing requests stand in no main table,
-- with the rules that keep them out.
SELECT e.arm, e.cell, e.run_state, e.passing || ' of ' || e.planned AS passing, e.failed_rules, d.metric, d.p50, d.note
FROM cell_eligibility e
JOIN cell_distributions d USING (campaign, arm, cell)
WHERE d.population = 'passing_only' AND d.metric = 'e2e_ns'
ORDER BY e.cell_order, e.cell;
