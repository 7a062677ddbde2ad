-- Runs that may be compared, figure by figure, as the tools state them. The ratio
-- is of two figures of one run each: see 07 for what repeats of a run differ by.
SELECT c.path_a, c.path_b, c.subjects, a.metric, a.stat, a.unit, a.n AS n_a, b.n AS n_b, a.value AS value_a, b.value AS value_b,
    CASE WHEN a.value <> 0 THEN b.value / a.value END AS ratio
FROM artifact_comparability c
JOIN artifact_stats a ON a.artifact = c.artifact_a
JOIN artifact_stats b ON b.artifact = c.artifact_b AND b.scope = a.scope AND b.source_key = a.source_key
WHERE c.verdict = 'comparable' AND a.stat IN ('p50', 'p95') AND a.metric IN ('t_first_any', 't_first_visible', 'e2e', 'decode', 'completion_tokens')
ORDER BY c.path_a, c.path_b, a.metric, a.stat;
