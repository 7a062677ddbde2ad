-- What result files are in the database: how many files and runs of which tool,
-- under which definitions, and whether they keep their requests.
SELECT kind, tool, protocol, shape, percentile_rule, summary_only,
    count(DISTINCT sha256) AS files, count(*) AS runs, sum(requests) AS requests
FROM artifacts
GROUP BY ALL
ORDER BY kind, tool, protocol, shape, summary_only, percentile_rule;
