-- One row per counted attempt with a whole page, canonical name, and series that was
-- resolved for it. Names are resolved by presence on the attempt's pages: the first
-- engine of the mapping, and its newest spelling, that has a value there; a name
-- that is only declared comes after every name with a value. Two spellings are
-- never added up; the parts of one spelling are several rows. A counter is accepted
-- with and without _total. Without any name on the pages scraped is null: the
-- meaning is not exposed.
CREATE OR REPLACE VIEW resolved_series AS
WITH on_pages AS (
    SELECT campaign, cell, attempt, series, labels, bool_or(value IS NOT NULL) AS has_value
    FROM engine_samples
    GROUP BY ALL
), spellings AS (
    SELECT *, unnest(CASE kind
        WHEN 'histogram' THEN [series || '_count', series]
        WHEN 'counter' THEN [series, series || '_total']
        ELSE [series] END) AS scraped
    FROM canonical_series
), present AS (
    SELECT p.campaign, p.cell, n.canonical, n.engine, n.rank, n.series, n.scraped, n.label_filter, n.copy_labels,
        min(n.position) AS position, bool_or(s.has_value) AS has_value
    FROM attempt_pages p
    JOIN on_pages s ON s.campaign = p.campaign AND s.cell = p.cell AND s.attempt = p.attempt
    JOIN spellings n ON n.scraped = s.series
    WHERE NOT s.has_value OR n.label_filter = '{}' OR json_contains(s.labels, n.label_filter)
    GROUP BY ALL
), spelling AS (
    SELECT campaign, cell, canonical, engine, rank, has_value
    FROM present
    QUALIFY row_number() OVER (PARTITION BY campaign, cell, canonical ORDER BY has_value DESC, position, scraped) = 1
), chosen AS (
    SELECT p.*
    FROM present p
    JOIN spelling s USING (campaign, cell, canonical, engine, rank, has_value)
    QUALIFY row_number() OVER (PARTITION BY p.campaign, p.cell, p.canonical, p.series, p.label_filter ORDER BY p.scraped) = 1
), canonicals AS (
    SELECT canonical, min(kind) AS kind, min(unit) AS unit, min(aggregation) AS aggregation
    FROM canonical_series
    GROUP BY ALL
)
SELECT p.campaign, p.arm, p.cell, p.attempt, c.canonical, c.kind, c.unit, c.aggregation,
    h.engine, h.series AS family, h.scraped, h.label_filter, h.copy_labels
FROM attempt_pages p
CROSS JOIN canonicals c
LEFT JOIN chosen h ON h.campaign = p.campaign AND h.cell = p.cell AND h.canonical = c.canonical
WHERE p.whole_pages > 0
ORDER BY p.campaign, p.cell, c.canonical, h.series, h.label_filter;
COMMENT ON VIEW resolved_series IS 'One row per counted attempt with a whole page, canonical name, and series of the engine that has this meaning.';
COMMENT ON COLUMN resolved_series.campaign IS 'Campaign.';
COMMENT ON COLUMN resolved_series.arm IS 'Arm.';
COMMENT ON COLUMN resolved_series.cell IS 'Cell.';
COMMENT ON COLUMN resolved_series.attempt IS 'Counted attempt.';
COMMENT ON COLUMN resolved_series.canonical IS 'Canonical name.';
COMMENT ON COLUMN resolved_series.kind IS 'counter, gauge or histogram.';
COMMENT ON COLUMN resolved_series.unit IS 'Unit of the values.';
COMMENT ON COLUMN resolved_series.aggregation IS 'How engine ranks combine: sum, max, or list (never made one number).';
COMMENT ON COLUMN resolved_series.engine IS 'Engine whose name matched; null when the meaning is not exposed.';
COMMENT ON COLUMN resolved_series.family IS 'Name in the mapping.';
COMMENT ON COLUMN resolved_series.scraped IS 'Name on the pages: of a histogram its _count; null when the meaning is not exposed.';
COMMENT ON COLUMN resolved_series.label_filter IS 'JSON object of the labels a series must carry.';
COMMENT ON COLUMN resolved_series.copy_labels IS 'JSON object with a null for each label that tells copies of one value apart.';
