-- Every rule of every cell, with the requests it passes, fails and does not apply to.
-- key: cell, rule
-- rows: rule_requests
SELECT arm, cell, rule, scope, verdict, passing, failing, not_applicable, not_evaluable, failing_requests
FROM cell_verdicts ORDER BY arm, cell, rule;
