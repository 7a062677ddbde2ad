-- What the facts were taken from, and what those sources name but was not had.
-- key: source
-- rows: none: a source is a file, or the name of one
SELECT source, kind, name, retrieved, sha256 AS source_sha256, bytes, reason,
    (SELECT count(*) FROM facts f WHERE f.source = s.source) AS facts
FROM sources s ORDER BY retrieved DESC, source;
