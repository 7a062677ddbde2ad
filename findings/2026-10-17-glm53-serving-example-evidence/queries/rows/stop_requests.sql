-- The requests of the attempt in which a stop rule fired; without an attempt, of the arm.
-- key: stop_seq, cell, attempt, request_index
SELECT s.stop_seq, s.rule, f.arm, f.cell, f.attempt, f.request_index, f.outcome, f.canary_state, f.foreign_markers, f.fault_class
FROM stops s
JOIN request_facts f ON f.campaign = s.campaign AND (s.arm IS NULL OR f.arm = s.arm)
    AND (s.cell IS NULL OR f.cell = s.cell) AND (s.attempt IS NULL OR f.attempt = s.attempt)
ORDER BY s.stop_seq, f.cell, f.attempt, f.request_index;
