-- One row per arm and capacity fact: what the plan configures and the engine
-- states, the best source of each. A fact that the engine does not show has no
-- value and the source "not visible" (for max_num_seqs "default, not reported" when
-- the command line was seen and does not set it); one that differs between readings
-- of its best source has none and the confidence conflicting.
-- Sources in order: labels of a page, what the engine states as effective, gauges,
-- answers of its endpoints, its log, settings (endpoint, argv, logged arguments),
-- and last a product of reported parts, which stands only where nothing states the
-- fact itself. Engine ranks add. Of vLLM's blocks x block size is a lower bound.
-- confidence: reported, logged (rounded as printed), configured, derived (a
-- product), lower_bound, conflicting, unknown.
CREATE OR REPLACE VIEW capacity_facts AS
WITH configured AS (
    SELECT campaign, arm, 'max_model_len_configured' AS fact, 'tokens' AS unit, 'plan' AS source, 'configured' AS confidence, 1 AS place,
        max_model_len::DOUBLE AS value
    FROM cells WHERE max_model_len IS NOT NULL
), served AS (
    SELECT k.campaign, k.arm, 'max_model_len' AS fact, 'tokens' AS unit, i.source, 'reported' AS confidence, 5 AS place,
        TRY_CAST(i.value AS BIGINT)::DOUBLE AS value
    FROM counted_attempts k
    JOIN identities i ON i.campaign = k.campaign AND i.cell = k.cell AND i.attempt = k.attempt
    WHERE i.fact = 'max_model_len' AND TRY_CAST(i.value AS BIGINT) IS NOT NULL
), cache_labels AS (
    SELECT DISTINCT r.campaign, r.arm, r.cell, s.page_seq, r.scraped, json_merge_patch(s.labels, r.copy_labels) AS labels
    FROM resolved_series r
    JOIN engine_samples s ON s.campaign = r.campaign AND s.cell = r.cell AND s.attempt = r.attempt AND s.series = r.scraped
    WHERE r.canonical = 'kv_pool_config' AND s.value IS NOT NULL
), pools AS (
    SELECT campaign, arm, cell, page_seq, scraped,
        list(TRY_CAST(json_extract_string(labels, '$.kv_cache_size_tokens') AS BIGINT)) AS tokens,
        list(TRY_CAST(json_extract_string(labels, '$.num_gpu_blocks') AS BIGINT)
            * TRY_CAST(json_extract_string(labels, '$.block_size') AS BIGINT)) AS block_tokens,
        list(TRY_CAST(json_extract_string(labels, '$.kv_cache_memory_bytes') AS BIGINT)) AS bytes
    FROM cache_labels
    GROUP BY ALL
), cache_facts AS (
    SELECT campaign, arm, 'kv_pool_tokens' AS fact, 'tokens' AS unit, scraped || ' kv_cache_size_tokens' AS source, 'reported' AS confidence,
        10 AS place, list_sum(tokens)::DOUBLE AS value
    FROM pools WHERE list_count(tokens) = len(tokens)
    UNION ALL
    SELECT campaign, arm, 'kv_pool_tokens', 'tokens', scraped || ' num_gpu_blocks x block_size', 'lower_bound',
        95, list_sum(block_tokens)::DOUBLE
    FROM pools WHERE list_count(block_tokens) = len(block_tokens)
    UNION ALL
    SELECT campaign, arm, 'kv_bytes', 'bytes', scraped || ' kv_cache_memory_bytes', 'reported', 10, list_sum(bytes)::DOUBLE
    FROM pools WHERE list_count(bytes) = len(bytes)
), scraped_names AS (
    SELECT campaign, cell, canonical, min(scraped) AS scraped FROM resolved_series GROUP BY ALL
), gauges AS (
    SELECT g.campaign, g.arm, CASE g.canonical WHEN 'weights_gb' THEN 'weights_bytes' WHEN 'kv_pool_gb' THEN 'kv_bytes' ELSE g.canonical END AS fact,
        g.unit, r.scraped AS source, 'reported' AS confidence, 20 AS place, g.value
    FROM engine_gauges g
    JOIN scraped_names r ON r.campaign = g.campaign AND r.cell = g.cell AND r.canonical = g.canonical
    WHERE g.canonical IN ('kv_pool_tokens', 'max_model_len', 'max_num_seqs', 'weights_bytes', 'weights_gb', 'kv_pool_gb') AND g.value IS NOT NULL
), block_products AS (
    SELECT b.campaign, b.arm, 'kv_pool_tokens' AS fact, 'tokens' AS unit, n.scraped || ' x ' || m.scraped AS source, 'derived' AS confidence,
        90 AS place, b.value * t.value AS value
    FROM engine_gauges b
    JOIN engine_gauges t ON t.campaign = b.campaign AND t.cell = b.cell AND t.page_seq = b.page_seq AND t.canonical = 'kv_block_tokens'
    JOIN scraped_names n ON n.campaign = b.campaign AND n.cell = b.cell AND n.canonical = b.canonical
    JOIN scraped_names m ON m.campaign = b.campaign AND m.cell = b.cell AND m.canonical = t.canonical
    WHERE b.canonical = 'kv_blocks' AND b.value * t.value IS NOT NULL
), stated AS (
    SELECT k.campaign, k.arm, f.fact, f.unit, f.source, f.confidence, f.place, TRY_CAST(f.value AS DOUBLE) AS value
    FROM counted_attempts k
    JOIN engine_facts f ON f.campaign = k.campaign AND f.cell = k.cell AND f.attempt = k.attempt
    WHERE f.fact IN ('kv_pool_tokens', 'max_model_len', 'max_num_seqs', 'kv_bytes', 'weights_bytes') AND TRY_CAST(f.value AS DOUBLE) IS NOT NULL
), command_lines AS (
    SELECT DISTINCT campaign, arm FROM engine_facts WHERE fact = 'answer' AND source = 'argv' AND value = 'read'
), known AS (
    FROM configured
    UNION ALL BY NAME FROM served
    UNION ALL BY NAME FROM cache_facts
    UNION ALL BY NAME FROM gauges
    UNION ALL BY NAME FROM block_products
    UNION ALL BY NAME FROM stated
), by_source AS (
    SELECT campaign, arm, fact, unit, source, confidence, place,
        count(DISTINCT value) AS readings, min(value) AS value
    FROM known
    GROUP BY ALL
), best AS (
    SELECT * FROM by_source
    QUALIFY row_number() OVER (PARTITION BY campaign, arm, fact ORDER BY place, source) = 1
), wanted AS (
    SELECT a.campaign, a.arm, a.arm_order, f.*
    FROM arms a
    CROSS JOIN (VALUES ('max_model_len_configured', 'tokens'), ('max_model_len', 'tokens'), ('max_num_seqs', 'requests'),
        ('kv_pool_tokens', 'tokens'), ('kv_bytes', 'bytes'), ('weights_bytes', 'bytes')) f(fact, unit)
)
SELECT w.campaign, w.arm, w.fact,
    CASE WHEN k.readings = 1 THEN k.value END AS value,
    coalesce(k.unit, w.unit) AS unit,
    coalesce(k.source, CASE WHEN w.fact = 'max_num_seqs' AND c.arm IS NOT NULL THEN 'default, not reported' ELSE 'not visible' END) AS source,
    CASE WHEN k.fact IS NULL THEN 'unknown' WHEN k.readings > 1 THEN 'conflicting' ELSE k.confidence END AS confidence
FROM wanted w
LEFT JOIN best k ON k.campaign = w.campaign AND k.arm = w.arm AND k.fact = w.fact
LEFT JOIN command_lines c ON c.campaign = w.campaign AND c.arm = w.arm
ORDER BY w.campaign, w.arm_order, w.arm, w.fact;
COMMENT ON VIEW capacity_facts IS 'One row per arm and capacity fact: what the plan configures and the engine reports.';
COMMENT ON COLUMN capacity_facts.campaign IS 'Campaign.';
COMMENT ON COLUMN capacity_facts.arm IS 'Arm.';
COMMENT ON COLUMN capacity_facts.fact IS 'max_model_len_configured, max_model_len, max_num_seqs, kv_pool_tokens, kv_bytes or weights_bytes.';
COMMENT ON COLUMN capacity_facts.value IS 'The fact, in its unit; null when not visible or conflicting.';
COMMENT ON COLUMN capacity_facts.unit IS 'Unit of value: of memory bytes, or GB where the engine states GB and may mean GiB.';
COMMENT ON COLUMN capacity_facts.source IS 'Where the value comes from; not visible when the engine does not show it; default, not reported when its command line does not set it.';
COMMENT ON COLUMN capacity_facts.confidence IS 'reported, logged (rounded as printed), configured, derived (a product of reported parts), lower_bound, conflicting or unknown.';
