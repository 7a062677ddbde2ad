-- One row per retained run: the configuration it belongs to. Runs of one
-- configuration agree in every control, stated or not, and in model, engine, GPU and
-- tool version. The real prompt tokens are an outcome here and no part of it, so that
-- a failed repeat stays with its configuration.
CREATE OR REPLACE VIEW artifact_configurations AS
WITH stated AS (
    SELECT artifact, string_agg(control || '=' || coalesce(value, '?'), '; ' ORDER BY control_order) AS controls,
        count(*) FILTER (value IS NULL) AS unknown_controls
    FROM artifact_controls
    WHERE control <> 'prompt_tokens'
    GROUP BY artifact
), named AS (
    SELECT a.*, s.controls, s.unknown_controls,
        format('model={}; engine={}; gpu={}; tool={} {}; {}', coalesce(a.model, '?'), coalesce(a.engine, '?'), coalesce(a.gpu, '?'),
            a.tool, coalesce(a.tool_version, '?'), s.controls) AS described
    FROM artifacts a
    JOIN stated s ON s.artifact = a.artifact
)
SELECT n.artifact, substr(md5(n.described), 1, 16) AS configuration, n.described, n.unknown_controls, t.stands,
    row_number() OVER (PARTITION BY n.described, n.sha256, n.part ORDER BY n.path) = 1 AS first_copy
FROM named n
JOIN artifact_standing t ON t.artifact = n.artifact;
COMMENT ON VIEW artifact_configurations IS 'One row per retained run: the configuration it belongs to.';
COMMENT ON COLUMN artifact_configurations.artifact IS 'Run.';
COMMENT ON COLUMN artifact_configurations.configuration IS 'Id of the configuration: a digest of described.';
COMMENT ON COLUMN artifact_configurations.described IS 'Everything that runs of the configuration agree in; ? for what no file says.';
COMMENT ON COLUMN artifact_configurations.unknown_controls IS 'How many controls the file does not state. Runs that agree in these by silence may still differ.';
COMMENT ON COLUMN artifact_configurations.stands IS 'The run is whole, see artifact_standing.';
COMMENT ON COLUMN artifact_configurations.first_copy IS 'False for the same bytes under another path: it is counted once.';
