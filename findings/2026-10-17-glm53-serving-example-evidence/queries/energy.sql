-- Energy of each cell from the GPUs' energy counters, all GPUs that were read together; null when one of them has none.
-- key: arm, cell
-- n: readings
-- rows: readings where source = 'gpu'
SELECT e.arm, e.cell, count(e.gpu) AS gpus, min(e.n) AS readings,
    CASE WHEN count(*) = count(e.energy_mj) THEN sum(e.energy_mj)::BIGINT END AS energy_mj,
    CASE WHEN count(*) = count(e.energy_mj) THEN max(e.span_ns) END AS span_ns, max(e.window_ns) AS window_ns,
    CASE WHEN count(*) = count(e.energy_mj) THEN min(e.covered_share) END AS covered_share, string_agg(DISTINCT e.reason, '; ' ORDER BY e.reason) AS reason
FROM cell_energy e JOIN cells c USING (campaign, cell)
GROUP BY e.arm, e.cell, c.cell_order ORDER BY c.cell_order, e.cell;
