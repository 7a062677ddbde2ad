-- The engines' control group, each arm, all attempts.
-- key: arm
-- n: samples
-- rows: readings where source = 'cgroup'
SELECT arm, count(*) FILTER (WHERE status = 'ok') AS samples, count(*) FILTER (WHERE status <> 'ok') AS without_reading,
    min(status) FILTER (WHERE status <> 'ok') AS why_without,
    max(memory_current_bytes) AS memory_current_max_bytes, max(memory_peak_bytes) AS memory_peak_bytes,
    min(memory_max_bytes) AS memory_limit_bytes,
    max(oom_events) - min(oom_events) AS oom_events_added, max(oom_kill_events) - min(oom_kill_events) AS oom_kills_added
FROM cgroup_samples GROUP BY arm ORDER BY arm;
