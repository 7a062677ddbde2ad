-- One row per request, flag and metric that the request alone decides, for every
-- attempt (measurement.md section 9). cache_assisted withholds the prefill figure
-- from comparisons only; the others withhold the value itself.
CREATE OR REPLACE VIEW request_withholdings AS
WITH effects(flag, metric) AS (VALUES
    ('burst_delivery', 'decode_tok_s'), ('burst_delivery', 'tpot_ns'),
    ('cache_assisted', 'effective_prefill_tok_s'),
    ('impossible_time', 'ttfo_ns'), ('impossible_time', 'ttft_ns'), ('impossible_time', 'ttft_nonblank_ns'),
    ('impossible_time', 'e2e_ns'), ('impossible_time', 'tpot_ns'), ('impossible_time', 'decode_tok_s'),
    ('impossible_time', 'effective_prefill_tok_s'), ('impossible_time', 'gap_p50_ns'), ('impossible_time', 'throughput_tok_s')
)
SELECT v.campaign, v.arm, v.cell, v.attempt, v.request_index, v.counted, e.flag, e.metric,
    CASE e.flag
        WHEN 'burst_delivery' THEN 'more than half of the output events came in one read with, or less than 1 ms after, the one before'
        WHEN 'cache_assisted' THEN format('{:.2f} % of the prompt tokens came from a cache; kept out of comparisons', 100 * v.cached_share)
        WHEN 'impossible_time' THEN 'a duration is negative or longer than the cell''s outer bound'
    END AS reason
FROM request_values v
JOIN effects e ON (e.flag = 'burst_delivery' AND v.burst_delivery)
    OR (e.flag = 'cache_assisted' AND v.cache_assisted)
    OR (e.flag = 'impossible_time' AND v.impossible_time)
ORDER BY v.campaign, v.cell, v.attempt, v.request_index, e.flag, e.metric;
COMMENT ON VIEW request_withholdings IS 'One row per request, flag and withheld metric that the request alone decides, for every attempt.';
COMMENT ON COLUMN request_withholdings.campaign IS 'Campaign.';
COMMENT ON COLUMN request_withholdings.arm IS 'Arm.';
COMMENT ON COLUMN request_withholdings.cell IS 'Cell.';
COMMENT ON COLUMN request_withholdings.attempt IS 'Attempt.';
COMMENT ON COLUMN request_withholdings.request_index IS 'Request.';
COMMENT ON COLUMN request_withholdings.counted IS 'The attempt stands for its cell.';
COMMENT ON COLUMN request_withholdings.flag IS 'burst_delivery, cache_assisted or impossible_time.';
COMMENT ON COLUMN request_withholdings.metric IS 'Column of request_metrics, or of cell_overlap, that is withheld.';
COMMENT ON COLUMN request_withholdings.reason IS 'Evidence in one sentence.';
