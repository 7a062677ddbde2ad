-- Each request a withholding concerns; one of a whole cell concerns all its requests.
-- key: cell, flag, metric, request_index, reason
SELECT w.arm, w.cell, w.attempt, w.flag, w.metric, f.request_index, w.request_index IS NULL AS whole_cell, w.reason
FROM metric_withholdings w
JOIN request_facts f ON f.campaign = w.campaign AND f.cell = w.cell AND f.attempt = w.attempt
WHERE w.request_index IS NULL OR f.request_index = w.request_index
ORDER BY w.cell, w.flag, w.metric, f.request_index, w.reason;
