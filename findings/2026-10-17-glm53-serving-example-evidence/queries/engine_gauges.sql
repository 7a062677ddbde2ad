-- Highest sampled value of each engine gauge in each cell; a lower bound of the true maximum.
-- key: cell, canonical
-- n: samples
-- rows: readings where source = 'pages'
SELECT g.arm, g.cell, g.canonical, min(g.unit) AS unit, count(g.value) AS samples, max(g.value) AS highest
FROM engine_gauges g JOIN attempts a USING (campaign, arm, cell, attempt)
WHERE a.counted AND NOT isnan(g.value)
GROUP BY g.arm, g.cell, g.canonical ORDER BY g.arm, g.cell, g.canonical;
