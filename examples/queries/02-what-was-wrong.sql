-- What was wrong with the result files, by file. Nothing is left out of the tables
-- without a row here.
SELECT source, code, position, detail
FROM problems
WHERE campaign IS NULL AND stage = 'ingest'
ORDER BY source, code, position;
