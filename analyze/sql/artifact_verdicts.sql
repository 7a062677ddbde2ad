-- One row per retained run and eligibility rule of assay/v1: pass, fail,
-- not_applicable or not_evaluable. A rule passes only where the file keeps the
-- evidence for every planned request; one request that breaks it is enough to fail.
-- What a tool says it checked is no evidence.
CREATE OR REPLACE VIEW artifact_verdicts AS
WITH requests AS (
    SELECT artifact, unnest([
            {'rule': 'terminal', 'good': stream_terminal},
            {'rule': 'usage_exact', 'good': CASE WHEN output_token_source = 'usage' THEN prompt_tokens IS NOT NULL AND output_tokens IS NOT NULL
                WHEN output_token_source IN ('content_chunks', 'assumed', 'unknown') THEN false END},
            {'rule': 'finish_allowed', 'good': CASE WHEN finish_reasons IS NOT NULL THEN finish_reasons = '["stop"]' END},
            {'rule': 'visible_output', 'good': CASE WHEN content_chunks IS NOT NULL THEN content_chunks > 0
                WHEN t_first_visible_ms IS NOT NULL THEN true END},
            {'rule': 'canary_first', 'good': canary_first},
            {'rule': 'no_foreign_marker', 'good': foreign_markers = 0},
            {'rule': 'capture_complete', 'good': capture_complete},
            {'rule': 'controlled_exact', 'good': CASE WHEN words_requested IS NOT NULL THEN coalesce(words_exact, false) END}
        ], recursive := true)
    FROM artifact_requests
    WHERE phase <> 'warmup'
), counted AS (
    SELECT artifact, rule, count(*) FILTER (good) AS passing, count(*) FILTER (NOT good) AS failing
    FROM requests
    GROUP BY artifact, rule
), rules AS (
    SELECT a.artifact, a.requests, a.completed, a.failed, a.request_canaries, a.response_words, a.output_policy, unnest([
            'cell_complete', 'terminal', 'usage_exact', 'finish_allowed', 'visible_output', 'canary_first', 'no_foreign_marker',
            'capture_complete', 'controlled_exact', 'identity_stable']) AS rule
    FROM artifacts a
    WHERE a.state = 'loaded' AND a.kind IN ('benchmark', 'aggregate')
), judged AS (
    SELECT r.artifact, r.rule, r.requests, coalesce(c.passing, 0) AS passing, coalesce(c.failing, 0) AS failing,
        CASE r.rule
            WHEN 'canary_first' THEN r.request_canaries
            WHEN 'no_foreign_marker' THEN r.request_canaries
            WHEN 'controlled_exact' THEN NOT (r.response_words = 0 OR r.output_policy = 'observe')
            ELSE true END AS applies,
        CASE WHEN r.completed IS NOT NULL AND r.requests IS NOT NULL AND (r.completed < r.requests OR r.failed > 0) THEN false
            WHEN r.completed = r.requests THEN true END AS whole
    FROM rules r
    LEFT JOIN counted c ON c.artifact = r.artifact AND c.rule = r.rule
)
SELECT artifact, rule,
    CASE WHEN rule = 'cell_complete' THEN CASE whole WHEN true THEN 'pass' WHEN false THEN 'fail' ELSE 'not_evaluable' END
        WHEN NOT applies THEN 'not_applicable'
        WHEN failing > 0 THEN 'fail'
        WHEN passing = requests AND requests > 0 THEN 'pass'
        ELSE 'not_evaluable' END AS verdict,
    passing, failing, requests
FROM judged
ORDER BY artifact, rule;
COMMENT ON VIEW artifact_verdicts IS 'One row per retained run and eligibility rule of assay/v1. A rule passes only where the file keeps the evidence for every planned request.';
COMMENT ON COLUMN artifact_verdicts.artifact IS 'Run.';
COMMENT ON COLUMN artifact_verdicts.rule IS 'Rule, as in plan_rules. protocol_equal is about two runs: see artifact_comparability.';
COMMENT ON COLUMN artifact_verdicts.verdict IS 'pass, fail, not_applicable, or not_evaluable: the file lacks the evidence.';
COMMENT ON COLUMN artifact_verdicts.passing IS 'Requests whose retained evidence passes.';
COMMENT ON COLUMN artifact_verdicts.failing IS 'Requests whose retained evidence fails.';
COMMENT ON COLUMN artifact_verdicts.requests IS 'Planned requests; null when the file does not say.';
