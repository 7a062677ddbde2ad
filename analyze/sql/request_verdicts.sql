-- One row per planned request of a counted attempt and request rule
-- (measurement.md section 6), whether the plan demands the rule or not.
--   not_applicable  the rule does not concern the request's cell
--   not_evaluable   the request was never sent, or refused before a stream began
--   fail            the condition does not hold, or the evidence that should be
--                   there is not; a started attempt without a record of the
--                   request is such a case
-- All rules are evaluated for every request; none hides another.
CREATE OR REPLACE VIEW request_verdicts AS
WITH planned AS (
    SELECT campaign, arm, cell, attempt, response_words, output_policy, request_canaries,
        unnest(range(requests)) AS request_index
    FROM counted_attempts
), foreign_markers AS (
    SELECT campaign, arm, cell, attempt, request_index,
        unnest(CASE WHEN json_valid(foreign_markers) THEN from_json(foreign_markers, '["VARCHAR"]') END) AS marker
    FROM request_facts
    WHERE foreign_markers <> '[]'
), foreign_owners AS (
    -- whose markers they are: a seed belongs to one cell of an arm
    SELECT m.campaign, m.cell, m.attempt, m.request_index,
        string_agg(format('request {} carries the marker of {} ({})', m.request_index,
            CASE WHEN c.cell IS NULL THEN 'no request of its arm'
                ELSE 'request ' || right(m.marker, 5)::BIGINT || CASE WHEN c.cell <> m.cell THEN ' of cell ' || c.cell ELSE '' END END,
            m.marker), '; ' ORDER BY m.marker, c.cell) AS owners
    FROM foreign_markers m
    LEFT JOIN cells c ON c.campaign = m.campaign AND c.arm = m.arm
        AND m.marker = printf('ASSAY_REQ_%d_%s', c.seed, right(m.marker, 5)) AND TRY_CAST(right(m.marker, 5) AS BIGINT) < c.requests
    GROUP BY ALL
), evidence AS (
    SELECT p.campaign, p.arm, p.cell, p.attempt, p.request_index, p.response_words, p.output_policy, p.request_canaries,
        -- ingest gives a request without a record a row that says so
        coalesce(f.end_kind <> 'not_recorded' OR f.dispatched, false) AS recorded,
        coalesce(f.dispatched, false) AS dispatched,
        f.outcome, f.http_status, f.event_stream, f.done_ns, f.prompt_tokens, f.completion_tokens, f.usage_fault,
        f.finish_reasons, f.content_events, f.canary_state, f.foreign_markers,
        f.events, f.events_seen, f.bad_events, f.tail_bytes, f.words_observed, f.words_exact,
        o.owners,
        CASE WHEN json_valid(f.finish_reasons) THEN from_json(f.finish_reasons, '["VARCHAR"]') END AS reasons,
        from_json(s.allowed_finish_reasons, '["VARCHAR"]') AS allowed,
        (f.outcome LIKE 'refused\_%' ESCAPE '\' OR f.outcome = 'not_ready')
            AND NOT coalesce(f.http_status = 200 AND f.event_stream, false) AS refused
    FROM planned p
    LEFT JOIN request_facts f ON f.campaign = p.campaign AND f.cell = p.cell
        AND f.attempt = p.attempt AND f.request_index = p.request_index
    LEFT JOIN foreign_owners o ON o.campaign = p.campaign AND o.cell = p.cell
        AND o.attempt = p.attempt AND o.request_index = p.request_index
    LEFT JOIN plan_settings s ON s.campaign = p.campaign
), finishes AS (
    SELECT *,
        -- null, "" and abort are never allowed, whatever the plan says
        list_distinct(list_filter(reasons, lambda r: r IS NULL OR r IN ('', 'abort') OR NOT list_contains(allowed, r))) AS refused_reasons,
        list_count(reasons) < len(reasons) AS has_null_reason
    FROM evidence
), judged AS (
    SELECT campaign, arm, cell, attempt, request_index, recorded, dispatched, refused, outcome,
        unnest([
            {'rule': 'terminal', 'applies': true,
             'ok': http_status = 200 AND event_stream AND (outcome = 'complete' OR (outcome = 'no_output' AND done_ns IS NOT NULL)),
             'why': concat_ws(', ', outcome, 'HTTP ' || coalesce(http_status::VARCHAR, 'status unknown'),
                 CASE WHEN NOT coalesce(event_stream, false) THEN 'no event stream' END),
             'aside': ''},
            {'rule': 'usage_exact', 'applies': true,
             'ok': prompt_tokens >= 0 AND completion_tokens >= 0 AND usage_fault IS NULL,
             'why': 'usage ' || coalesce(usage_fault, 'absent'),
             'aside': ''},
            {'rule': 'finish_allowed', 'applies': true,
             'ok': len(reasons) > 0 AND len(refused_reasons) = 0 AND NOT has_null_reason,
             'why': CASE WHEN coalesce(len(reasons), 0) = 0 THEN 'no finish reason'
                 WHEN refused_reasons = ['length'] THEN 'length: completed but truncated'
                 ELSE 'finish reasons ' || finish_reasons END,
             'aside': ''},
            {'rule': 'visible_output', 'applies': true,
             'ok': content_events > 0,
             'why': 'no visible content',
             'aside': ''},
            {'rule': 'canary_first', 'applies': request_canaries,
             'ok': canary_state = 'own_first',
             'why': 'marker ' || coalesce(canary_state, 'unknown: no visible text'),
             'aside': 'the cell asks for no marker'},
            {'rule': 'no_foreign_marker', 'applies': true,
             'ok': foreign_markers = '[]',
             'why': coalesce(owners, 'foreign markers ' || foreign_markers),
             'aside': ''},
            {'rule': 'capture_complete', 'applies': true,
             -- finish reason and usage show that the text is whole, also where
             -- [DONE] is missing; that is a matter of the rule terminal
             'ok': events = events_seen AND bad_events = 0 AND tail_bytes = 0 AND (done_ns IS NOT NULL OR outcome = 'missing_done'),
             'why': concat_ws(', ',
                 CASE WHEN events <> events_seen THEN format('{} of {} events kept', events, events_seen) END,
                 CASE WHEN bad_events > 0 THEN format('{} events unreadable', bad_events) END,
                 CASE WHEN tail_bytes > 0 THEN 'last event cut' END,
                 CASE WHEN done_ns IS NULL THEN 'the stream ended before [DONE]' END),
             'aside': ''},
            {'rule': 'controlled_exact', 'applies': response_words > 0 AND output_policy = 'strict',
             'ok': words_exact,
             'why': format('{} of {} words, or other text', coalesce(words_observed::VARCHAR, 'unknown'), response_words),
             'aside': CASE WHEN response_words = 0 THEN 'the output is natural'
                 WHEN words_exact THEN 'observed only: exact'
                 ELSE format('observed only: {} of {} words, or other text', coalesce(words_observed::VARCHAR, 'unknown'), response_words) END}
        ], recursive := true)
    FROM finishes
)
SELECT campaign, arm, cell, attempt, request_index, rule,
    CASE WHEN NOT applies THEN 'not_applicable'
        WHEN NOT recorded AND attempt > 0 THEN 'fail'
        WHEN NOT dispatched OR refused THEN 'not_evaluable'
        WHEN coalesce(ok, false) THEN 'pass'
        ELSE 'fail' END AS verdict,
    CASE WHEN NOT applies THEN aside
        WHEN NOT recorded AND attempt > 0 THEN 'no record of the request'
        WHEN NOT dispatched THEN 'never dispatched'
        WHEN refused THEN 'refused before a stream began: ' || outcome
        WHEN coalesce(ok, false) THEN ''
        ELSE why END AS detail
FROM judged
ORDER BY campaign, cell, request_index, rule;
COMMENT ON VIEW request_verdicts IS 'One row per planned request of a counted attempt and request rule: the verdict, and why. Every rule is evaluated, demanded or not.';
COMMENT ON COLUMN request_verdicts.campaign IS 'Campaign.';
COMMENT ON COLUMN request_verdicts.arm IS 'Arm.';
COMMENT ON COLUMN request_verdicts.cell IS 'Cell.';
COMMENT ON COLUMN request_verdicts.attempt IS 'Counted attempt; 0 when the cell was never started.';
COMMENT ON COLUMN request_verdicts.request_index IS 'Position of the request in its cell, from 0.';
COMMENT ON COLUMN request_verdicts.rule IS 'Rule; see plan_rules.';
COMMENT ON COLUMN request_verdicts.verdict IS 'pass, fail, not_applicable or not_evaluable.';
COMMENT ON COLUMN request_verdicts.detail IS 'Why the verdict is not a pass; empty for a pass.';
