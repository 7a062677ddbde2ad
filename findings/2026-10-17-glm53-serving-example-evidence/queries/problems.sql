-- What was found wrong while collecting and loading, grouped.
-- key: stage, code, arm, source
-- n: problems
-- rows: problem_rows
SELECT stage, code, coalesce(arm, '') AS arm, source, count(*) AS problems, count(DISTINCT cell) AS cells, min(detail) AS example
FROM problems GROUP BY stage, code, coalesce(arm, ''), source ORDER BY problems DESC, stage, code, arm, source;
