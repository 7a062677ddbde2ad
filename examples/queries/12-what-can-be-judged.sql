-- Which eligibility rules of assay/v1 the retained files have evidence for. A rule
-- without evidence for every request is not evaluable, and never a pass.
SELECT a.tool, a.protocol, v.rule,
    count(*) FILTER (v.verdict = 'pass') AS pass,
    count(*) FILTER (v.verdict = 'fail') AS fail,
    count(*) FILTER (v.verdict = 'not_applicable') AS not_applicable,
    count(*) FILTER (v.verdict = 'not_evaluable') AS not_evaluable
FROM artifact_verdicts v
JOIN artifacts a USING (artifact)
GROUP BY ALL
ORDER BY a.tool, a.protocol, v.rule;
