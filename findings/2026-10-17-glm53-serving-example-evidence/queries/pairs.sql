-- Matched cells of two arms: comparable, or every reason why not.
-- key: pair
-- rows: pair_requests where metric = 'e2e_ns'
SELECT p.pair, p.workload, p.context_tokens, p.concurrency, p.seed,
    p.baseline_arm, p.baseline_cell, p.candidate_arm, p.candidate_cell, p.comparable, p.reasons,
    array_to_string(from_json(p.reasons, '["VARCHAR"]'), '; ') AS why
FROM pair_comparability p ORDER BY p.pair;
