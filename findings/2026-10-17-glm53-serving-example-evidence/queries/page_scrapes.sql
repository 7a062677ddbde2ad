-- How the engines' pages were really scraped, each arm: interval, duration and size, the widest range over its counted attempts.
-- key: arm
-- n: scrapes
-- rows: readings where source = 'pages'
SELECT arm, sum(scrapes)::BIGINT AS scrapes, sum(failed)::BIGINT AS failed, sum(short)::BIGINT AS short,
    quantile_disc(interval_p50_ns, 0.5) AS interval_p50_ns, max(interval_max_ns) AS interval_max_ns,
    quantile_disc(took_p50_ns, 0.5) AS took_p50_ns, max(took_max_ns) AS took_max_ns,
    min(size_min_bytes) AS size_min_bytes, quantile_disc(size_p50_bytes, 0.5) AS size_p50_bytes, max(size_max_bytes) AS size_max_bytes
FROM page_scrapes GROUP BY arm ORDER BY arm;
