-- One row per counted attempt that ran: the two pages its engine deltas are taken
-- between. Before is the last whole page of the phase before, after the last whole
-- page of the phase after: both were scraped once the engine was idle, and an
-- engine may count its last request only after the first page.
-- The process start is changed when a source of it is known on both sides with
-- different values, and known when a source is known on both sides.
CREATE OR REPLACE VIEW attempt_pages AS
WITH bounds AS (
    SELECT k.campaign, k.arm, k.cell, k.attempt,
        max(p.page_seq) FILTER (p.phase = 'before') AS before_page,
        max(p.page_seq) FILTER (p.phase = 'after') AS after_page,
        count(p.page_seq) AS whole_pages
    FROM counted_attempts k
    LEFT JOIN pages p ON p.campaign = k.campaign AND p.cell = k.cell AND p.attempt = k.attempt
        AND p.error = '' AND p.series IS NOT NULL
    WHERE k.attempt > 0
    GROUP BY ALL
), page_starts AS (
    SELECT b.campaign, b.cell, 'page ' || s.labels AS source,
        list_sort(list(DISTINCT s.value::VARCHAR) FILTER (s.page_seq = b.before_page)) AS before,
        list_sort(list(DISTINCT s.value::VARCHAR) FILTER (s.page_seq = b.after_page)) AS after
    FROM bounds b
    JOIN engine_samples s ON s.campaign = b.campaign AND s.cell = b.cell AND s.attempt = b.attempt
        AND s.page_seq IN (b.before_page, b.after_page)
    WHERE s.series = 'process_start_time_seconds' AND s.value IS NOT NULL
    GROUP BY ALL
), identity_starts AS (
    SELECT b.campaign, b.cell, 'identity ' || i.source AS source,
        list_sort(list(DISTINCT i.value) FILTER (i.phase = 'before')) AS before,
        list_sort(list(DISTINCT i.value) FILTER (i.phase = 'after')) AS after
    FROM bounds b
    JOIN identities i ON i.campaign = b.campaign AND i.cell = b.cell AND i.attempt = b.attempt
    WHERE i.fact = 'process_start' AND i.value IS NOT NULL
    GROUP BY ALL
), starts AS (
    SELECT campaign, cell,
        bool_or(before <> after) AS changed,
        count(*) FILTER (before IS NOT NULL AND after IS NOT NULL) > 0 AS known
    FROM (FROM page_starts UNION ALL FROM identity_starts)
    GROUP BY ALL
)
SELECT b.campaign, b.arm, b.cell, b.attempt, b.before_page, b.after_page, b.whole_pages,
    coalesce(s.known, false) AS start_known,
    coalesce(s.changed, false) AS start_changed
FROM bounds b
LEFT JOIN starts s ON s.campaign = b.campaign AND s.cell = b.cell
ORDER BY b.campaign, b.cell;
COMMENT ON VIEW attempt_pages IS 'One row per counted attempt that ran: the two pages its engine deltas are taken between.';
COMMENT ON COLUMN attempt_pages.campaign IS 'Campaign.';
COMMENT ON COLUMN attempt_pages.arm IS 'Arm.';
COMMENT ON COLUMN attempt_pages.cell IS 'Cell.';
COMMENT ON COLUMN attempt_pages.attempt IS 'Counted attempt.';
COMMENT ON COLUMN attempt_pages.before_page IS 'page_seq of the last whole page of the phase before; null without one.';
COMMENT ON COLUMN attempt_pages.after_page IS 'page_seq of the last whole page of the phase after; null without one.';
COMMENT ON COLUMN attempt_pages.whole_pages IS 'Whole pages of the attempt, all phases.';
COMMENT ON COLUMN attempt_pages.start_known IS 'The engine''s process start is known on both sides.';
COMMENT ON COLUMN attempt_pages.start_changed IS 'The engine''s process start differs between the two sides.';
