-- How many facts there are of each kind.
-- key: basis
-- rows: none: the rows of facts.json of this basis
SELECT basis, count(*) AS facts, count(DISTINCT subject) AS subjects, string_agg(DISTINCT source_sha256, ' ' ORDER BY source_sha256) AS source_sha256 FROM facts GROUP BY basis ORDER BY basis;
