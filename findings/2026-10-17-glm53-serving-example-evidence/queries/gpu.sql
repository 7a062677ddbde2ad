-- GPU readings of each arm, all attempts; sampled extremes bound the true ones from inside.
-- key: arm, gpu
-- n: samples
-- rows: readings where source = 'gpu'
SELECT arm, coalesce(gpu, 'none') AS gpu, min(gpu_name) AS gpu_name, count(*) FILTER (WHERE status = 'ok') AS samples,
    count(*) FILTER (WHERE status <> 'ok') AS without_reading, min(status) FILTER (WHERE status <> 'ok') AS why_without,
    max(memory_total_bytes) AS memory_total_bytes, max(memory_used_bytes) AS memory_used_max_bytes,
    min(memory_free_bytes) AS memory_free_min_bytes,
    quantile_disc(utilization_percent, 0.5) AS utilization_p50_percent, max(utilization_percent) AS utilization_max_percent,
    max(power_mw) AS power_max_mw, quantile_disc(sm_clock_mhz, 0.5) FILTER (WHERE phase = 'during') AS sm_clock_p50_mhz, max(temperature_c) AS temperature_max_c,
    -- bit 0 says that the GPU is idle, which reduces nothing
    count(*) FILTER (WHERE phase = 'during' AND throttle_reasons IS NOT NULL) AS clock_reasons_known,
    count(*) FILTER (WHERE phase = 'during' AND throttle_reasons & ~1 <> 0) AS clocks_reduced
FROM gpu_samples GROUP BY arm, gpu ORDER BY arm, gpu;
