-- Metrics withheld from the tables, by flag.
-- key: arm, flag, metric
-- n: withheld
-- rows: withheld_requests
SELECT arm, flag, metric, count(*) AS withheld, count(DISTINCT cell) AS cells, min(reason) AS reason
FROM metric_withholdings GROUP BY arm, flag, metric ORDER BY arm, flag, metric;
