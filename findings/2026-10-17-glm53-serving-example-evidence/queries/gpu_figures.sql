-- GPU readings of each arm, all attempts, by quantity; sampled extremes bound the true ones from inside.
-- key: arm, gpu, quantity
-- n: n
-- rows: readings where source = 'gpu'
SELECT arm, gpu, quantity, unit, n, min, p50, max, total, without, reason FROM gpu_figures ORDER BY arm, gpu, quantity;
