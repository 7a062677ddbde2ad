-- Every identity fact as it was read, around every attempt.
-- key: cell, attempt, phase, fact, source, value
SELECT arm, cell, attempt, phase, fact, coalesce(value, '') AS value, source, reason
FROM identities
ORDER BY cell, attempt, phase, fact, source, value;
