-- Cells of each arm without an energy, by reason.
-- key: arm, reason
-- n: cells
-- rows: readings where source = 'gpu'
SELECT arm, reason, count(DISTINCT cell) AS cells FROM cell_energy WHERE reason IS NOT NULL GROUP BY arm, reason ORDER BY arm, reason;
