-- How often each stop rule fired.
-- key: rule
SELECT rule, count(*) AS stops FROM stops GROUP BY rule ORDER BY rule;
