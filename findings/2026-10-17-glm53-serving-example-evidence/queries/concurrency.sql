-- The three concurrency claims of each arm, apart: scheduler ceiling, resident KV capacity, measured concurrency.
-- key: arm, claim
-- rows: requests where counted and dispatched
SELECT arm, claim, value, unit, source, note FROM concurrency_claims ORDER BY arm, claim;
