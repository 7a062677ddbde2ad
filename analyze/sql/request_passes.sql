-- One row per planned request of a counted attempt: whether it passes every request
-- rule its plan demands, a rule that is not applicable being no obstacle. A request
-- that was never sent, or refused before a stream began, passes under no plan.
CREATE OR REPLACE VIEW request_passes AS
SELECT v.campaign, v.arm, v.cell, v.attempt, v.request_index,
    coalesce(bool_and(v.verdict IN ('pass', 'not_applicable')) FILTER (p.demanded), true)
        AND bool_or(v.rule = 'terminal' AND v.verdict <> 'not_evaluable') AS passes,
    bool_or(v.verdict = 'pass') FILTER (v.rule = 'terminal') AS terminal
FROM request_verdicts v
LEFT JOIN plan_rules p ON p.campaign = v.campaign AND p.rule = v.rule
GROUP BY ALL
ORDER BY v.campaign, v.cell, v.request_index;
COMMENT ON VIEW request_passes IS 'One row per planned request of a counted attempt: whether it passes every request rule its plan demands.';
COMMENT ON COLUMN request_passes.campaign IS 'Campaign.';
COMMENT ON COLUMN request_passes.arm IS 'Arm.';
COMMENT ON COLUMN request_passes.cell IS 'Cell.';
COMMENT ON COLUMN request_passes.attempt IS 'Counted attempt.';
COMMENT ON COLUMN request_passes.request_index IS 'Position of the request in its cell, from 0.';
COMMENT ON COLUMN request_passes.passes IS 'The request was sent and answered with a stream, and every demanded request rule passes or is not applicable.';
COMMENT ON COLUMN request_passes.terminal IS 'The rule terminal passes.';
