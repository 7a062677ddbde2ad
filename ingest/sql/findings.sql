-- What is wrong with the requests of one attempt, as rows of problems. The
-- attempt is named by the variables campaign, cell, attempt and folder.
INSERT INTO problems
SELECT campaign, arm, cell, attempt, 'ingest', code, getvariable('folder') || '/' || source, printf('request %d', request_index), detail
FROM (SELECT *, unnest([
        {code: 'request_missing', source: 'requests.parquet', detail: 'the planned request has no row', found: end_kind = 'not_recorded'},
        {code: 'stray_events', source: 'events.parquet', detail: printf('%d events of a request that was not dispatched', events), found: events > 0 AND t0_ns IS NULL},
        {code: 'events_lost', source: 'events.parquet', detail: printf('%d events are stored, the reader saw %d', events, events_seen), found: events <> events_seen AND t0_ns IS NOT NULL},
        {code: 'bad_events', source: 'events.parquet', detail: printf('%d events are neither a JSON object nor [DONE]', bad_events), found: bad_events > 0},
        {code: 'alias_conflict', source: 'events.parquet', detail: printf('%d events carry unequal texts under both names of the reasoning field', alias_conflicts), found: alias_conflicts > 0}
    ], recursive := true)
    FROM request_facts
    WHERE campaign = getvariable('campaign') AND cell = getvariable('cell') AND attempt = getvariable('attempt'))
WHERE found
ORDER BY request_index, code;
