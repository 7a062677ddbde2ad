-- From the events of one attempt to one row per planned request. Reads
-- raw_requests (the rows of a requests.parquet), decoded_events (events.sql),
-- classified (what the error texts mean, read by collect/engine), and the table
-- cells; adds to the tables events and request_facts. The attempt is named by
-- the variables campaign, cell and attempt. Definitions: measurement.md
-- sections 3, 4 and 6.

-- White space is what Unicode calls so; RE2's \s alone is ASCII.
CREATE OR REPLACE TEMP MACRO white() AS '[\s\x0B\x{85}\p{Z}]';
CREATE OR REPLACE TEMP MACRO not_white() AS '[^\s\x0B\x{85}\p{Z}]';
-- Nearest rank: always an observed value. q is a whole percentage.
CREATE OR REPLACE TEMP MACRO nearest_rank(sorted, q) AS sorted[(q * len(sorted) + 99) // 100];
-- Markers in a text that are not this request's own.
CREATE OR REPLACE TEMP MACRO markers_but(own, txt) AS
    list_filter(coalesce(regexp_extract_all(txt, 'ASSAY_REQ_[0-9]+_[0-9]{5}'), []), lambda m: m <> own);

INSERT INTO events
SELECT getvariable('campaign'), getvariable('arm'), getvariable('cell'), getvariable('attempt'), request_index,
    seq, read_seq, at_ns, stamp_source, lag_ns, kind, output, length(reasoning), length(content), length(tool),
    nullif(split_part(finish_reason, chr(31), 1), ''), prompt_tokens, completion_tokens
FROM (SELECT *, CASE WHEN lag_ns IS NULL THEN 'read' ELSE 'kernel' END AS stamp_source FROM decoded_events)
ORDER BY request_index, seq;

INSERT INTO request_facts BY NAME
WITH
planned AS (
    SELECT arm, response_words, request_canaries, i AS request_index, printf('ASSAY_REQ_%d_%05d', seed, i) AS planned_marker
    FROM cells, range(requests) AS r(i)
    WHERE campaign = getvariable('campaign') AND cell = getvariable('cell')
),
-- Gaps between consecutive output events. Those inside one read are 0 by
-- construction; they are kept and counted, never spread out.
gaps AS (
    SELECT request_index, at_ns - lag(at_ns) OVER stream AS gap, read_seq = lag(read_seq) OVER stream AS same_read
    FROM decoded_events WHERE output
    WINDOW stream AS (PARTITION BY request_index ORDER BY seq)
),
gap_figures AS (
    SELECT request_index, count(gap) AS gaps, count(*) FILTER (same_read) AS same_read_gaps,
        count(*) FILTER (same_read OR gap < 1000000) AS short_gaps,
        list_sort(coalesce(list(gap) FILTER (gap IS NOT NULL), [])) AS sorted_gaps
    FROM gaps GROUP BY request_index
),
-- Usage: the last one counts, totals are never added up. A total that is
-- smaller than an earlier one contradicts it.
usages AS (
    SELECT request_index, seq, at_ns, prompt_tokens, completion_tokens, reasoning_tokens, cached_tokens, not_integer,
        prompt_tokens < max(prompt_tokens) OVER earlier OR completion_tokens < max(completion_tokens) OVER earlier AS fell
    FROM decoded_events WHERE kind = 'chunk' AND has_usage
    WINDOW earlier AS (PARTITION BY request_index ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
usage_figures AS (
    SELECT request_index, count(*) AS usage_chunks, max(at_ns) AS usage_ns, coalesce(bool_or(fell), false) AS fell,
        arg_max({p: prompt_tokens, c: completion_tokens, r: reasoning_tokens, k: cached_tokens, bad: not_integer}, seq) AS u
    FROM usages GROUP BY request_index
),
streams AS (
    SELECT request_index,
        count(*) AS events,
        count(*) FILTER (kind = 'bad') AS bad_events,
        count(*) FILTER (output) AS output_events,
        count(*) FILTER (output AND reasoning <> '') AS reasoning_events,
        count(*) FILTER (output AND content <> '') AS content_events,
        count(*) FILTER (output AND tool <> '') AS tool_events,
        count(lag_ns) AS kernel_stamped_events,
        count(*) FILTER (raised) AS raised_stamps,
        count(*) FILTER (output AND lag_ns IS NULL) AS output_read_stamped,
        list_sort(coalesce(list(lag_ns) FILTER (lag_ns IS NOT NULL), [])) AS sorted_lags,
        min(at_ns) FILTER (kind <> 'empty') AS first_event_ns,
        min(at_ns) FILTER (output) AS ttfo_ns,
        min(at_ns) FILTER (output AND content <> '') AS ttft_ns,
        min(at_ns) FILTER (output AND regexp_matches(content, not_white())) AS ttft_nonblank_ns,
        max(at_ns) FILTER (output) AS last_output_ns,
        min(at_ns) FILTER (kind = 'chunk' AND finish_reason <> '') AS finish_ns,
        min(at_ns) FILTER (kind = 'done') AS done_ns,
        string_split(string_agg(finish_reason, chr(31) ORDER BY seq) FILTER (kind = 'chunk' AND finish_reason <> ''), chr(31)) AS finish_reasons,
        string_agg(content, '' ORDER BY seq) FILTER (output AND content <> '') AS visible,
        string_agg(reasoning, '' ORDER BY seq) FILTER (output AND reasoning <> '') AS thoughts,
        bool_or(output AND named_reasoning) AS named_reasoning,
        bool_or(output AND named_reasoning_content) AS named_reasoning_content,
        count(*) FILTER (output AND alias_conflict) AS alias_conflicts
    FROM decoded_events GROUP BY request_index
),
joined AS (
    SELECT planned.*, raw_requests.* EXCLUDE (request_index), raw_requests.request_index IS NOT NULL AS recorded,
        coalesce(marker, planned_marker) AS own_marker,
        lower(trim(split_part(content_type, ';', 1))) = 'text/event-stream' AS is_event_stream,
        streams.* EXCLUDE (request_index), gap_figures.* EXCLUDE (request_index), usage_figures.* EXCLUDE (request_index),
        classified.* EXCLUDE (request_index, outcome), classified.outcome AS classified_outcome
    FROM planned
    LEFT JOIN raw_requests USING (request_index)
    LEFT JOIN streams USING (request_index)
    LEFT JOIN gap_figures USING (request_index)
    LEFT JOIN usage_figures USING (request_index)
    LEFT JOIN classified USING (request_index)
),
-- The canary: leading white space is allowed and counted; the marker must be
-- followed by white space or the end.
judged AS (
    SELECT *,
        regexp_extract(visible, '^' || white() || '*') AS blank_start,
        substr(visible, length(blank_start) + 1) AS body_text,
        starts_with(body_text, own_marker)
            AND (body_text = own_marker OR regexp_matches(substr(body_text, length(own_marker) + 1, 1), white())) AS own_first,
        CASE WHEN response_words > 0 THEN
            regexp_extract_all(CASE WHEN own_first THEN substr(body_text, length(own_marker) + 1) ELSE body_text END, not_white() || '+') END AS words
    FROM joined
)
SELECT getvariable('campaign') AS campaign, arm, getvariable('cell') AS cell, getvariable('attempt') AS attempt, request_index,
    t0_ns IS NOT NULL OR coalesce(events, 0) > 0 AS dispatched,
    worker, own_marker AS marker, template_version, prompt_sha256, prompt_chars, t0_ns, t0_unix_ns, idle_gap_ns,
    dns_ns, connect_ns, tls_ns, wrote_ns, first_byte_ns, head_ns,
    first_event_ns, ttfo_ns, ttft_ns, ttft_nonblank_ns, last_output_ns, finish_ns, usage_ns, done_ns, close_ns, end_ns,
    http_status, nullif(http_version, '') AS http_version, CASE WHEN http_status IS NOT NULL THEN is_event_stream END AS event_stream,
    CASE WHEN recorded THEN end_kind ELSE 'not_recorded' END AS end_kind, coalesce(end_detail, '') AS end_detail,
    -- How it went, one word of the closed list. A stream that reached [DONE]
    -- is not spoiled by what came after it.
    CASE
        WHEN t0_ns IS NULL THEN CASE WHEN events > 0 THEN 'interrupted' ELSE 'not_dispatched' END
        WHEN end_kind IN ('connect_failed', 'tls_failed') THEN 'connect_failed'
        WHEN classified_outcome IS NOT NULL THEN classified_outcome
        WHEN http_status IS NULL AND end_kind IN ('idle_timeout', 'outer_timeout', 'interrupted', 'protocol') THEN end_kind
        WHEN http_status IS NULL THEN 'connection_reset'
        WHEN http_status <> 200 OR NOT is_event_stream THEN 'protocol'
        WHEN done_ns IS NOT NULL AND bad_events > 0 THEN 'protocol'
        WHEN done_ns IS NOT NULL AND output_events = 0 THEN 'no_output'
        WHEN done_ns IS NOT NULL THEN 'complete'
        WHEN end_kind IN ('connection_reset', 'idle_timeout', 'outer_timeout', 'interrupted', 'protocol') THEN end_kind
        WHEN bad_events > 0 THEN 'protocol'
        WHEN finish_ns IS NOT NULL AND usage_ns IS NOT NULL THEN 'missing_done'
        ELSE 'truncated'
    END AS outcome,
    fault_class, error_pattern,
    error_limit_of, error_limit_tokens, error_asked_tokens, error_prompt_tokens, error_output_tokens, error_at_least,
    coalesce(events, 0) AS events, coalesce(events_seen, 0) AS events_seen, coalesce(bad_events, 0) AS bad_events,
    coalesce(output_events, 0) AS output_events, coalesce(reasoning_events, 0) AS reasoning_events,
    coalesce(content_events, 0) AS content_events, coalesce(tool_events, 0) AS tool_events,
    coalesce(kernel_stamped_events, 0) AS kernel_stamped_events, coalesce(raised_stamps, 0) AS raised_stamps,
    coalesce(output_read_stamped, 0) AS output_read_stamped, nearest_rank(sorted_lags, 99) AS lag_p99_ns,
    coalesce(gaps, 0) AS gaps, coalesce(same_read_gaps, 0) AS same_read_gaps, coalesce(short_gaps, 0) AS short_gaps,
    sorted_gaps[1] AS gap_min_ns, nearest_rank(sorted_gaps, 50) AS gap_p50_ns, nearest_rank(sorted_gaps, 95) AS gap_p95_ns, sorted_gaps[-1] AS gap_max_ns,
    u.p AS prompt_tokens, u.c AS completion_tokens, u.r AS reasoning_tokens, u.k AS cached_tokens,
    coalesce(usage_chunks, 0) AS usage_chunks,
    CASE
        WHEN coalesce(usage_chunks, 0) = 0 THEN 'absent'
        WHEN u.bad THEN 'not_integer'
        WHEN u.p IS NULL OR u.c IS NULL THEN 'absent'
        WHEN fell THEN 'falling'
        WHEN usage_chunks > 1 AND u.c < output_events THEN 'below_output_events'
        WHEN u.r > u.c THEN 'reasoning_exceeds_completion'
    END AS usage_fault,
    to_json(coalesce(finish_reasons, []))::VARCHAR AS finish_reasons,
    CASE WHEN named_reasoning AND named_reasoning_content THEN 'both' WHEN named_reasoning THEN 'reasoning'
        WHEN named_reasoning_content THEN 'reasoning_content' END AS reasoning_field,
    coalesce(alias_conflicts, 0) AS alias_conflicts,
    coalesce(length(visible), 0) AS visible_chars, coalesce(length(thoughts), 0) AS reasoning_chars,
    sha256(visible) AS visible_sha256, length(blank_start) AS leading_white_chars,
    CASE
        WHEN visible IS NULL OR NOT request_canaries THEN NULL
        WHEN own_first THEN 'own_first'
        WHEN contains(visible, own_marker) THEN 'own_late'
        WHEN len(markers_but(own_marker, visible)) > 0 THEN 'foreign'
        ELSE 'absent'
    END AS canary_state,
    to_json(list_sort(list_distinct(list_concat(markers_but(own_marker, visible), markers_but(own_marker, thoughts)))))::VARCHAR AS foreign_markers,
    CASE WHEN response_words > 0 AND events > 0 THEN coalesce(len(words), 0) END AS words_observed,
    CASE WHEN response_words > 0 AND events > 0 THEN
        coalesce((own_first OR NOT request_canaries) AND len(words) = response_words AND len(list_filter(words, lambda w: w <> 'code')) = 0, false)
    END AS words_exact,
    coalesce(octet_length("trailing"), 0) AS trailing_bytes, coalesce(octet_length(tail), 0) AS tail_bytes
FROM judged
ORDER BY request_index;
