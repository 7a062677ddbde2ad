-- GPUs of each arm, all attempts: what they are and how they were read. A collector
-- that finds no driver says so once, at the campaign's first reading.
-- key: arm, gpu
-- n: samples
-- rows: readings where source = 'gpu'
SELECT a.arm, coalesce(g.gpu, 'none') AS gpu, min(g.gpu_name) AS gpu_name, count(*) FILTER (WHERE g.status = 'ok') AS samples,
    count(*) FILTER (WHERE g.status <> 'ok') AS without_reading,
    coalesce(min(g.status) FILTER (WHERE g.status <> 'ok'),
        CASE WHEN count(g.status) = 0 THEN (SELECT min(status) FROM gpu_samples WHERE gpu IS NULL AND status <> 'ok') END) AS why_without,
    CASE WHEN count(DISTINCT g.gpu_source) > 1 THEN 'mixed' ELSE min(g.gpu_source) END AS gpu_source,
    CASE WHEN count(DISTINCT g.memory_api) > 1 THEN 'mixed' ELSE min(g.memory_api) END AS memory_api,
    CASE WHEN count(DISTINCT g.driver_version) > 1 THEN 'several' ELSE min(g.driver_version) END AS driver_version
FROM arms a LEFT JOIN gpu_samples g ON g.campaign = a.campaign AND g.arm = a.arm
GROUP BY a.arm, a.arm_order, g.gpu ORDER BY a.arm_order, gpu;
