-- Every recorded fact as its source states it: a whole number or words.
-- key: fact
-- n: n
-- rows: none: a fact is recorded as its source states it; its place says where that is
SELECT fact, subject, attribute, basis, whole, words, unit, n, source, source_sha256, place FROM facts ORDER BY fact;
