-- Answers as long as the limit they were given: cut, most likely, where the file
-- keeps no finish reason that would say so.
SELECT a.path, a.part, a.max_tokens, count(*) AS completed, count(*) FILTER (r.output_tokens >= a.max_tokens) AS at_the_limit,
    count(r.finish_reasons) AS with_finish_reason, max(r.output_tokens) AS longest
FROM artifact_requests r
JOIN artifacts a USING (artifact)
WHERE r.status = 'completed' AND r.phase <> 'warmup' AND a.max_tokens IS NOT NULL
GROUP BY ALL
ORDER BY at_the_limit DESC, a.path, a.part;
