-- One row per planned cell and rule of scope request or cell.
-- A request rule fails in its cell when one request fails it; otherwise it is not
-- evaluable when one request could not be judged; not applicable when it concerns
-- none; else it passes.
-- cell_complete: every planned request was dispatched and is complete, and the
-- attempt has a record of each planned request and of no other.
-- identity_stable: no stop for drift in this attempt; every identity fact that is
-- known on one side of the attempt is known and equal on the other, and there is
-- one; one HTTP version and one reasoning field over the cell's answers.
CREATE OR REPLACE VIEW cell_verdicts AS
WITH by_request AS (
    SELECT campaign, cell, rule, 'request' AS scope,
        count(*) FILTER (verdict = 'pass') AS passing,
        count(*) FILTER (verdict = 'fail') AS failing,
        count(*) FILTER (verdict = 'not_applicable') AS not_applicable,
        count(*) FILTER (verdict = 'not_evaluable') AS not_evaluable,
        list(request_index ORDER BY request_index) FILTER (verdict = 'fail') AS failing_list
    FROM request_verdicts
    GROUP BY ALL
), request_rules AS (
    SELECT *, CASE WHEN failing > 0 THEN 'fail'
            WHEN not_evaluable > 0 THEN 'not_evaluable'
            WHEN passing = 0 THEN 'not_applicable'
            ELSE 'pass' END AS verdict
    FROM by_request
), records AS (
    SELECT k.campaign, k.cell, k.requests, k.attempt,
        count(f.request_index) AS recorded,
        count(*) FILTER (f.dispatched AND f.outcome = 'complete' AND f.request_index BETWEEN 0 AND k.requests - 1) AS complete,
        list(f.request_index) FILTER (f.dispatched AND f.outcome = 'complete') AS complete_list,
        count(*) FILTER (f.dispatched) AS dispatched,
        count(DISTINCT f.http_version) AS http_versions,
        count(DISTINCT f.reasoning_field) AS reasoning_fields
    FROM counted_attempts k
    LEFT JOIN request_facts f ON f.campaign = k.campaign AND f.cell = k.cell AND f.attempt = k.attempt
    GROUP BY ALL
), complete_rule AS (
    SELECT campaign, cell, 'cell_complete' AS rule, 'cell' AS scope,
        complete AS passing, requests - complete AS failing, 0 AS not_applicable, 0 AS not_evaluable,
        list_filter(range(requests), lambda i: NOT list_contains(coalesce(complete_list, []), i)) AS failing_list,
        CASE WHEN complete = requests AND recorded = requests THEN 'pass' ELSE 'fail' END AS verdict
    FROM records
), fact_sides AS (
    SELECT k.campaign, k.cell, i.fact,
        list_sort(list(DISTINCT i.value) FILTER (i.phase = 'before' AND i.value IS NOT NULL)) AS before,
        list_sort(list(DISTINCT i.value) FILTER (i.phase = 'after' AND i.value IS NOT NULL)) AS after
    FROM counted_attempts k
    JOIN identities i ON i.campaign = k.campaign AND i.cell = k.cell AND i.attempt = k.attempt
    GROUP BY ALL
), facts AS (
    SELECT campaign, cell,
        count(*) FILTER (before IS NOT NULL AND before = after) AS equal,
        count(*) FILTER (before IS DISTINCT FROM after) AS unequal
    FROM fact_sides
    GROUP BY ALL
), drifts AS (
    SELECT k.campaign, k.cell, count(*) AS stops
    FROM counted_attempts k
    JOIN stops s ON s.campaign = k.campaign AND s.cell = k.cell
        AND (s.attempt = k.attempt OR s.attempt IS NULL) AND s.rule IN ('identity_drift', 'protocol_drift')
    GROUP BY ALL
), identity_rule AS (
    SELECT r.campaign, r.cell, 'identity_stable' AS rule, 'cell' AS scope,
        0 AS passing, 0 AS failing, 0 AS not_applicable, 0 AS not_evaluable,
        []::BIGINT[] AS failing_list,
        CASE WHEN coalesce(d.stops, 0) > 0 THEN 'fail'
            WHEN r.dispatched = 0 THEN 'not_evaluable'
            WHEN coalesce(f.equal, 0) = 0 OR f.unequal > 0 OR r.http_versions > 1 OR r.reasoning_fields > 1 THEN 'fail'
            ELSE 'pass' END AS verdict
    FROM records r
    LEFT JOIN facts f ON f.campaign = r.campaign AND f.cell = r.cell
    LEFT JOIN drifts d ON d.campaign = r.campaign AND d.cell = r.cell
), all_rules AS (
    SELECT campaign, cell, rule, scope, verdict, passing, failing, not_applicable, not_evaluable, failing_list FROM request_rules
    UNION ALL BY NAME SELECT * FROM complete_rule
    UNION ALL BY NAME SELECT * FROM identity_rule
)
SELECT v.campaign, k.arm, v.cell, k.attempt, v.rule, v.scope, v.verdict,
    v.passing, v.failing, v.not_applicable, v.not_evaluable,
    to_json(coalesce(v.failing_list, []))::VARCHAR AS failing_requests
FROM all_rules v
JOIN counted_attempts k ON k.campaign = v.campaign AND k.cell = v.cell
ORDER BY v.campaign, k.cell_order, v.cell, v.scope, v.rule;
COMMENT ON VIEW cell_verdicts IS 'One row per planned cell and rule of scope request or cell.';
COMMENT ON COLUMN cell_verdicts.campaign IS 'Campaign.';
COMMENT ON COLUMN cell_verdicts.arm IS 'Arm.';
COMMENT ON COLUMN cell_verdicts.cell IS 'Cell.';
COMMENT ON COLUMN cell_verdicts.attempt IS 'Counted attempt; 0 when the cell was never started.';
COMMENT ON COLUMN cell_verdicts.rule IS 'Rule; see plan_rules.';
COMMENT ON COLUMN cell_verdicts.scope IS 'request or cell.';
COMMENT ON COLUMN cell_verdicts.verdict IS 'pass, fail, not_applicable or not_evaluable.';
COMMENT ON COLUMN cell_verdicts.passing IS 'Requests that pass; for cell_complete those dispatched and complete; 0 for identity_stable, which judges no single request.';
COMMENT ON COLUMN cell_verdicts.failing IS 'Requests that fail; for cell_complete those not complete.';
COMMENT ON COLUMN cell_verdicts.not_applicable IS 'Requests the rule does not concern.';
COMMENT ON COLUMN cell_verdicts.not_evaluable IS 'Requests never dispatched, or refused before a stream began.';
COMMENT ON COLUMN cell_verdicts.failing_requests IS 'JSON list of the indices of the failing requests, ascending.';
