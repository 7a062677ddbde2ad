-- How many matched pairs of cells can be compared.
-- key: campaign
-- n: pairs
-- rows: pair_requests where metric = 'e2e_ns'
SELECT campaign, count(*) AS pairs, count(*) FILTER (WHERE comparable) AS comparable
FROM pair_comparability GROUP BY campaign ORDER BY campaign;
