-- How far the median of each cell moved between repeats of a campaign, beside the
-- difference between the arms. Without a repeat the note says so.
SELECT campaign, pair, metric, baseline_p50, candidate_p50, median_difference,
    baseline_p50_max - baseline_p50_min AS baseline_spread, candidate_p50_max - candidate_p50_min AS candidate_spread, repeat_note
FROM comparisons
WHERE metric = 'ttfo_ns'
ORDER BY campaign, pair;
