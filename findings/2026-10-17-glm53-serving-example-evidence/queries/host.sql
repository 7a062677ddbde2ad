-- Load host and client, each arm, all attempts.
-- key: arm
-- n: samples
-- rows: readings where source = 'host'
SELECT arm, count(*) FILTER (WHERE status = 'ok') AS samples, count(*) FILTER (WHERE status <> 'ok') AS without_reading,
    max(mem_total_bytes) AS mem_total_bytes, min(mem_available_bytes) AS mem_available_min_bytes,
    max(load_1m) AS load_1m_max, max(oom_kills) - min(oom_kills) AS oom_kills_added,
    max(client_rss_bytes) AS client_rss_max_bytes, max(client_goroutines) AS client_goroutines_max
FROM host_samples GROUP BY arm ORDER BY arm;
