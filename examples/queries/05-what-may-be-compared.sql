-- For one run, every other run: may the two be compared, and if not, why. A control
-- that a file does not state is unknown, and never taken for equal.
WITH mine AS (
    SELECT artifact FROM artifacts WHERE performance_eligible AND NOT summary_only ORDER BY kind DESC, path, part LIMIT 1
), theirs AS (
    SELECT artifact_a AS artifact, path_b AS other, verdict, invalid, different, unknown, subjects FROM artifact_comparability
    UNION ALL
    SELECT artifact_b, path_a, verdict, invalid, different, unknown, subjects FROM artifact_comparability
)
SELECT t.other, t.verdict, t.subjects, t.different, t.unknown, t.invalid
FROM mine m
JOIN theirs t USING (artifact)
ORDER BY list_position(['comparable', 'unknown', 'different', 'invalid'], t.verdict), t.other, t.invalid, t.different, t.unknown;
