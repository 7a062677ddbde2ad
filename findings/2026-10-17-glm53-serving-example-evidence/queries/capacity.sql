-- Capacity facts of each arm and where they come from.
-- key: arm, fact
-- rows: none: a fact that the plan configures or the engine states; its source says where
SELECT arm, fact, value, unit, source, confidence FROM capacity_facts ORDER BY arm, fact;
