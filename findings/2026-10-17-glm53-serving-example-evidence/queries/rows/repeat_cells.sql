-- The median of each metric of each cell in each repeat of the campaign.
-- key: repeat, cell, metric
SELECT repeat, arm, cell, metric, unit, n, p50, reason FROM repeat_medians ORDER BY repeat, cell, metric;
