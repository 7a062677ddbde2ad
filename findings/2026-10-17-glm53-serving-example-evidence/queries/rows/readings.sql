-- Every reading of every source: engine pages, GPUs, control group, host.
-- key: source, cell, attempt, seq, gpu_index
SELECT arm, cell, attempt, 'pages' AS source, page_seq AS seq, NULL::BIGINT AS gpu_index, NULL::VARCHAR AS gpu, phase, end_ns AS at_ns,
    CASE WHEN error = '' THEN 'ok' ELSE error END AS status
FROM pages
UNION ALL
SELECT arm, cell, attempt, 'gpu', sample_seq, gpu_index, coalesce(gpu, 'none'), phase, at_ns, status FROM gpu_samples
UNION ALL
SELECT arm, cell, attempt, 'cgroup', sample_seq, NULL, NULL, phase, at_ns, status FROM cgroup_samples
UNION ALL
SELECT arm, cell, attempt, 'host', sample_seq, NULL, NULL, phase, at_ns, status FROM host_samples
ORDER BY source, cell, attempt, seq, gpu_index;
