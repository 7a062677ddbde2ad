-- One row per counted attempt that ran and source of samples: how often it was
-- really read during the cell. An interval lies between two consecutive good
-- readings (pages: starts of whole scrapes), so that a failed reading shows as a
-- longer one. Percentiles are nearest rank.
CREATE OR REPLACE VIEW sampling_intervals AS
WITH readings AS (
    SELECT campaign, cell, attempt, 'pages' AS source, phase, page_seq AS seq, start_ns AS at_ns, error = '' AND series IS NOT NULL AS good FROM pages
    UNION ALL
    SELECT campaign, cell, attempt, 'gpu', phase, sample_seq, min(at_ns), bool_and(status = 'ok') FROM gpu_samples GROUP BY ALL
    UNION ALL
    SELECT campaign, cell, attempt, 'cgroup', phase, sample_seq, at_ns, status = 'ok' FROM cgroup_samples
    UNION ALL
    SELECT campaign, cell, attempt, 'host', phase, sample_seq, at_ns, status = 'ok' FROM host_samples
), counts AS (
    SELECT campaign, cell, attempt, source, count(*) AS samples,
        count(*) FILTER (phase = 'during') AS during,
        count(*) FILTER (NOT good) AS errors
    FROM readings
    GROUP BY ALL
), gaps AS (
    SELECT campaign, cell, attempt, source,
        lead(at_ns) OVER (PARTITION BY campaign, cell, attempt, source ORDER BY at_ns, seq) - at_ns AS gap_ns
    FROM readings
    WHERE good AND phase = 'during'
), sorted AS (
    SELECT campaign, cell, attempt, source, list(gap_ns ORDER BY gap_ns) AS gaps
    FROM gaps
    WHERE gap_ns IS NOT NULL
    GROUP BY ALL
)
SELECT k.campaign, k.arm, k.cell, k.attempt, s.source,
    coalesce(c.samples, 0) AS samples, coalesce(c.during, 0) AS during, coalesce(c.errors, 0) AS errors,
    g.gaps[1] AS min_ns,
    g.gaps[(50 * len(g.gaps) + 99) // 100] AS p50_ns,
    g.gaps[-1] AS max_ns
FROM counted_attempts k
CROSS JOIN (VALUES ('pages'), ('gpu'), ('cgroup'), ('host')) s(source)
LEFT JOIN counts c ON c.campaign = k.campaign AND c.cell = k.cell AND c.attempt = k.attempt AND c.source = s.source
LEFT JOIN sorted g ON g.campaign = k.campaign AND g.cell = k.cell AND g.attempt = k.attempt AND g.source = s.source
WHERE k.attempt > 0
ORDER BY k.campaign, k.cell_order, k.cell, s.source;
COMMENT ON VIEW sampling_intervals IS 'One row per counted attempt that ran and source of samples: how often it was really read.';
COMMENT ON COLUMN sampling_intervals.campaign IS 'Campaign.';
COMMENT ON COLUMN sampling_intervals.arm IS 'Arm.';
COMMENT ON COLUMN sampling_intervals.cell IS 'Cell.';
COMMENT ON COLUMN sampling_intervals.attempt IS 'Counted attempt.';
COMMENT ON COLUMN sampling_intervals.source IS 'pages, gpu, cgroup or host.';
COMMENT ON COLUMN sampling_intervals.samples IS 'Readings, failed ones included.';
COMMENT ON COLUMN sampling_intervals.during IS 'Readings during the cell''s requests.';
COMMENT ON COLUMN sampling_intervals.errors IS 'Readings that failed.';
COMMENT ON COLUMN sampling_intervals.min_ns IS 'Shortest interval between good readings during the cell, ns.';
COMMENT ON COLUMN sampling_intervals.p50_ns IS 'Median interval, ns.';
COMMENT ON COLUMN sampling_intervals.max_ns IS 'Longest interval, ns.';
