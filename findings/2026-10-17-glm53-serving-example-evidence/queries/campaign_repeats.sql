-- Repeats of the campaign: others whose plans measure the same.
-- key: repeat
-- n: cells
-- rows: repeat_cells
SELECT repeat, repeat_plan_sha256, repeat_locked_at_unix_ns, cells, cells_compared FROM campaign_repeats ORDER BY repeat;
