-- Identity facts of each engine; more than one value of a fact is a drift.
-- key: arm, fact, value
-- n: readings
-- rows: identity_answers
SELECT arm, fact, coalesce(value, '') AS value, count(*) AS readings, min(source) AS source, min(reason) AS reason
FROM identities GROUP BY arm, fact, coalesce(value, '') ORDER BY arm, fact, value;
