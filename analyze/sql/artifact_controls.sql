-- One row per retained run and control: what must be equal before two runs may be
-- compared (formats.md section 1.6, measurement.md section 8). A null is unknown,
-- which is another thing than equal. Model, engine and GPU are no controls: they
-- are what a comparison is usually about.
CREATE OR REPLACE VIEW artifact_controls AS
WITH prompts AS (
    SELECT artifact, count(*) FILTER (prompt_tokens IS NOT NULL AND status = 'completed') AS known,
        md5(string_agg(request_index || ':' || prompt_tokens, ',' ORDER BY request_index)) AS digest
    FROM artifact_requests
    WHERE phase <> 'warmup'
    GROUP BY artifact
)
SELECT a.artifact, unnest([
        {'control_order': 0, 'control': 'protocol', 'value': a.protocol},
        {'control_order': 1, 'control': 'percentile_rule', 'value': a.percentile_rule},
        {'control_order': 2, 'control': 'first_output_boundary', 'value': a.first_output_boundary},
        {'control_order': 3, 'control': 'requests', 'value': a.requests::VARCHAR},
        {'control_order': 4, 'control': 'concurrency', 'value': a.concurrency::VARCHAR},
        -- a tool without a rate keeps its workers busy
        {'control_order': 5, 'control': 'request_rate', 'value': CASE WHEN a.tool = 'anvil-serving' THEN 'closed loop' ELSE a.request_rate END},
        {'control_order': 6, 'control': 'context_tokens', 'value': a.context_tokens::VARCHAR},
        {'control_order': 7, 'control': 'context_distribution', 'value': a.context_distribution},
        {'control_order': 8, 'control': 'max_context_tokens', 'value': a.max_context_tokens::VARCHAR},
        {'control_order': 9, 'control': 'max_tokens', 'value': a.max_tokens::VARCHAR},
        {'control_order': 10, 'control': 'context_seed', 'value': a.context_seed::VARCHAR},
        {'control_order': 11, 'control': 'prompt_cache_mode', 'value': a.prompt_cache_mode},
        -- the prefix is not used where every prompt is unique
        {'control_order': 12, 'control': 'shared_prefix_tokens', 'value': CASE WHEN a.prompt_cache_mode = 'unique' THEN '0' ELSE a.shared_prefix_tokens::VARCHAR END},
        {'control_order': 13, 'control': 'shared_prefix_burst', 'value': a.shared_prefix_burst::VARCHAR},
        {'control_order': 14, 'control': 'request_canaries', 'value': a.request_canaries::VARCHAR},
        {'control_order': 15, 'control': 'response_words', 'value': a.response_words::VARCHAR},
        {'control_order': 16, 'control': 'output_policy', 'value': a.output_policy},
        {'control_order': 17, 'control': 'thinking_mode', 'value': a.thinking_mode},
        {'control_order': 18, 'control': 'reasoning_effort', 'value': a.reasoning_effort},
        {'control_order': 19, 'control': 'temperature', 'value': coalesce(TRY_CAST(a.temperature AS DOUBLE)::VARCHAR, a.temperature)},
        {'control_order': 20, 'control': 'top_p', 'value': coalesce(TRY_CAST(a.top_p AS DOUBLE)::VARCHAR, a.top_p)},
        {'control_order': 21, 'control': 'prompt_tokens', 'value': CASE WHEN p.known = a.requests THEN p.digest END}
    ], recursive := true)
FROM artifacts a
LEFT JOIN prompts p ON p.artifact = a.artifact
WHERE a.state = 'loaded' AND a.kind IN ('benchmark', 'aggregate');
COMMENT ON VIEW artifact_controls IS 'One row per retained run and control: what must be equal before two runs may be compared.';
COMMENT ON COLUMN artifact_controls.artifact IS 'Run.';
COMMENT ON COLUMN artifact_controls.control_order IS 'Order of the controls, from 0.';
COMMENT ON COLUMN artifact_controls.control IS 'Control, a column of artifacts; prompt_tokens stands for the real prompt tokens index by index.';
COMMENT ON COLUMN artifact_controls.value IS 'Value as text; of prompt_tokens a digest. Null: the file does not say.';
