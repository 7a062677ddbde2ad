-- Outcomes of the requests of the counted attempts.
-- key: arm, outcome
-- n: of_requests
-- rows: requests where counted
SELECT f.arm, f.outcome, count(*) AS requests, sum(count(*)) OVER (PARTITION BY f.arm)::BIGINT AS of_requests, count(DISTINCT f.cell) AS cells
FROM request_facts f JOIN attempts a USING (campaign, arm, cell, attempt)
WHERE a.counted GROUP BY f.arm, f.outcome ORDER BY f.arm, f.outcome;
