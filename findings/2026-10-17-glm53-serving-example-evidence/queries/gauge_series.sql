-- Canonical engine gauges over time, for the plots.
-- key: cell, attempt, page_seq, canonical
-- plain
-- rows: readings where source = 'pages'
SELECT g.arm, g.cell, g.attempt, g.page_seq, g.canonical, g.at_ns, g.unit, max(g.value) AS value
FROM engine_gauges g WHERE NOT isnan(g.value)
GROUP BY g.arm, g.cell, g.attempt, g.page_seq, g.canonical, g.at_ns, g.unit
ORDER BY g.arm, g.cell, g.attempt, g.page_seq, g.canonical;
