-- Every problem found while collecting and loading.
-- key: stage, code, arm, source, position, cell, attempt, detail
SELECT stage, code, coalesce(arm, '') AS arm, source, position, cell, attempt, detail
FROM problems
ORDER BY stage, code, arm, source, position, cell, attempt, detail;
