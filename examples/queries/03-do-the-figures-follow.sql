-- Do the figures that the files state follow from the requests they keep? One row
-- per tool and protocol. "close" is within 1e-9 relative: another order of a sum.
SELECT a.tool, a.protocol, a.summary_only, count(*) AS figures,
    count(*) FILTER (s.agreement = 'exact') AS exact,
    count(*) FILTER (s.agreement = 'close') AS close,
    count(*) FILTER (s.agreement = 'different') AS different,
    count(*) FILTER (s.agreement = 'not_evaluable') AS not_evaluable
FROM artifact_stats s
JOIN artifacts a USING (artifact)
GROUP BY ALL
ORDER BY a.tool, a.protocol, a.summary_only;
