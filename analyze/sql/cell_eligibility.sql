-- One row per planned cell, whether it ran or not.
-- A cell is eligible when every rule of scope request or cell that its plan
-- demands passes or is not applicable. A demanded rule that nothing evaluates
-- counts as failed, and a cell that sent nothing is not eligible. Warm-ups are excluded whatever their verdicts.
-- passing counts the requests that pass all demanded request rules; eligible is
-- passing in an eligible cell, else 0.
CREATE OR REPLACE VIEW cell_eligibility AS
WITH demanded AS (
    SELECT campaign, rule, scope FROM plan_rules WHERE demanded AND scope <> 'pair'
), failed AS (
    SELECT k.campaign, k.cell,
        list(d.rule ORDER BY d.rule) FILTER (coalesce(v.verdict, 'not_evaluable') NOT IN ('pass', 'not_applicable')) AS rules
    FROM counted_attempts k
    JOIN demanded d ON d.campaign = k.campaign
    LEFT JOIN cell_verdicts v ON v.campaign = k.campaign AND v.cell = k.cell AND v.rule = d.rule
    GROUP BY ALL
), counts AS (
    SELECT campaign, cell,
        count(*) FILTER (terminal) AS terminal,
        count(*) FILTER (passes) AS passing
    FROM request_passes
    GROUP BY ALL
), dispatched AS (
    SELECT k.campaign, k.cell, count(*) AS dispatched
    FROM counted_attempts k
    JOIN request_facts f ON f.campaign = k.campaign AND f.cell = k.cell AND f.attempt = k.attempt
    WHERE f.dispatched
    GROUP BY ALL
), judged AS (
    SELECT k.*, coalesce(f.rules, []) AS rules,
        CASE WHEN k.excluded_warmup THEN 'excluded_warmup'
            WHEN len(coalesce(f.rules, [])) = 0 AND n.dispatched > 0 AND EXISTS (FROM plan_rules p WHERE p.campaign = k.campaign) THEN 'eligible'
            ELSE 'ineligible' END AS eligibility,
        coalesce(n.dispatched, 0) AS dispatched,
        coalesce(c.terminal, 0) AS terminal,
        coalesce(c.passing, 0) AS passing
    FROM counted_attempts k
    LEFT JOIN failed f ON f.campaign = k.campaign AND f.cell = k.cell
    LEFT JOIN counts c ON c.campaign = k.campaign AND c.cell = k.cell
    LEFT JOIN dispatched n ON n.campaign = k.campaign AND n.cell = k.cell
)
SELECT campaign, arm, cell, cell_order, attempt, run_state, eligibility,
    requests AS planned, dispatched, terminal, passing,
    CASE WHEN eligibility = 'eligible' THEN passing ELSE 0 END AS eligible,
    to_json(rules)::VARCHAR AS failed_rules
FROM judged
ORDER BY campaign, cell_order, cell;
COMMENT ON VIEW cell_eligibility IS 'One row per planned cell: whether its numbers may be published, and the counts behind it.';
COMMENT ON COLUMN cell_eligibility.campaign IS 'Campaign.';
COMMENT ON COLUMN cell_eligibility.arm IS 'Arm.';
COMMENT ON COLUMN cell_eligibility.cell IS 'Cell.';
COMMENT ON COLUMN cell_eligibility.cell_order IS 'Position in the plan''s matrix, from 0.';
COMMENT ON COLUMN cell_eligibility.attempt IS 'Counted attempt; 0 when the cell was never started.';
COMMENT ON COLUMN cell_eligibility.run_state IS 'complete, partial, outer_timeout, blocked_by_stop, not_run_deadline or not_run.';
COMMENT ON COLUMN cell_eligibility.eligibility IS 'eligible, ineligible or excluded_warmup.';
COMMENT ON COLUMN cell_eligibility.planned IS 'Requests planned.';
COMMENT ON COLUMN cell_eligibility.dispatched IS 'Requests sent.';
COMMENT ON COLUMN cell_eligibility.terminal IS 'Requests whose stream ended with [DONE]; see the rule terminal.';
COMMENT ON COLUMN cell_eligibility.passing IS 'Requests that pass every demanded request rule.';
COMMENT ON COLUMN cell_eligibility.eligible IS 'passing in an eligible cell, else 0.';
COMMENT ON COLUMN cell_eligibility.failed_rules IS 'JSON list of the demanded rules that do not pass, sorted.';
