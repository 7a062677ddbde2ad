-- Everything an engine said, beside its pages, about what it is and what it can hold, around every attempt.
-- key: cell, attempt, phase, fact, source, value
SELECT arm, cell, attempt, phase, fact, source, value, unit, confidence
FROM engine_facts
ORDER BY cell, attempt, phase, fact, source, value;
