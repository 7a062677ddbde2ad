-- How often each stop rule fired, and how many cells it kept from being run.
-- key: rule
-- rows: stop_requests
SELECT rule, count(*) AS stops,
    (SELECT count(DISTINCT b.cell) FROM (SELECT unnest(from_json(t.blocks, '["VARCHAR"]')) AS cell FROM stops t WHERE t.rule = s.rule) b) AS cells_blocked
FROM stops s GROUP BY rule ORDER BY rule;
