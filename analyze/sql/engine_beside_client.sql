-- One row per counted attempt and time that both engine and client measure: the
-- client's mean, over its dispatched requests that have the time. The two never
-- agree: the engine's begins when the request arrives, the client's before the dial,
-- and the engine counts foreign requests too. Queue and prefill have no counterpart.
CREATE OR REPLACE VIEW engine_beside_client AS
WITH times AS (
    SELECT campaign, arm, cell, attempt, request_index, unnest([
            {'canonical': 'ttft_arrival_seconds', 'client_metric': 'ttfo', 'ns': ttfo_ns::DOUBLE},
            {'canonical': 'e2e_seconds', 'client_metric': 'e2e', 'ns': e2e_ns::DOUBLE},
            {'canonical': 'decode_seconds', 'client_metric': 'last output - first output', 'ns': tpot_ns * (completion_tokens - 1)},
            {'canonical': 'tpot_request_seconds', 'client_metric': 'tpot', 'ns': tpot_ns}
        ], recursive := true)
    FROM request_metrics
    WHERE counted
)
SELECT k.campaign, k.arm, k.cell, k.attempt, t.canonical, t.client_metric,
    count(t.ns) AS client_n, sum(t.ns ORDER BY t.request_index) / count(t.ns) / 1e9 AS client_mean
FROM counted_attempts k
JOIN times t ON t.campaign = k.campaign AND t.cell = k.cell AND t.attempt = k.attempt
GROUP BY k.campaign, k.arm, k.cell, k.attempt, t.canonical, t.client_metric
HAVING count(t.ns) > 0
ORDER BY k.campaign, k.cell, t.canonical;
COMMENT ON VIEW engine_beside_client IS 'One row per counted attempt and time that both engine and client measure: the client''s mean, to stand beside the engine''s.';
COMMENT ON COLUMN engine_beside_client.campaign IS 'Campaign.';
COMMENT ON COLUMN engine_beside_client.arm IS 'Arm.';
COMMENT ON COLUMN engine_beside_client.cell IS 'Cell.';
COMMENT ON COLUMN engine_beside_client.attempt IS 'Counted attempt.';
COMMENT ON COLUMN engine_beside_client.canonical IS 'The engine''s canonical name, see histogram_summary.';
COMMENT ON COLUMN engine_beside_client.client_metric IS 'The client''s time: a name of request_metrics, or how it is made.';
COMMENT ON COLUMN engine_beside_client.client_n IS 'Requests of the client that have the time.';
COMMENT ON COLUMN engine_beside_client.client_mean IS 'Mean of the client''s time over these, in seconds; withheld requests take no part.';
