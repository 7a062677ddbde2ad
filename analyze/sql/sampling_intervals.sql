-- One row per counted attempt that ran and source of samples: how often it was
-- really read during the cell. An interval lies between two consecutive good
-- readings (pages: starts of whole scrapes), so that a failed reading shows as a
-- longer one. Percentiles are nearest rank. A gap is a stretch of the requests'
-- window of more than one and a half planned intervals without a good reading, its
-- ends included.
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
        count(*) FILTER (NOT good) AS errors, count(*) FILTER (good AND phase = 'during') AS good
    FROM readings
    GROUP BY ALL
), gaps AS (
    SELECT campaign, cell, attempt, source, at_ns,
        lead(at_ns) OVER (PARTITION BY campaign, cell, attempt, source ORDER BY at_ns, seq) - at_ns AS gap_ns
    FROM readings
    WHERE good AND phase = 'during'
), windows AS (
    SELECT campaign, cell, attempt, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM request_values WHERE dispatched AND start_ns IS NOT NULL AND end_ns IS NOT NULL
    GROUP BY ALL
), planned AS (
    SELECT c.campaign, s.source, TRY_CAST(json_extract_string(c.settings, s.setting) AS BIGINT) AS planned_ns
    FROM campaigns c
    CROSS JOIN (VALUES ('pages', '$.page_every_ns'), ('gpu', '$.sample_every_ns'), ('cgroup', '$.sample_every_ns'), ('host', '$.sample_every_ns')) s(source, setting)
), stretches AS (
    SELECT campaign, cell, attempt, source, least(gap_ns, at_ns + gap_ns - start_ns, end_ns - at_ns) AS stretch_ns
    FROM (SELECT g.*, w.start_ns, w.end_ns FROM gaps g JOIN windows w ON w.campaign = g.campaign AND w.cell = g.cell AND w.attempt = g.attempt)
    WHERE gap_ns IS NOT NULL
    UNION ALL
    SELECT g.campaign, g.cell, g.attempt, g.source, unnest([min(g.at_ns) - min(w.start_ns), max(w.end_ns) - max(g.at_ns)])
    FROM gaps g JOIN windows w ON w.campaign = g.campaign AND w.cell = g.cell AND w.attempt = g.attempt
    GROUP BY ALL
), holes AS (
    SELECT s.campaign, s.cell, s.attempt, s.source, count(*) FILTER (s.stretch_ns * 2 > p.planned_ns * 3) AS holes
    FROM stretches s JOIN planned p ON p.campaign = s.campaign AND p.source = s.source
    WHERE p.planned_ns > 0
    GROUP BY ALL
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
    g.gaps[-1] AS max_ns,
    p.planned_ns,
    CASE WHEN p.planned_ns > 0 THEN (w.end_ns - w.start_ns) // p.planned_ns + 1 END AS expected,
    coalesce(c.good, 0) AS good,
    CASE WHEN p.planned_ns > 0 AND w.start_ns IS NOT NULL THEN coalesce(h.holes, 1) END AS gaps
FROM counted_attempts k
CROSS JOIN (VALUES ('pages'), ('gpu'), ('cgroup'), ('host')) s(source)
LEFT JOIN counts c ON c.campaign = k.campaign AND c.cell = k.cell AND c.attempt = k.attempt AND c.source = s.source
LEFT JOIN sorted g ON g.campaign = k.campaign AND g.cell = k.cell AND g.attempt = k.attempt AND g.source = s.source
LEFT JOIN planned p ON p.campaign = k.campaign AND p.source = s.source
LEFT JOIN windows w ON w.campaign = k.campaign AND w.cell = k.cell AND w.attempt = k.attempt
LEFT JOIN holes h ON h.campaign = k.campaign AND h.cell = k.cell AND h.attempt = k.attempt AND h.source = s.source
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
COMMENT ON COLUMN sampling_intervals.planned_ns IS 'Planned interval, ns; null when the run does not state it.';
COMMENT ON COLUMN sampling_intervals.expected IS 'Readings that the planned interval makes in the requests'' window, first t0 to last end.';
COMMENT ON COLUMN sampling_intervals.good IS 'Good readings during the cell''s requests.';
COMMENT ON COLUMN sampling_intervals.gaps IS 'Stretches of the window of more than one and a half planned intervals without a good reading; a source that was never read has one.';
