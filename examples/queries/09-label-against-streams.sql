-- Runs whose label is not what their streams show. anvil-serving labels a cell by
-- its passing requests, so a reasoning cell that failed whole is labelled as one
-- without reasoning.
SELECT a.path, a.part, a.label_protocol, a.protocol, a.protocol_basis, a.completed, a.failed,
    sum(r.reasoning_chunks) AS reasoning_chunks, count(r.reasoning_chunks) AS requests_that_say
FROM artifacts a
LEFT JOIN artifact_requests r USING (artifact)
WHERE a.label_protocol IS NOT NULL AND a.protocol <> 'anvil/' || a.label_protocol
GROUP BY ALL
ORDER BY a.path, a.part;
