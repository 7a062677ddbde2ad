-- The verdict of each rule on each request of a counted attempt, and why. A rule of a whole cell has one verdict, which stands beside each request.
-- key: cell, rule, request_index
SELECT arm, cell, attempt, rule, request_index, verdict, detail FROM request_verdicts
UNION ALL
SELECT v.arm, v.cell, v.attempt, v.rule, f.request_index, v.verdict, f.outcome
FROM cell_verdicts v
JOIN request_facts f ON f.campaign = v.campaign AND f.cell = v.cell AND f.attempt = v.attempt
WHERE v.scope = 'cell'
ORDER BY cell, rule, request_index;
