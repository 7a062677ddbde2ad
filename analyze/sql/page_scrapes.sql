-- One row per counted attempt that ran: how its engine's metrics page was really
-- scraped. An interval lies between the starts of two consecutive scrapes during the
-- cell, whole or not; a scrape that takes longer than the asked-for interval
-- stretches it, since one scrape is in flight at a time. Percentiles are nearest rank.
CREATE OR REPLACE VIEW page_scrapes AS
WITH scrapes AS (
    SELECT *, phase = 'during' AS during, error = '' AND series IS NOT NULL AS whole,
        end_ns - start_ns AS took_ns,
        CASE WHEN phase = 'during' THEN start_ns - lag(start_ns) OVER (PARTITION BY campaign, cell, attempt, phase ORDER BY page_seq) END AS gap_ns
    FROM pages
), lists AS (
    SELECT campaign, cell, attempt,
        count(*) AS scrapes, count(*) FILTER (during) AS during,
        count(*) FILTER (NOT whole) AS failed, count(*) FILTER (error = 'short_page') AS short,
        list(gap_ns ORDER BY gap_ns) FILTER (gap_ns IS NOT NULL) AS gaps,
        list(took_ns ORDER BY took_ns) AS took,
        list(body_bytes ORDER BY body_bytes) FILTER (whole) AS sizes
    FROM scrapes
    GROUP BY ALL
)
SELECT k.campaign, k.arm, k.cell, k.attempt,
    coalesce(l.scrapes, 0) AS scrapes, coalesce(l.during, 0) AS during, coalesce(l.failed, 0) AS failed, coalesce(l.short, 0) AS short,
    l.gaps[1] AS interval_min_ns, l.gaps[(50 * len(l.gaps) + 99) // 100] AS interval_p50_ns, l.gaps[-1] AS interval_max_ns,
    l.took[1] AS took_min_ns, l.took[(50 * len(l.took) + 99) // 100] AS took_p50_ns, l.took[-1] AS took_max_ns,
    l.sizes[1] AS size_min_bytes, l.sizes[(50 * len(l.sizes) + 99) // 100] AS size_p50_bytes, l.sizes[-1] AS size_max_bytes
FROM counted_attempts k
LEFT JOIN lists l ON l.campaign = k.campaign AND l.cell = k.cell AND l.attempt = k.attempt
WHERE k.attempt > 0
ORDER BY k.campaign, k.cell_order, k.cell;
COMMENT ON VIEW page_scrapes IS 'One row per counted attempt that ran: how its engine''s metrics page was really scraped.';
COMMENT ON COLUMN page_scrapes.campaign IS 'Campaign.';
COMMENT ON COLUMN page_scrapes.arm IS 'Arm.';
COMMENT ON COLUMN page_scrapes.cell IS 'Cell.';
COMMENT ON COLUMN page_scrapes.attempt IS 'Counted attempt.';
COMMENT ON COLUMN page_scrapes.scrapes IS 'Scrapes, all phases.';
COMMENT ON COLUMN page_scrapes.during IS 'Scrapes during the cell''s requests.';
COMMENT ON COLUMN page_scrapes.failed IS 'Scrapes without a whole page, all phases.';
COMMENT ON COLUMN page_scrapes.short IS 'Of these, pages that lack more than half of the families of the page before.';
COMMENT ON COLUMN page_scrapes.interval_min_ns IS 'Shortest time between the starts of two scrapes during the cell, ns; null with fewer than two.';
COMMENT ON COLUMN page_scrapes.interval_p50_ns IS 'Median of that time, ns.';
COMMENT ON COLUMN page_scrapes.interval_max_ns IS 'Longest of that time, ns.';
COMMENT ON COLUMN page_scrapes.took_min_ns IS 'Shortest scrape, ns, failed ones included.';
COMMENT ON COLUMN page_scrapes.took_p50_ns IS 'Median scrape, ns.';
COMMENT ON COLUMN page_scrapes.took_max_ns IS 'Longest scrape, ns.';
COMMENT ON COLUMN page_scrapes.size_min_bytes IS 'Smallest whole page, bytes; null without one.';
COMMENT ON COLUMN page_scrapes.size_p50_bytes IS 'Median whole page, bytes.';
COMMENT ON COLUMN page_scrapes.size_max_bytes IS 'Largest whole page, bytes.';
