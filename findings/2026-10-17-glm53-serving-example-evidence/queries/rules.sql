-- What failed most: each request rule of each arm over all requests of the counted attempts.
-- key: arm, rule
-- n: requests
-- rows: rule_requests
SELECT v.arm, v.rule,
    count(*) AS requests,
    count(*) FILTER (WHERE v.verdict = 'pass') AS passing,
    count(*) FILTER (WHERE v.verdict = 'fail') AS failing,
    count(*) FILTER (WHERE v.verdict = 'not_applicable') AS not_applicable,
    count(*) FILTER (WHERE v.verdict = 'not_evaluable') AS not_evaluable
FROM request_verdicts v JOIN attempts a USING (campaign, arm, cell, attempt)
WHERE a.counted GROUP BY v.arm, v.rule ORDER BY v.arm, v.rule;
