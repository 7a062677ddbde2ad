-- Identities of the engines' numbers, each arm: in how many cells each holds, and what explains the others.
-- key: arm, check_name, verdict, explanation
-- n: cells
-- rows: requests where counted and dispatched
SELECT arm, check_name, verdict, split_part(coalesce(explanation, ''), ':', 1) AS explanation, count(*) AS cells, min(explanation) AS example
FROM engine_checks GROUP BY ALL ORDER BY arm, check_name, verdict, explanation;
