-- One row per arm, GPU and quantity: the readings of all attempts, with how many
-- there are and why there are no more. A reading without a value is left out of
-- every figure and counted; it is never a 0. Sampled extremes bound the true ones
-- from inside. Clocks and utilisation are those during the requests.
CREATE OR REPLACE VIEW gpu_figures AS
WITH quantities AS (
    SELECT g.campaign, g.arm, coalesce(g.gpu, 'none') AS gpu, q.quantity, q.place, q.unit, g.status,
        CASE WHEN g.status = 'ok' THEN q.value END AS value,
        CASE WHEN g.status <> 'ok' THEN g.status ELSE json_extract_string(g.missing, '$.' || q.quantity) END AS why
    FROM gpu_samples g, LATERAL (VALUES
        (1, 'memory_used_bytes', 'bytes', g.memory_used_bytes, true), (2, 'memory_free_bytes', 'bytes', g.memory_free_bytes, true),
        (3, 'memory_reserved_bytes', 'bytes', g.memory_reserved_bytes, true), (4, 'memory_total_bytes', 'bytes', g.memory_total_bytes, true),
        (5, 'utilization_percent', '%', g.utilization_percent, false), (6, 'memory_busy_percent', '%', g.memory_busy_percent, false),
        (7, 'power_mw', 'mW', g.power_mw, true), (8, 'power_average_mw', 'mW', g.power_average_mw, true),
        (9, 'power_instant_mw', 'mW', g.power_instant_mw, true), (10, 'power_limit_mw', 'mW', g.power_limit_mw, true),
        (11, 'energy_mj', 'mJ', g.energy_mj, true),
        (12, 'sm_clock_mhz', 'MHz', g.sm_clock_mhz, false), (13, 'graphics_clock_mhz', 'MHz', g.graphics_clock_mhz, false),
        (14, 'memory_clock_mhz', 'MHz', g.memory_clock_mhz, false), (15, 'performance_state', '', g.performance_state, false),
        (16, 'temperature_c', '°C', g.temperature_c, true),
        (17, 'pcie_tx_kb_s', 'KB/s', g.pcie_tx_kb_s, true), (18, 'pcie_rx_kb_s', 'KB/s', g.pcie_rx_kb_s, true),
        (19, 'pcie_gen', '', g.pcie_gen, true), (20, 'pcie_width', 'lanes', g.pcie_width, true), (21, 'pcie_replays', '', g.pcie_replays, true),
        (22, 'ecc_corrected_errors', '', g.ecc_corrected_errors, true), (23, 'ecc_uncorrected_errors', '', g.ecc_uncorrected_errors, true),
        (24, 'compute_processes', '', g.compute_processes, true), (25, 'process_memory_bytes', 'bytes', g.process_memory_bytes, true),
        -- bit 0 says that the GPU is idle, which reduces nothing
        (26, 'clocks_reduced', 'readings', CASE WHEN g.throttle_reasons IS NOT NULL THEN (g.throttle_reasons & ~1 <> 0)::BIGINT END, false)
    ) q(place, quantity, unit, value, always)
    WHERE q.always OR g.phase = 'during'
), kept AS (
    SELECT campaign, arm, gpu, quantity, place, unit, list(value ORDER BY value) FILTER (value IS NOT NULL) AS v, count(value) AS n,
        count(*) - count(value) AS without, string_agg(DISTINCT why, '; ' ORDER BY why) FILTER (value IS NULL) AS reason
    FROM quantities GROUP BY ALL
)
SELECT campaign, arm, gpu, quantity, unit, n, v[1] AS min, v[(50 * n + 99) // 100] AS p50, v[-1] AS max,
    CASE WHEN quantity = 'clocks_reduced' AND n > 0 THEN list_sum(v)::BIGINT END AS total, without,
    CASE WHEN without > 0 THEN coalesce(reason, 'not given') END AS reason
FROM kept
ORDER BY campaign, arm, gpu, place;
COMMENT ON VIEW gpu_figures IS 'One row per arm, GPU and quantity: the readings of all attempts, with how many there are and why there are no more.';
COMMENT ON COLUMN gpu_figures.campaign IS 'Campaign.';
COMMENT ON COLUMN gpu_figures.arm IS 'Arm.';
COMMENT ON COLUMN gpu_figures.gpu IS 'Alias of the GPU; none for readings that found none.';
COMMENT ON COLUMN gpu_figures.quantity IS 'Column of gpu_samples; clocks_reduced is 1 for a reading with a reason for reduced clocks other than idleness.';
COMMENT ON COLUMN gpu_figures.unit IS 'Unit of the figures.';
COMMENT ON COLUMN gpu_figures.n IS 'Readings with a value: those during the requests for utilisation, clocks and P-state, all others for the rest.';
COMMENT ON COLUMN gpu_figures.min IS 'Lowest reading.';
COMMENT ON COLUMN gpu_figures.p50 IS 'Median, nearest rank.';
COMMENT ON COLUMN gpu_figures.max IS 'Highest reading.';
COMMENT ON COLUMN gpu_figures.total IS 'Of clocks_reduced: how many readings.';
COMMENT ON COLUMN gpu_figures.without IS 'Readings without a value.';
COMMENT ON COLUMN gpu_figures.reason IS 'Why some have none: every reason, in the order of the alphabet.';
