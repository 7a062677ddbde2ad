-- How requests failed, by tool and class. Equal errors share a digest; their text
-- is in the files only. Old files keep no class.
SELECT a.tool, a.protocol, r.status, r.failure_class, r.error_type, substr(r.error_sha256, 1, 12) AS error, count(*) AS requests,
    count(r.e2e_ms) AS with_timing, count(DISTINCT r.artifact) AS runs
FROM artifact_requests r
JOIN artifacts a USING (artifact)
WHERE r.status <> 'completed'
GROUP BY ALL
ORDER BY a.tool, a.protocol, r.status, requests DESC, r.failure_class, r.error_type, error;
