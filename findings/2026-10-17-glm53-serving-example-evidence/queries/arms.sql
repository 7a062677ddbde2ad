-- The arms, and the cells and requests of each.
-- key: arm
-- n: requests_planned
-- rows: requests where counted
SELECT a.arm, a.arm_order, a.model, a.engine, a.repository, a.revision, a.endpoint, a.loopback,
    count(*) AS cells, count(*) FILTER (WHERE e.eligibility <> 'excluded_warmup') AS cells_measured,
    count(*) FILTER (WHERE e.eligibility = 'eligible') AS cells_eligible,
    sum(e.planned)::BIGINT AS requests_planned, sum(e.eligible)::BIGINT AS requests_eligible
FROM arms a JOIN cell_eligibility e USING (campaign, arm)
GROUP BY ALL ORDER BY a.arm_order, a.arm;
