-- Memory of the engine's control group in each cell; the peak is the kernel's, if it rose during the cell.
-- key: arm, cell
-- n: n
-- rows: readings where source = 'cgroup'
SELECT m.arm, m.cell, m.n, m.current_max_bytes, m.anon_max_bytes, m.file_max_bytes, m.inactive_file_max_bytes, m.shmem_max_bytes,
    m.limit_bytes, m.peak_before_bytes, m.peak_after_bytes, m.cell_peak_bytes, m.cell_peak_reason
FROM cell_memory m JOIN cells c USING (campaign, cell) ORDER BY c.cell_order, m.cell;
