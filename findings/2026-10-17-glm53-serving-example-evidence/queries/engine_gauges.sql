-- Highest sampled value of each engine gauge in each cell; a lower bound of the true maximum.
-- key: cell, canonical
-- n: samples
-- rows: readings where source = 'pages'
SELECT g.arm, g.cell, g.canonical, g.unit, g.samples, g.not_a_number, g.highest
FROM gauge_summary g JOIN attempts a USING (campaign, arm, cell, attempt)
WHERE a.counted AND g.pages > 0 ORDER BY g.arm, g.cell, g.canonical;
