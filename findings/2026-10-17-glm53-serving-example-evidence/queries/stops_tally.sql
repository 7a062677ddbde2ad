-- How often each stop rule fired.
-- key: rule
-- rows: stop_requests
SELECT rule, count(*) AS stops FROM stops GROUP BY rule ORDER BY rule;
