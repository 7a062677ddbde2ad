-- GPUs of each arm, all attempts: what they are and how they were read.
-- key: arm, gpu
-- n: samples
-- rows: readings where source = 'gpu'
SELECT arm, coalesce(gpu, 'none') AS gpu, min(gpu_name) AS gpu_name, count(*) FILTER (WHERE status = 'ok') AS samples,
    count(*) FILTER (WHERE status <> 'ok') AS without_reading, min(status) FILTER (WHERE status <> 'ok') AS why_without,
    CASE WHEN count(DISTINCT gpu_source) > 1 THEN 'mixed' ELSE min(gpu_source) END AS gpu_source,
    CASE WHEN count(DISTINCT memory_api) > 1 THEN 'mixed' ELSE min(memory_api) END AS memory_api,
    CASE WHEN count(DISTINCT driver_version) > 1 THEN 'several' ELSE min(driver_version) END AS driver_version
FROM gpu_samples GROUP BY arm, gpu ORDER BY arm, gpu;
