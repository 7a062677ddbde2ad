-- One row for each cell with its pooled throughput, as plotted.
-- key: cell
-- plain
-- rows: requests where counted
SELECT c.arm, c.cell, c.workload, c.context_tokens, c.concurrency, c.excluded_warmup, e.eligibility,
    0::BIGINT AS request_index, o.throughput_tok_s
FROM cells c JOIN cell_eligibility e USING (campaign, arm, cell) JOIN cell_overlap o USING (campaign, arm, cell)
ORDER BY c.arm, c.cell;
