-- What each engine is by its own answers: the family, its build, and what every path answered that only some engines have.
-- key: arm, fact, value, source
-- n: readings
-- rows: engine_answers
SELECT arm, fact, value, source, count(*) AS readings
FROM engine_facts WHERE fact IN ('engine', 'engine_build') OR fact = 'answer' AND source NOT IN ('/v1/models', '/version', '/health') GROUP BY arm, fact, value, source ORDER BY arm, fact DESC, source, value;
