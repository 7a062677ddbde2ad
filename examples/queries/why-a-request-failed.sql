-- Every verdict that is not a pass, with its reason; the rules the plan demands
-- come first. An empty result is good news.
SELECT v.arm, v.cell, v.request_index, v.rule, v.verdict, v.detail, r.demanded, f.outcome
FROM request_verdicts v
JOIN plan_rules r USING (campaign, rule)
LEFT JOIN request_facts f USING (campaign, arm, cell, attempt, request_index)
WHERE v.verdict NOT IN ('pass', 'not_applicable')
ORDER BY r.demanded DESC, v.cell, v.request_index, v.rule;
