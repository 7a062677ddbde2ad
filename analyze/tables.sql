-- Reference tables: what the views know besides what was measured. They are
-- filled each time the views are made, from the plan of each campaign, from the
-- canonical mapping of engine series, and from exact binomial arithmetic.

CREATE OR REPLACE TABLE canonical_series (
    canonical VARCHAR NOT NULL, kind VARCHAR NOT NULL, unit VARCHAR NOT NULL, definition VARCHAR NOT NULL, aggregation VARCHAR NOT NULL,
    engine VARCHAR NOT NULL, rank BIGINT NOT NULL, series VARCHAR NOT NULL, label_filter VARCHAR NOT NULL, copy_labels VARCHAR NOT NULL,
    position BIGINT NOT NULL PRIMARY KEY);
COMMENT ON TABLE canonical_series IS 'One row per series of an engine that has a canonical meaning. Two engines share a canonical name only when the definition is the same.';
COMMENT ON COLUMN canonical_series.canonical IS 'Canonical name, unit included.';
COMMENT ON COLUMN canonical_series.kind IS 'counter, gauge or histogram.';
COMMENT ON COLUMN canonical_series.unit IS 'Unit of the values; empty where the labels are the value.';
COMMENT ON COLUMN canonical_series.definition IS 'What is measured.';
COMMENT ON COLUMN canonical_series.aggregation IS 'How engine ranks combine: sum, max, or list (never made one number).';
COMMENT ON COLUMN canonical_series.engine IS 'Engine that has the series.';
COMMENT ON COLUMN canonical_series.rank IS 'Preference among the spellings of one engine, 0 is the newest. Rows of one rank are parts of one value and are added.';
COMMENT ON COLUMN canonical_series.series IS 'Name as scraped, of a histogram without _bucket, _sum and _count; a counter may also carry _total.';
COMMENT ON COLUMN canonical_series.label_filter IS 'JSON object of the labels a series must carry; {} for any.';
COMMENT ON COLUMN canonical_series.copy_labels IS 'JSON object with a null for each label that tells copies of one value apart; copies are never added.';
COMMENT ON COLUMN canonical_series.position IS 'Order of the mapping, from 0: where two engines match, the earlier one stands.';

CREATE OR REPLACE TABLE plan_rules (
    campaign VARCHAR NOT NULL, rule VARCHAR NOT NULL, scope VARCHAR NOT NULL, meaning VARCHAR NOT NULL, inputs VARCHAR NOT NULL, demanded BOOLEAN NOT NULL,
    PRIMARY KEY (campaign, rule));
COMMENT ON TABLE plan_rules IS 'One row per campaign and eligibility rule. Only a demanded rule can make a cell ineligible.';
COMMENT ON COLUMN plan_rules.campaign IS 'Campaign.';
COMMENT ON COLUMN plan_rules.rule IS 'Rule.';
COMMENT ON COLUMN plan_rules.scope IS 'What the rule judges: request, cell or pair.';
COMMENT ON COLUMN plan_rules.meaning IS 'When the rule passes.';
COMMENT ON COLUMN plan_rules.inputs IS 'JSON list of the columns that decide it, as TABLE.COLUMN.';
COMMENT ON COLUMN plan_rules.demanded IS 'The campaign''s plan demands the rule.';

CREATE OR REPLACE TABLE plan_settings (
    campaign VARCHAR NOT NULL PRIMARY KEY, allowed_finish_reasons VARCHAR NOT NULL, prompt_token_tolerance BIGINT NOT NULL,
    measured_sha256 VARCHAR NOT NULL);
COMMENT ON TABLE plan_settings IS 'One row per campaign: what of its plan decides verdicts, and which campaigns repeat it.';
COMMENT ON COLUMN plan_settings.campaign IS 'Campaign.';
COMMENT ON COLUMN plan_settings.allowed_finish_reasons IS 'JSON list of the finish reasons a request may have.';
COMMENT ON COLUMN plan_settings.prompt_token_tolerance IS 'Largest difference of prompt tokens between the two requests of a pair, tokens.';
COMMENT ON COLUMN plan_settings.measured_sha256 IS 'Digest of what the plan measures: matrix, controls, models and eligibility. Campaigns of one kind with the same digest are repeats of each other; empty for a plan that cannot be read.';

CREATE OR REPLACE TABLE repeat_medians (
    campaign VARCHAR NOT NULL, repeat VARCHAR NOT NULL, repeat_plan_sha256 VARCHAR NOT NULL, repeat_locked_at_unix_ns BIGINT,
    arm VARCHAR NOT NULL, cell VARCHAR NOT NULL, metric VARCHAR NOT NULL, unit VARCHAR NOT NULL, n BIGINT NOT NULL, p50 DOUBLE, reason VARCHAR NOT NULL,
    PRIMARY KEY (campaign, repeat, cell, metric));
COMMENT ON TABLE repeat_medians IS 'One row per campaign, repeat of it, measured cell and metric: the median in the repeat. A repeat is another campaign of the same kind whose plan measures the same. A table and no view, because a published bundle has only these rows of another campaign.';
COMMENT ON COLUMN repeat_medians.campaign IS 'Campaign.';
COMMENT ON COLUMN repeat_medians.repeat IS 'The other campaign.';
COMMENT ON COLUMN repeat_medians.repeat_plan_sha256 IS 'Digest of the other campaign''s plan.';
COMMENT ON COLUMN repeat_medians.repeat_locked_at_unix_ns IS 'When that plan was locked, ns since 1970 UTC.';
COMMENT ON COLUMN repeat_medians.arm IS 'Arm.';
COMMENT ON COLUMN repeat_medians.cell IS 'Cell, of the same id in both campaigns.';
COMMENT ON COLUMN repeat_medians.metric IS 'Column of request_metrics. The inter-chunk gap is left out: its stamps may differ between campaigns.';
COMMENT ON COLUMN repeat_medians.unit IS 'Unit of p50.';
COMMENT ON COLUMN repeat_medians.n IS 'Values of the cell in the repeat.';
COMMENT ON COLUMN repeat_medians.p50 IS 'Nearest-rank median in the repeat; null with a reason.';
COMMENT ON COLUMN repeat_medians.reason IS 'Why there is no p50: not eligible, prompts differ, cache_assisted or no value; empty when there is one.';

CREATE OR REPLACE TABLE median_ranks (
    n BIGINT NOT NULL PRIMARY KEY, low BIGINT NOT NULL, high BIGINT NOT NULL);
COMMENT ON TABLE median_ranks IS 'Order statistics that bound the median with at least 95 % confidence, for each n that has such a pair (6 and more). Exact, from the binomial distribution with one half.';
COMMENT ON COLUMN median_ranks.n IS 'Number of values.';
COMMENT ON COLUMN median_ranks.low IS 'Rank of the lower bound, from 1.';
COMMENT ON COLUMN median_ranks.high IS 'Rank of the upper bound: n + 1 - low.';

CREATE OR REPLACE TABLE percentile_floors (
    percentile BIGINT NOT NULL PRIMARY KEY, n BIGINT NOT NULL);
COMMENT ON TABLE percentile_floors IS 'Smallest n at which a percentile is more than descriptive: with confidence 0.99 and one allowed overshoot, the smallest n with P(Bin(n, 1 - q) <= 1) <= 0.01.';
COMMENT ON COLUMN percentile_floors.percentile IS 'Percentile, such as 95.';
COMMENT ON COLUMN percentile_floors.n IS 'Smallest number of values.';
