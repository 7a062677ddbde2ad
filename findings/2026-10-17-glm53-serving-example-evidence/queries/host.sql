-- Load host and client, each arm, all attempts.
-- key: arm
-- n: samples
-- rows: readings where source = 'host'
SELECT arm, count(*) FILTER (WHERE status = 'ok') AS samples, count(*) FILTER (WHERE status <> 'ok') AS without_reading,
    min(status) FILTER (WHERE status <> 'ok') AS why_without,
    max(mem_total_bytes) AS mem_total_bytes, min(json_extract_string(missing, '$.mem_total_bytes')) AS why_no_mem_total,
    min(mem_available_bytes) AS mem_available_min_bytes, min(json_extract_string(missing, '$.mem_available_bytes')) AS why_no_mem_available,
    max(swap_total_bytes) AS swap_total_bytes, min(swap_free_bytes) AS swap_free_min_bytes,
    min(json_extract_string(missing, '$.swap_free_bytes')) AS why_no_swap,
    max(load_1m) AS load_1m_max, min(json_extract_string(missing, '$.load_1m')) AS why_no_load,
    max(client_rss_bytes) AS client_rss_max_bytes, max(client_goroutines) AS client_goroutines_max
FROM host_samples GROUP BY arm ORDER BY arm;
