-- One row per configuration of retained runs: how often it was run, and how often a
-- request of the run failed.
CREATE OR REPLACE VIEW artifact_repeats AS
SELECT c.configuration, count(*) AS runs, count(*) FILTER (NOT c.stands) AS failed_runs,
    max(c.unknown_controls) AS unknown_controls, min(a.started_unix_ns) AS first_started_unix_ns, max(a.started_unix_ns) AS last_started_unix_ns,
    to_json(list(a.artifact ORDER BY a.path, a.part))::VARCHAR AS artifacts, min(c.described) AS described
FROM artifact_configurations c
JOIN artifacts a ON a.artifact = c.artifact
WHERE c.first_copy
GROUP BY c.configuration
ORDER BY c.configuration;
COMMENT ON VIEW artifact_repeats IS 'One row per configuration of retained runs, with how often it was run and how often a run was not whole. The same bytes count once.';
COMMENT ON COLUMN artifact_repeats.configuration IS 'Configuration.';
COMMENT ON COLUMN artifact_repeats.runs IS 'Runs of it, failed ones included.';
COMMENT ON COLUMN artifact_repeats.failed_runs IS 'Of these, the ones that are not whole; none of their figures is in artifact_spread.';
COMMENT ON COLUMN artifact_repeats.unknown_controls IS 'Most controls that one of its files does not state.';
COMMENT ON COLUMN artifact_repeats.first_started_unix_ns IS 'Start of the first run whose file says so, ns since 1970 UTC.';
COMMENT ON COLUMN artifact_repeats.last_started_unix_ns IS 'Start of the last run whose file says so, ns since 1970 UTC.';
COMMENT ON COLUMN artifact_repeats.artifacts IS 'JSON list of its runs, by path.';
COMMENT ON COLUMN artifact_repeats.described IS 'Everything its runs agree in.';
