-- One row for each planned request of an attempt that has no rows of its own:
-- a cell that never ran (attempt 0), or a folder that could not be loaded. The
-- campaign is named by the variable campaign.
INSERT INTO request_facts BY NAME
SELECT a.campaign, a.arm, a.cell, a.attempt, i AS request_index, false AS dispatched, printf('ASSAY_REQ_%d_%05d', c.seed, i) AS marker,
    'not_recorded' AS end_kind, a.run_state AS end_detail, 'not_dispatched' AS outcome,
    0 AS events, 0 AS events_seen, 0 AS bad_events, 0 AS output_events, 0 AS reasoning_events, 0 AS content_events, 0 AS tool_events,
    0 AS kernel_stamped_events, 0 AS raised_stamps, 0 AS output_read_stamped, 0 AS gaps, 0 AS same_read_gaps, 0 AS short_gaps,
    0 AS usage_chunks, 'absent' AS usage_fault, '[]' AS finish_reasons, 0 AS alias_conflicts, 0 AS visible_chars, 0 AS reasoning_chars,
    '[]' AS foreign_markers, 0 AS trailing_bytes, 0 AS tail_bytes
FROM attempts a
JOIN cells c ON c.campaign = a.campaign AND c.cell = a.cell, range(c.requests) AS r(i)
WHERE a.campaign = getvariable('campaign')
    AND NOT EXISTS (SELECT 1 FROM request_facts f WHERE f.campaign = a.campaign AND f.cell = a.cell AND f.attempt = a.attempt)
ORDER BY c.cell_order, a.attempt, i;
