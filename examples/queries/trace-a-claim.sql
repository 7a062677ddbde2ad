-- From a published number to the requests behind it. The claim is
-- distributions:CELL/ttfo_ns:p50, the middle time to the first output of a cell:
-- its query gives the row, its rows query the requests, sorted, with the rank of
-- each. The published number is the value of the rank (50 * n + 99) // 100.
WITH claim AS (
    SELECT campaign, cell, metric, n, p50
    FROM cell_distributions
    WHERE population = 'eligible' AND metric = 'ttfo_ns'
    ORDER BY campaign, cell
    LIMIT 1
), behind AS (
    SELECT m.campaign, m.cell, m.attempt, m.request_index, m.ttfo_ns,
        row_number() OVER (ORDER BY m.ttfo_ns, m.request_index) AS rank
    FROM claim c
    JOIN cell_eligibility e USING (campaign, cell)
    JOIN request_metrics m ON m.campaign = c.campaign AND m.cell = c.cell AND m.attempt = e.attempt
    WHERE m.ttfo_ns IS NOT NULL
)
SELECT b.cell, b.request_index, f.marker, f.outcome, b.ttfo_ns, b.rank, c.n, c.p50 AS published,
    b.rank = (50 * c.n + 99) // 100 AS is_the_median
FROM behind b
JOIN claim c USING (campaign, cell)
JOIN request_facts f USING (campaign, cell, attempt, request_index)
ORDER BY b.rank;
