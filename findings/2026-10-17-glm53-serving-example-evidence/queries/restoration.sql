-- Checks after each restoration of the earlier service. The first check of a
-- restoration is always the same one; the last restoration counts.
-- key: check_seq
-- rows: none: a check is one look at the host; the journal's entry is all there is of it
WITH numbered AS (
    SELECT *, count(*) FILTER (name = 'candidate_absent') OVER (ORDER BY check_seq) AS restoration FROM restoration_checks
)
SELECT check_seq, restoration, restoration = max(restoration) OVER () AS counts,
    row_number() OVER (PARTITION BY restoration ORDER BY check_seq) AS place, at_unix_ns, name, outcome, detail
FROM numbered ORDER BY check_seq;
