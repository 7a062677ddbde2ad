-- The engines' control group, each arm, all attempts.
-- key: arm
-- n: samples
-- rows: readings where source = 'cgroup'
SELECT arm, count(*) FILTER (WHERE status = 'ok') AS samples, count(*) FILTER (WHERE status <> 'ok') AS without_reading,
    min(status) FILTER (WHERE status <> 'ok') AS why_without, min(cgroup_version) AS cgroup_version,
    max(memory_current_bytes) AS memory_current_max_bytes, max(anon_bytes) AS anon_max_bytes, max(file_bytes) AS file_max_bytes,
    max(inactive_file_bytes) AS inactive_file_max_bytes, max(shmem_bytes) AS shmem_max_bytes, min(memory_max_bytes) AS memory_limit_bytes,
    min(json_extract_string(missing, '$.memory_max_bytes')) AS why_no_limit,
    arg_min(memory_peak_bytes, at_ns) AS peak_first_bytes, arg_max(memory_peak_bytes, at_ns) AS peak_last_bytes,
    min(json_extract_string(missing, '$.memory_peak_bytes')) AS why_no_peak,
    count(DISTINCT group_number) FILTER (WHERE group_number > 1) > 0 AS made_anew
FROM cgroup_samples GROUP BY arm ORDER BY arm;
