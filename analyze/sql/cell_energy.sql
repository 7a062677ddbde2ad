-- One row per counted attempt that ran and GPU: what the GPU's energy counter says
-- of the cell. The energy is the counter's difference between the last reading
-- before the cell and the first one after it; where there is none of them, between
-- the outermost readings that there are. It covers all of the GPU, whoever used it,
-- and the time between the readings and the requests. Coverage is the share of the
-- requests' window, first t0 to last end, that lies between the two readings; energy
-- is never scaled up to the whole window. Power samples are no substitute.
CREATE OR REPLACE VIEW cell_energy AS
WITH windows AS (
    SELECT campaign, cell, attempt, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM request_values WHERE dispatched AND start_ns IS NOT NULL AND end_ns IS NOT NULL
    GROUP BY ALL
), unread AS (
    SELECT campaign, min(status) AS reason FROM gpu_samples WHERE gpu IS NULL AND status <> 'ok' GROUP BY ALL
), readings AS (
    SELECT g.campaign, g.cell, g.attempt, g.gpu, g.sample_seq, g.phase, g.at_ns, g.energy_mj,
        lag(g.energy_mj) OVER (PARTITION BY g.campaign, g.cell, g.attempt, g.gpu ORDER BY g.sample_seq) AS energy_before_mj
    FROM gpu_samples g WHERE g.gpu IS NOT NULL AND g.status = 'ok' AND g.energy_mj IS NOT NULL
), ends AS (
    SELECT campaign, cell, attempt, gpu,
        coalesce(max(sample_seq) FILTER (phase = 'before'), min(sample_seq)) AS first_seq,
        coalesce(min(sample_seq) FILTER (phase = 'after'), max(sample_seq)) AS last_seq
    FROM readings GROUP BY ALL
), spans AS (
    SELECT e.campaign, e.cell, e.attempt, e.gpu, count(*) AS n,
        max(r.at_ns) FILTER (r.sample_seq = e.first_seq) AS from_ns, max(r.at_ns) FILTER (r.sample_seq = e.last_seq) AS to_ns,
        max(r.energy_mj) FILTER (r.sample_seq = e.first_seq) AS from_mj, max(r.energy_mj) FILTER (r.sample_seq = e.last_seq) AS to_mj,
        coalesce(bool_or(r.energy_mj < r.energy_before_mj AND r.sample_seq > e.first_seq), false) AS fell
    FROM ends e
    JOIN readings r ON r.campaign = e.campaign AND r.cell = e.cell AND r.attempt = e.attempt AND r.gpu = e.gpu
        AND r.sample_seq BETWEEN e.first_seq AND e.last_seq
    GROUP BY ALL
), gpus AS (
    SELECT campaign, cell, attempt, gpu, min(json_extract_string(missing, '$.energy_mj')) AS no_counter,
        min(status) FILTER (status <> 'ok') AS bad_status
    FROM gpu_samples WHERE gpu IS NOT NULL GROUP BY ALL
), judged AS (
    SELECT k.campaign, k.arm, k.cell, k.attempt, k.cell_order, p.gpu, coalesce(s.n, 0) AS n, s.to_ns - s.from_ns AS span_ns,
        w.end_ns - w.start_ns AS window_ns, greatest(least(s.to_ns, w.end_ns) - greatest(s.from_ns, w.start_ns), 0) AS covered_ns,
        s.to_mj - s.from_mj AS difference_mj,
        CASE WHEN p.gpu IS NULL THEN coalesce(u.reason, 'no GPU was read')
            WHEN coalesce(s.n, 0) = 0 THEN 'no energy counter: ' || coalesce(p.no_counter, p.bad_status, 'the driver does not give it')
            WHEN s.n < 2 THEN 'one reading of the counter only'
            WHEN s.fell THEN 'the counter fell: the driver was loaded anew'
            WHEN w.start_ns IS NULL THEN 'no request was dispatched'
            WHEN least(s.to_ns, w.end_ns) <= greatest(s.from_ns, w.start_ns) THEN 'the readings lie outside the requests'
        END AS reason
    FROM counted_attempts k
    LEFT JOIN gpus p ON p.campaign = k.campaign AND p.cell = k.cell AND p.attempt = k.attempt
    LEFT JOIN spans s ON s.campaign = k.campaign AND s.cell = k.cell AND s.attempt = k.attempt AND s.gpu = p.gpu
    LEFT JOIN windows w ON w.campaign = k.campaign AND w.cell = k.cell AND w.attempt = k.attempt
    LEFT JOIN unread u ON u.campaign = k.campaign
    WHERE k.attempt > 0
)
SELECT campaign, arm, cell, attempt, gpu, n,
    CASE WHEN reason IS NULL THEN difference_mj END AS energy_mj,
    CASE WHEN reason IS NULL THEN span_ns END AS span_ns,
    window_ns,
    CASE WHEN reason IS NULL AND window_ns > 0 THEN covered_ns::DOUBLE / window_ns::DOUBLE END AS covered_share,
    reason
FROM judged
ORDER BY campaign, cell_order, cell, gpu;
COMMENT ON VIEW cell_energy IS 'One row per counted attempt that ran and GPU: the energy its counter says, from the last reading before the cell to the first one after it.';
COMMENT ON COLUMN cell_energy.campaign IS 'Campaign.';
COMMENT ON COLUMN cell_energy.arm IS 'Arm.';
COMMENT ON COLUMN cell_energy.cell IS 'Cell.';
COMMENT ON COLUMN cell_energy.attempt IS 'Counted attempt.';
COMMENT ON COLUMN cell_energy.gpu IS 'Alias of the GPU; null when none was read in the attempt.';
COMMENT ON COLUMN cell_energy.n IS 'Readings of the counter from the first one used to the last.';
COMMENT ON COLUMN cell_energy.energy_mj IS 'Energy of the whole GPU between the two readings, mJ; null with a reason.';
COMMENT ON COLUMN cell_energy.span_ns IS 'Time between the two readings, ns; longer than the window, the energy includes time without requests.';
COMMENT ON COLUMN cell_energy.window_ns IS 'Requests'' window, first t0 to last end, ns.';
COMMENT ON COLUMN cell_energy.covered_share IS 'Share of the window between the two readings, 0 to 1.';
COMMENT ON COLUMN cell_energy.reason IS 'Why there is no energy; null when there is.';
