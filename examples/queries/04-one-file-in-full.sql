-- Every figure of one run: what the tool states, what its requests give, and why
-- the two cannot be set against each other where they cannot. Put your own path in.
SELECT a.path, a.part, s.scope, s.metric, s.stat, s.unit, s.n, s.value AS stated, s.recomputed, s.agreement, s.reason
FROM artifacts a
JOIN artifact_stats s USING (artifact)
WHERE a.artifact = (SELECT artifact FROM artifacts WHERE performance_eligible AND NOT summary_only ORDER BY kind DESC, path, part LIMIT 1)
ORDER BY s.scope, s.metric, s.stat, s.source_key;
