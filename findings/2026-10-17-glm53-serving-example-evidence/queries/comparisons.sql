-- Comparable pairs only: both medians, their difference, and the distribution of ratios candidate / baseline by request index.
-- key: pair, metric
-- n: pairs
-- rows: pair_requests
SELECT pair, metric, unit, pairs, baseline_n, baseline_p50, candidate_n, candidate_p50,
    median_difference, ratio_min, ratio_p50, ratio_max,
    baseline_repeats, baseline_p50_min, baseline_p50_max, candidate_repeats, candidate_p50_min, candidate_p50_max, repeat_note, note
FROM comparisons ORDER BY pair, metric;
