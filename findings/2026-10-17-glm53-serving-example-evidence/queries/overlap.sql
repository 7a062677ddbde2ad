-- Exact overlap of each cell's requests, and its pooled completion throughput.
-- key: cell
-- n: requests
-- rows: requests where counted and dispatched
SELECT arm, cell, concurrency, requests, max_overlap, mean_overlap, full_share, window_ns, generating_overlap,
    completion_tokens, throughput_tok_s, throughput_note
FROM cell_overlap ORDER BY arm, cell;
