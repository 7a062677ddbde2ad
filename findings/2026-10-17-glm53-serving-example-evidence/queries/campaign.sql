-- The campaign with its clock and what was set otherwise than planned.
-- key: campaign
-- rows: requests where counted
SELECT campaign, kind, plan_sha256, redacted_plan_sha256, locked_at_unix_ns, collector, clock_restarted,
    dispatch_unix_ns, cutoff_unix_ns, deadline_unix_ns, deviations, settings,
    (SELECT min(t0_unix_ns) FROM request_facts) AS first_request_unix_ns,
    (SELECT max(end_unix_ns) FROM attempts) AS last_attempt_end_unix_ns
FROM campaigns ORDER BY campaign;
