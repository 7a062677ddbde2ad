-- One row per pair of matched cells: same workload, planned context, concurrency,
-- seed and requests. The baseline is the arm of that name, else the plan's first
-- arm; every other arm is a candidate. Warm-ups are not paired. A cell without a
-- partner is a pair with one side; a campaign of one arm has no pairs. Cells that
-- repeat the key of a cell of their arm are paired in plan order.
CREATE OR REPLACE VIEW cell_pairs AS
WITH ordered_arms AS (
    SELECT campaign, arm, row_number() OVER (PARTITION BY campaign ORDER BY arm <> 'baseline', arm_order, arm) AS place
    FROM arms
), candidates AS (
    SELECT b.campaign, b.arm AS baseline_arm, c.arm AS candidate_arm,
        count(*) OVER (PARTITION BY b.campaign) AS candidates
    FROM ordered_arms b
    JOIN ordered_arms c ON c.campaign = b.campaign AND b.place = 1 AND c.place > 1
), keyed AS (
    SELECT campaign, arm, cell, cell_order, workload, context_tokens, concurrency, seed, requests,
        row_number() OVER same_key AS repeat,
        count(*) OVER (PARTITION BY campaign, arm, workload, context_tokens, concurrency, seed, requests) AS repeats
    FROM cells
    WHERE NOT excluded_warmup
    WINDOW same_key AS (PARTITION BY campaign, arm, workload, context_tokens, concurrency, seed, requests ORDER BY cell_order, cell)
), sides AS (
    SELECT a.campaign, a.baseline_arm, a.candidate_arm, a.candidates, k.arm = a.baseline_arm AS is_baseline, k.* EXCLUDE (campaign)
    FROM candidates a
    JOIN keyed k ON k.campaign = a.campaign AND k.arm IN (a.baseline_arm, a.candidate_arm)
), paired AS (
    SELECT campaign, baseline_arm, candidate_arm, candidates, workload, context_tokens, concurrency, seed, requests, repeat,
        max(repeats) AS repeats,
        min(cell) FILTER (is_baseline) AS baseline_cell,
        min(cell) FILTER (NOT is_baseline) AS candidate_cell,
        min(cell_order) AS cell_order
    FROM sides
    GROUP BY ALL
)
SELECT campaign,
    format('{}-ctx{}-c{}-seed{}-n{}', workload, context_tokens, concurrency, seed, requests)
        || CASE WHEN repeat > 1 THEN format('-repeat{}', repeat) ELSE '' END
        || CASE WHEN candidates > 1 THEN '-' || candidate_arm ELSE '' END AS pair,
    workload, context_tokens, concurrency, seed, requests, repeats, cell_order AS pair_order,
    baseline_arm, baseline_cell, candidate_arm, candidate_cell
FROM paired
ORDER BY campaign, pair_order, pair;
COMMENT ON VIEW cell_pairs IS 'One row per pair of matched cells of two arms.';
COMMENT ON COLUMN cell_pairs.campaign IS 'Campaign.';
COMMENT ON COLUMN cell_pairs.pair IS 'Workload, context, concurrency, seed and requests in one word; with the arm when there is more than one candidate.';
COMMENT ON COLUMN cell_pairs.workload IS 'natural, controlled or capacity-edge.';
COMMENT ON COLUMN cell_pairs.context_tokens IS 'Nominal context label; a target, not a token count.';
COMMENT ON COLUMN cell_pairs.concurrency IS 'Requests kept in flight, as planned.';
COMMENT ON COLUMN cell_pairs.seed IS 'Seed of the workload.';
COMMENT ON COLUMN cell_pairs.requests IS 'Planned requests of each cell.';
COMMENT ON COLUMN cell_pairs.repeats IS 'Cells of one arm that share the key; more than 1 is ambiguous.';
COMMENT ON COLUMN cell_pairs.pair_order IS 'Position of the pair''s first cell in the plan''s matrix.';
COMMENT ON COLUMN cell_pairs.baseline_arm IS 'Arm that is divided by.';
COMMENT ON COLUMN cell_pairs.baseline_cell IS 'Its cell; null when it has none.';
COMMENT ON COLUMN cell_pairs.candidate_arm IS 'Arm that is divided.';
COMMENT ON COLUMN cell_pairs.candidate_cell IS 'Its cell; null when it has none.';
