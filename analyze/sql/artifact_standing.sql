-- One row per artifact: whether its figures can stand in a comparison at all, and
-- every reason why not (formats.md section 1.4: a cell that is not whole is
-- ineligible, and its distributions are not ranked).
CREATE OR REPLACE VIEW artifact_standing AS
WITH found AS (
    SELECT artifact, unnest([
            {'reason': 'holds no run', 'holds': state <> 'loaded' OR kind NOT IN ('benchmark', 'aggregate')},
            {'reason': 'its figures have no known definition', 'holds': state = 'loaded' AND kind IN ('benchmark', 'aggregate') AND protocol IS NULL},
            {'reason': 'no request completed', 'holds': completed = 0},
            {'reason': format('{} of {} requests failed', coalesce(failed, requests - completed), requests),
                'holds': completed > 0 AND (failed > 0 OR completed < requests)}
        ], recursive := true)
    FROM artifacts
)
SELECT a.artifact, count(*) FILTER (f.holds) = 0 AS stands,
    to_json(coalesce(list(f.reason ORDER BY f.reason) FILTER (f.holds), []))::VARCHAR AS reasons
FROM artifacts a
JOIN found f ON f.artifact = a.artifact
GROUP BY a.artifact;
COMMENT ON VIEW artifact_standing IS 'One row per artifact: whether its figures can stand in a comparison at all, and every reason why not.';
COMMENT ON COLUMN artifact_standing.artifact IS 'Artifact.';
COMMENT ON COLUMN artifact_standing.stands IS 'It is a whole run with known definitions: as far as the file says, every request completed.';
COMMENT ON COLUMN artifact_standing.reasons IS 'JSON list of the reasons why not, sorted; empty when it stands.';
