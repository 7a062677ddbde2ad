-- The output events of one request with the gap before each: what a time of the
-- table request_facts was reduced from. Needs the database of an ingest; a bundle
-- has no events.
SELECT e.cell, e.request_index, e.seq, e.at_ns, e.at_ns - lag(e.at_ns) OVER stream AS gap_ns,
    e.read_seq = lag(e.read_seq) OVER stream AS same_read, e.stamp_source
FROM events e
JOIN (SELECT campaign, cell, attempt, request_index FROM request_facts WHERE outcome = 'complete'
    ORDER BY campaign, cell, attempt, request_index LIMIT 1) f USING (campaign, cell, attempt, request_index)
WHERE e.output
WINDOW stream AS (ORDER BY e.seq)
ORDER BY e.seq;
