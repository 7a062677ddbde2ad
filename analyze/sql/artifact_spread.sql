-- One row per configuration and stated figure: the spread of the figure over the
-- whole runs of the configuration. A run that is not whole gives no figure; it is
-- counted in artifact_repeats.
CREATE OR REPLACE VIEW artifact_spread AS
WITH figures AS (
    SELECT c.configuration, s.source_key, s.scope, s.metric, s.stat, s.unit, s.value
    FROM artifact_configurations c
    JOIN artifact_stats s ON s.artifact = c.artifact
    WHERE c.first_copy AND c.stands AND s.value IS NOT NULL
)
SELECT configuration, source_key, scope, metric, stat, unit, count(*) AS runs,
    min(value) AS min, quantile_disc(value, 0.5) AS p50, max(value) AS max,
    CASE WHEN count(*) > 1 AND quantile_disc(value, 0.5) > 0 THEN (max(value) - min(value)) / quantile_disc(value, 0.5) END AS relative_spread
FROM figures
GROUP BY ALL
ORDER BY configuration, scope, source_key;
COMMENT ON VIEW artifact_spread IS 'One row per configuration of retained runs and stated figure: its spread over the whole runs. Figures that the tools state, never ours.';
COMMENT ON COLUMN artifact_spread.configuration IS 'Configuration.';
COMMENT ON COLUMN artifact_spread.source_key IS 'The tool''s own name of the figure.';
COMMENT ON COLUMN artifact_spread.scope IS 'Requests the figure is over.';
COMMENT ON COLUMN artifact_spread.metric IS 'What is measured.';
COMMENT ON COLUMN artifact_spread.stat IS 'Statistic of one run.';
COMMENT ON COLUMN artifact_spread.unit IS 'Unit of min, p50 and max.';
COMMENT ON COLUMN artifact_spread.runs IS 'Whole runs that state the figure.';
COMMENT ON COLUMN artifact_spread.min IS 'Least.';
COMMENT ON COLUMN artifact_spread.p50 IS 'Nearest-rank median of the runs.';
COMMENT ON COLUMN artifact_spread.max IS 'Greatest.';
COMMENT ON COLUMN artifact_spread.relative_spread IS 'max minus min over p50; null for a single run.';
