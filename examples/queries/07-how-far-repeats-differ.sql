-- Configurations that were run more than once: how far the stated medians of the
-- whole runs lie apart, and how many runs were not whole and are left out of it.
SELECT r.configuration, r.runs, r.failed_runs, r.unknown_controls, s.metric, s.stat, s.unit, s.runs AS runs_with_it,
    s.min, s.p50, s.max, round(100 * s.relative_spread, 2) AS spread_percent
FROM artifact_repeats r
JOIN artifact_spread s USING (configuration)
WHERE r.runs > 1 AND s.stat = 'p50' AND s.metric IN ('t_first_any', 't_first_visible', 'e2e', 'decode')
ORDER BY r.configuration, s.metric;
