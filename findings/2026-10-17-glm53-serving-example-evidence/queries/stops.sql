-- Every stop rule that fired.
-- key: stop_seq
-- rows: stop_requests
SELECT stop_seq, at_unix_ns, rule, arm, cell, attempt, detail, blocks FROM stops ORDER BY stop_seq;
