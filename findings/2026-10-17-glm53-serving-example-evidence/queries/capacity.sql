-- Capacity facts of each arm and where they come from.
-- key: arm, fact
SELECT arm, fact, value, unit, source, confidence FROM capacity_facts ORDER BY arm, fact;
