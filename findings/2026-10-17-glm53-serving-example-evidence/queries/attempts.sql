-- Every attempt at every cell, with its drains and its clock.
-- key: cell, attempt
-- rows: requests
SELECT arm, cell, attempt, run_state, counted, start_unix_ns, end_unix_ns, end_ns - start_ns AS duration_ns,
    drain_before_ns, drain_after_ns, drain_verified, clock_drift_ns
FROM attempts ORDER BY cell, attempt;
