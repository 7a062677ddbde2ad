-- One row per attempt and counter of memory kills: how far it rose from the first
-- reading of the attempt to the last. Whether memory ran out is told by these
-- counters, never by the use of memory. A counter that cannot tell says why:
-- without a value nobody may say that nothing was killed.
CREATE OR REPLACE VIEW oom_counters AS
WITH readings AS (
    SELECT c.campaign, c.cell, c.attempt, c.sample_seq, 'cgroup' AS source, s.counter, s.value, c.status, c.missing,
        c.group_number AS identity
    FROM cgroup_samples c, LATERAL (VALUES
        ('max_events', c.max_events), ('oom_events', c.oom_events), ('oom_kill_events', c.oom_kill_events),
        ('oom_group_kill_events', c.oom_group_kill_events)) s(counter, value)
    UNION ALL
    SELECT campaign, cell, attempt, sample_seq, 'host', 'oom_kills', oom_kills, status, missing, boot FROM host_samples
), unread AS (
    SELECT campaign, arm, min(status) AS reason FROM cgroup_samples WHERE starts_with(status, 'unavailable') GROUP BY ALL
), counted AS (
    SELECT campaign, cell, attempt, source, counter, count(value) AS n,
        arg_min(value, sample_seq) AS first_value, arg_max(value, sample_seq) AS last_value,
        max(identity) AS identities, min(value) AS lowest,
        min(json_extract_string(missing, '$.' || counter)) AS why_missing,
        min(status) FILTER (starts_with(status, 'unavailable')) AS unavailable
    FROM readings GROUP BY ALL
), falls AS (
    SELECT campaign, cell, attempt, source, counter, bool_or(value < earlier) AS fell
    FROM (SELECT *, lag(value IGNORE NULLS) OVER (PARTITION BY campaign, cell, attempt, source, counter ORDER BY sample_seq) AS earlier FROM readings)
    GROUP BY ALL
), judged AS (
    SELECT a.campaign, a.arm, a.cell, a.attempt, s.source, s.counter, s.place, coalesce(c.n, 0) AS n, c.first_value, c.last_value,
        CASE WHEN c.identities > 1 AND s.source = 'cgroup' THEN 'the control group was made anew during the attempt; its counters began at 0 again'
            WHEN c.identities > 1 THEN 'the host was started anew during the attempt'
            WHEN f.fell THEN 'the counter fell'
            WHEN coalesce(c.n, 0) = 0 THEN coalesce(c.why_missing, c.unavailable, u.reason, 'not read')
            WHEN c.n < 2 THEN 'one reading only'
            WHEN c.unavailable IS NOT NULL THEN 'some readings failed: ' || c.unavailable
        END AS reason
    FROM attempts a
    CROSS JOIN (VALUES ('cgroup', 'max_events', 1), ('cgroup', 'oom_events', 2), ('cgroup', 'oom_kill_events', 3),
        ('cgroup', 'oom_group_kill_events', 4), ('host', 'oom_kills', 5)) s(source, counter, place)
    LEFT JOIN counted c ON c.campaign = a.campaign AND c.cell = a.cell AND c.attempt = a.attempt AND c.source = s.source AND c.counter = s.counter
    LEFT JOIN falls f ON f.campaign = a.campaign AND f.cell = a.cell AND f.attempt = a.attempt AND f.source = s.source AND f.counter = s.counter
    LEFT JOIN unread u ON u.campaign = a.campaign AND u.arm = a.arm AND s.source = 'cgroup'
    WHERE a.attempt > 0
)
SELECT campaign, arm, cell, attempt, source, counter, n, first_value, last_value,
    CASE WHEN reason IS NULL OR starts_with(reason, 'some readings failed') AND last_value > first_value THEN last_value - first_value END AS added,
    reason
FROM judged
ORDER BY campaign, cell, attempt, place;
COMMENT ON VIEW oom_counters IS 'One row per attempt and counter of memory kills: how far it rose from the first reading of the attempt to the last.';
COMMENT ON COLUMN oom_counters.campaign IS 'Campaign.';
COMMENT ON COLUMN oom_counters.arm IS 'Arm.';
COMMENT ON COLUMN oom_counters.cell IS 'Cell.';
COMMENT ON COLUMN oom_counters.attempt IS 'Attempt, counted or not.';
COMMENT ON COLUMN oom_counters.source IS 'cgroup: the engine''s control group. host: the whole load host.';
COMMENT ON COLUMN oom_counters.counter IS 'max_events: about to go over the hard limit. oom_events: out of memory. oom_kill_events: processes killed. oom_group_kill_events: groups killed as a whole. oom_kills: processes killed on the host.';
COMMENT ON COLUMN oom_counters.n IS 'Readings with a value.';
COMMENT ON COLUMN oom_counters.first_value IS 'First reading of the attempt.';
COMMENT ON COLUMN oom_counters.last_value IS 'Last reading of the attempt.';
COMMENT ON COLUMN oom_counters.added IS 'How far it rose; null with a reason. With failed readings between only a rise is told.';
COMMENT ON COLUMN oom_counters.reason IS 'Why that is not known, or not whole; null when it is.';
