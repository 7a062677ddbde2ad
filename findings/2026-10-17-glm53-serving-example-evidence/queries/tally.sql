-- Counts of the whole campaign: cells and requests, planned to eligible.
-- key: campaign
-- n: requests_planned
-- rows: requests where counted
SELECT campaign,
    count(*) AS cells_planned,
    count(*) FILTER (WHERE dispatched > 0) AS cells_dispatched,
    count(*) FILTER (WHERE planned > 0 AND terminal = planned) AS cells_terminal,
    count(*) FILTER (WHERE planned > 0 AND passing = planned) AS cells_passing,
    count(*) FILTER (WHERE eligibility = 'eligible') AS cells_eligible,
    count(*) FILTER (WHERE eligibility = 'excluded_warmup') AS cells_warmup,
    count(*) FILTER (WHERE eligibility <> 'excluded_warmup') AS cells_measured,
    count(*) FILTER (WHERE eligibility = 'ineligible') AS cells_ineligible,
    count(*) FILTER (WHERE dispatched = 0) AS cells_not_run,
    sum(planned)::BIGINT AS requests_planned,
    sum(dispatched)::BIGINT AS requests_dispatched,
    sum(terminal)::BIGINT AS requests_terminal,
    sum(passing)::BIGINT AS requests_passing,
    sum(eligible)::BIGINT AS requests_eligible,
    coalesce(sum(planned) FILTER (WHERE eligibility <> 'excluded_warmup'), 0)::BIGINT AS requests_measured,
    coalesce(sum(planned) FILTER (WHERE eligibility = 'excluded_warmup'), 0)::BIGINT AS requests_warmup
FROM cell_eligibility GROUP BY campaign ORDER BY campaign;
