-- One row per pair of artifacts: comparable, different, unknown or invalid. invalid
-- comes first (one of them cannot stand, or both are the same bytes), then a control
-- that differs, then one that a file does not state. Runs with one run id and other
-- bytes are two artifacts like any others. Nothing is normalised.
CREATE OR REPLACE VIEW artifact_comparability AS
WITH pairs AS (
    SELECT a.artifact AS artifact_a, b.artifact AS artifact_b, a.path AS path_a, b.path AS path_b,
        a.sha256 = b.sha256 AND a.part = b.part AS same_bytes, a.run_id = b.run_id AS same_run_id,
        [s.subject for s in [
            {'subject': 'engine', 'differs': a.engine IS DISTINCT FROM b.engine},
            {'subject': 'gpu', 'differs': a.gpu IS DISTINCT FROM b.gpu},
            {'subject': 'model', 'differs': a.model IS DISTINCT FROM b.model},
            {'subject': 'tool_version', 'differs': a.tool_version IS DISTINCT FROM b.tool_version}] if s.differs] AS subjects,
        from_json(sa.reasons, '["VARCHAR"]') AS reasons_a, from_json(sb.reasons, '["VARCHAR"]') AS reasons_b
    FROM artifacts a
    JOIN artifacts b ON b.artifact > a.artifact
    JOIN artifact_standing sa ON sa.artifact = a.artifact
    JOIN artifact_standing sb ON sb.artifact = b.artifact
), judged AS (
    SELECT a.artifact AS artifact_a, b.artifact AS artifact_b,
        list(a.control ORDER BY a.control_order) FILTER (a.value <> b.value) AS different,
        list(a.control ORDER BY a.control_order) FILTER (a.value IS NULL OR b.value IS NULL) AS unknown
    FROM artifact_controls a
    JOIN artifact_controls b ON b.control = a.control AND b.artifact > a.artifact
    GROUP BY ALL
), invalid AS (
    SELECT p.*, coalesce(j.different, []) AS different, coalesce(j.unknown, []) AS unknown,
        list_concat(
            CASE WHEN same_bytes THEN ['the same bytes under two paths'] ELSE [] END,
            ['a: ' || r for r in reasons_a],
            ['b: ' || r for r in reasons_b]) AS invalid
    FROM pairs p
    LEFT JOIN judged j ON j.artifact_a = p.artifact_a AND j.artifact_b = p.artifact_b
)
SELECT artifact_a, artifact_b, path_a, path_b,
    CASE WHEN len(invalid) > 0 THEN 'invalid' WHEN len(different) > 0 THEN 'different' WHEN len(unknown) > 0 THEN 'unknown' ELSE 'comparable' END AS verdict,
    to_json(invalid)::VARCHAR AS invalid, to_json(different)::VARCHAR AS different, to_json(unknown)::VARCHAR AS unknown,
    to_json(subjects)::VARCHAR AS subjects, same_run_id
FROM invalid
ORDER BY path_a, path_b, artifact_a, artifact_b;
COMMENT ON VIEW artifact_comparability IS 'One row per pair of artifacts, each pair once: comparable, different, unknown or invalid, with the fields. Filter by an artifact or a path when there are many.';
COMMENT ON COLUMN artifact_comparability.artifact_a IS 'The one of the two with the smaller key.';
COMMENT ON COLUMN artifact_comparability.artifact_b IS 'The other.';
COMMENT ON COLUMN artifact_comparability.path_a IS 'Path of artifact_a.';
COMMENT ON COLUMN artifact_comparability.path_b IS 'Path of artifact_b.';
COMMENT ON COLUMN artifact_comparability.verdict IS 'comparable: all controls are known and equal; different: one differs; unknown: none is known to differ, and one is not stated; invalid: one of the two cannot stand in a comparison.';
COMMENT ON COLUMN artifact_comparability.invalid IS 'JSON list of the reasons why the pair is invalid.';
COMMENT ON COLUMN artifact_comparability.different IS 'JSON list of the controls that differ, in the order of artifact_controls.';
COMMENT ON COLUMN artifact_comparability.unknown IS 'JSON list of the controls that one of the two does not state.';
COMMENT ON COLUMN artifact_comparability.subjects IS 'JSON list of what may differ in a comparison and does: engine, gpu, model, tool_version. An unknown one counts as another value than a known one.';
COMMENT ON COLUMN artifact_comparability.same_run_id IS 'Both state the same run id, which proves nothing: ids repeat.';
