CREATE TABLE facts AS SELECT unnest(facts, recursive := true) FROM read_json('facts.json', columns = {facts:
    'STRUCT(fact VARCHAR, subject VARCHAR, attribute VARCHAR, basis VARCHAR, whole BIGINT, words VARCHAR, unit VARCHAR, n BIGINT, source VARCHAR, source_sha256 VARCHAR, place VARCHAR)[]'});
CREATE TABLE sources AS SELECT * FROM read_json('sources.json', columns = {source: 'VARCHAR', kind: 'VARCHAR', name: 'VARCHAR', retrieved: 'BOOLEAN', sha256: 'VARCHAR', bytes: 'BIGINT', reason: 'VARCHAR'});
