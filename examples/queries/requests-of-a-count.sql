-- The requests behind a count such as cells:CELL:passing: every planned request of
-- the counted attempt, how it ended, and whether it passes. The counts of the cell
-- are those of the rows.
SELECT f.arm, f.cell, f.request_index, f.dispatched, f.outcome, p.terminal, p.passes, e.eligibility,
    e.planned, e.dispatched AS dispatched_in_cell, e.passing
FROM cell_eligibility e
JOIN request_facts f USING (campaign, arm, cell, attempt)
JOIN request_passes p USING (campaign, arm, cell, attempt, request_index)
ORDER BY e.cell_order, f.cell, f.request_index;
