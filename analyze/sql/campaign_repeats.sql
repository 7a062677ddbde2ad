-- One row per campaign and repeat of it: another campaign of the same kind whose
-- plan measures the same cells, with the same prompts, controls, models and rules.
-- Two runs of one plan are such campaigns when their plans differ in the campaign
-- id, in dates and places, and in nothing that is measured.
CREATE OR REPLACE VIEW campaign_repeats AS
SELECT campaign, repeat, repeat_plan_sha256, repeat_locked_at_unix_ns,
    count(DISTINCT cell) AS cells,
    count(DISTINCT cell) FILTER (p50 IS NOT NULL) AS cells_compared
FROM repeat_medians
GROUP BY ALL
ORDER BY campaign, repeat;
COMMENT ON VIEW campaign_repeats IS 'One row per campaign and repeat of it: another campaign of the same kind whose plan measures the same.';
COMMENT ON COLUMN campaign_repeats.campaign IS 'Campaign.';
COMMENT ON COLUMN campaign_repeats.repeat IS 'The other campaign.';
COMMENT ON COLUMN campaign_repeats.repeat_plan_sha256 IS 'Digest of the other campaign''s plan.';
COMMENT ON COLUMN campaign_repeats.repeat_locked_at_unix_ns IS 'When that plan was locked, ns since 1970 UTC.';
COMMENT ON COLUMN campaign_repeats.cells IS 'Measured cells of the repeat.';
COMMENT ON COLUMN campaign_repeats.cells_compared IS 'Of these, the ones with a median to set beside this campaign''s; see reason in repeat_medians.';
