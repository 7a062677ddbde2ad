-- How the requests of each cell ended, in its counted attempt.
-- key: cell, outcome
-- rows: requests where counted
SELECT e.arm, e.cell, f.outcome, count(*) AS requests
FROM cell_eligibility e
JOIN request_facts f ON f.campaign = e.campaign AND f.cell = e.cell AND f.attempt = e.attempt
GROUP BY e.arm, e.cell, f.outcome
ORDER BY e.arm, e.cell, f.outcome;
