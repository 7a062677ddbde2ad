-- What a chunk of a stream means. Reads raw_events, the rows of an
-- events.parquet; makes decoded_events, one row per event with its time and
-- what it carries. Definitions: measurement.md sections 3 and 4.
--
-- To run it by hand, make raw_events first:
--   CREATE TEMP VIEW raw_events AS SELECT * FROM read_parquet('RUN/cells/arm=A/cell=C/attempt=1/events.parquet');
-- decoded_events holds the text of answers. It is a temporary table, read by
-- request_facts.sql and dropped; no text reaches a stored table.

-- A token count is a JSON integer that is not negative. A cast alone would
-- round 10.5 to 11.
CREATE OR REPLACE TEMP MACRO token_count(v) AS
    CASE WHEN json_type(v) = 'UBIGINT' THEN TRY_CAST(CAST(v AS VARCHAR) AS BIGINT) END;

CREATE OR REPLACE TEMP TABLE decoded_events AS
WITH
-- Bytes to text. Null when the bytes are not UTF-8.
texts AS (
    SELECT * EXCLUDE (payload), TRY(decode(payload)) AS txt
    FROM raw_events
),
-- Text to the members that mean something. Null when the text is no JSON
-- object (DuckDB's reader lets a trailing comma and NaN pass). Where a text is
-- expected, any other value reads as its JSON; where an object or a list is
-- expected, any other value reads as null. JSON null reads as null.
parsed AS (
    SELECT *, CASE WHEN json_valid(txt) AND (starts_with(txt, '{') OR starts_with(ltrim(txt, e' \t\r\n'), '{')) THEN json_transform(txt, '{
        "object": "VARCHAR",
        "error": "JSON",
        "choices": [{
            "text": "VARCHAR",
            "finish_reason": "VARCHAR",
            "delta": {
                "content": "VARCHAR",
                "reasoning": "VARCHAR",
                "reasoning_content": "VARCHAR",
                "tool_calls": [{"function": {"name": "VARCHAR", "arguments": "VARCHAR"}}]}}],
        "usage": {
            "prompt_tokens": "JSON",
            "completion_tokens": "JSON",
            "reasoning_tokens": "JSON",
            "completion_tokens_details": {"reasoning_tokens": "JSON"},
            "prompt_tokens_details": {"cached_tokens": "JSON"}}}') END AS chunk
    FROM texts
),
-- What kind of event it is. An error member of any type but null is an error,
-- also false, 0 or an empty text. [DONE] must be the whole payload; some
-- engines put blanks after it. A named event that is no chunk, such as a ping
-- or an annotation, is passed over, as event-stream clients do.
kinds AS (
    SELECT *, CASE
            WHEN event_name = 'error' THEN 'error'
            WHEN chunk IS NOT NULL THEN CASE WHEN chunk.error IS NOT NULL OR chunk.object = 'error' THEN 'error' ELSE 'chunk' END
            WHEN rtrim(txt) = '[DONE]' THEN 'done'
            WHEN trim(txt, e' \t\r\n') = '' THEN 'empty'
            WHEN event_name NOT IN ('', 'message') THEN 'named'
            ELSE 'bad'
        END AS own_kind
    FROM parsed
),
-- What it carries. Several choices are never asked for; where a server sends
-- them, their texts are joined in the order of the list, so that nothing goes
-- unseen. Completions of the older kind carry text instead of delta.content.
-- Equal texts under both names of the reasoning field count once; unequal ones
-- are both kept and counted as a conflict. An error event carries nothing else.
carried AS (
    SELECT request_index, seq, read_seq, own_kind, read_ns, read_unix_ns, kernel_unix_ns,
        CASE WHEN own_kind = 'chunk' THEN chunk.choices END AS choices,
        CASE WHEN own_kind = 'chunk' THEN chunk.usage END AS usage,
        CASE WHEN own_kind = 'error' THEN coalesce(txt, '') END AS error_text,
        coalesce(array_to_string([CASE WHEN c.delta.reasoning = c.delta.reasoning_content THEN c.delta.reasoning
            ELSE concat(c.delta.reasoning, c.delta.reasoning_content) END FOR c IN choices], ''), '') AS reasoning,
        coalesce(array_to_string([concat(c.delta.content, c.text) FOR c IN choices], ''), '') AS content,
        coalesce(array_to_string([array_to_string([concat(t.function.name, t.function.arguments) FOR t IN c.delta.tool_calls], '')
            FOR c IN choices], ''), '') AS tool,
        array_to_string([c.finish_reason FOR c IN choices IF c.finish_reason <> ''], chr(31)) AS finish_reason,
        coalesce(len([1 FOR c IN choices IF c.delta.reasoning <> '']) > 0, false) AS named_reasoning,
        coalesce(len([1 FOR c IN choices IF c.delta.reasoning_content <> '']) > 0, false) AS named_reasoning_content,
        coalesce(len([1 FOR c IN choices IF c.delta.reasoning <> '' AND c.delta.reasoning_content <> ''
            AND c.delta.reasoning <> c.delta.reasoning_content]) > 0, false) AS alias_conflict
    FROM kinds
),
-- When it came. The kernel's receive stamp is used when the reader's lag
-- behind it is sound, because the reader waits for the scheduler and the
-- kernel does not.
stamped AS (
    SELECT * EXCLUDE (choices, usage, read_ns, read_unix_ns, kernel_unix_ns),
        usage IS NOT NULL AS has_usage,
        token_count(usage.prompt_tokens) AS prompt_tokens,
        token_count(usage.completion_tokens) AS completion_tokens,
        token_count(coalesce(usage.completion_tokens_details.reasoning_tokens, usage.reasoning_tokens)) AS reasoning_tokens,
        token_count(usage.prompt_tokens_details.cached_tokens) AS cached_tokens,
        coalesce(usage.prompt_tokens IS NOT NULL AND prompt_tokens IS NULL
            OR usage.completion_tokens IS NOT NULL AND completion_tokens IS NULL, false) AS not_integer,
        CASE WHEN read_unix_ns - kernel_unix_ns BETWEEN 0 AND 999999999 THEN read_unix_ns - kernel_unix_ns END AS lag_ns,
        read_ns - coalesce(lag_ns, 0) AS own_ns
    FROM carried
)
-- The order of the stream: times never fall, and nothing counts after [DONE].
SELECT * EXCLUDE (own_kind, own_ns),
    max(own_ns) OVER stream AS at_ns,
    at_ns > own_ns AS raised,
    CASE WHEN bool_or(own_kind = 'done') OVER earlier THEN 'after_done' ELSE own_kind END AS kind,
    kind = 'chunk' AND (reasoning <> '' OR content <> '' OR tool <> '') AS output
FROM stamped
WINDOW stream AS (PARTITION BY request_index ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
       earlier AS (PARTITION BY request_index ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING);
