-- Questions put to each arm before its first cell.
-- key: smoke_seq
-- rows: none: a question is one exchange; the journal's entry is all there is of it
SELECT smoke_seq, at_unix_ns, arm, question, outcome, detail, http_status, end_kind, took_ns, answer_sha256 FROM smoke_checks ORDER BY smoke_seq;
