-- One row per counted attempt with a whole page and identity that the engine's
-- numbers must satisfy among themselves or with the client's.
--   holds          it does
--   explained      it does not, and something seen says why:
--     foreign_traffic       the engine finished more requests than the client sent,
--                           or counted tokens that nobody here asked for
--     preemption_recompute  requests lost their KV memory and were computed again
--     not_yet_counted       the last page came before the engine had counted all
--                           requests the client saw end; the collector waits for
--                           it, with a bound
--     aborted               requests ended by an abort or an error are not in every
--                           histogram of finished requests
--   broken         it does not, and nothing seen says why
--   not_evaluable  a side is unknown
-- observed and expected are sums over the label sets of a metric. A sum of seconds
-- is equal within a millionth: engines add floating numbers.
CREATE OR REPLACE VIEW engine_checks AS
WITH histograms AS (
    SELECT campaign, cell, canonical,
        CASE WHEN count(count_delta) = count(*) THEN sum(count_delta ORDER BY family, labels) END AS n,
        CASE WHEN count(sum_delta) = count(*) THEN sum(sum_delta ORDER BY family, labels) END AS total
    FROM histogram_series
    GROUP BY ALL
), finished_histograms AS (
    SELECT campaign, cell, min(n) AS fewest, max(n) AS most, count(n) AS known,
        string_agg(canonical || ' ' || n::BIGINT, ', ' ORDER BY canonical) AS said
    FROM histograms
    WHERE canonical IN ('e2e_seconds', 'queue_seconds', 'prefill_seconds', 'decode_seconds', 'inference_seconds',
        'request_prompt_tokens', 'request_generation_tokens')
    GROUP BY ALL
), counters AS (
    SELECT campaign, cell, canonical,
        CASE WHEN count(delta) = count(*) THEN sum(delta ORDER BY series, labels) END AS total,
        coalesce(sum(delta ORDER BY series, labels) FILTER (regexp_matches(labels, '"(abort|error)"')), 0) AS aborted
    FROM counter_deltas
    GROUP BY ALL
), client AS (
    SELECT k.campaign, k.arm, k.cell, k.attempt,
        count(*) FILTER (v.dispatched) AS sent,
        count(*) FILTER (v.dispatched AND f.outcome = 'complete') AS ended,
        count(*) FILTER (v.dispatched AND (v.prompt_tokens IS NULL OR v.completion_tokens IS NULL)) AS without_usage,
        coalesce(sum(v.prompt_tokens), 0)::DOUBLE AS prompt_tokens,
        coalesce(sum(v.completion_tokens), 0)::DOUBLE AS completion_tokens
    FROM counted_attempts k
    JOIN attempt_pages p ON p.campaign = k.campaign AND p.cell = k.cell AND p.whole_pages > 0
    JOIN request_values v ON v.campaign = k.campaign AND v.cell = k.cell AND v.attempt = k.attempt
    JOIN request_facts f ON f.campaign = v.campaign AND f.cell = v.cell AND f.attempt = v.attempt AND f.request_index = v.request_index
    GROUP BY ALL
), known AS (
    SELECT c.*, h.fewest, h.most, h.known AS histograms_known, h.said,
        min(o.total) FILTER (o.canonical = 'requests_finished') AS finished,
        min(o.aborted) FILTER (o.canonical = 'requests_finished') AS aborted,
        min(o.total) FILTER (o.canonical = 'preemptions') AS preemptions,
        min(o.total) FILTER (o.canonical = 'prompt_tokens') AS engine_prompt,
        min(o.total) FILTER (o.canonical = 'prompt_tokens_computed') AS computed,
        min(o.total) FILTER (o.canonical = 'prompt_tokens_cached') AS cached,
        min(o.total) FILTER (o.canonical = 'generation_tokens') AS engine_generation,
        min(o.total) FILTER (o.canonical = 'spec_draft_tokens') AS drafted,
        min(o.total) FILTER (o.canonical = 'spec_accepted_tokens') AS accepted,
        min(o.total) FILTER (o.canonical = 'spec_accepted_by_position') AS accepted_by_position
    FROM client c
    LEFT JOIN finished_histograms h ON h.campaign = c.campaign AND h.cell = c.cell
    LEFT JOIN counters o ON o.campaign = c.campaign AND o.cell = c.cell
    GROUP BY ALL
), sums AS (
    SELECT k.campaign, k.cell,
        min(h.total) FILTER (h.canonical = 'e2e_seconds') AS e2e,
        min(h.total) FILTER (h.canonical = 'queue_seconds') AS queue,
        min(h.total) FILTER (h.canonical = 'prefill_seconds') AS prefill,
        min(h.total) FILTER (h.canonical = 'decode_seconds') AS decode,
        min(h.total) FILTER (h.canonical = 'inference_seconds') AS inference,
        min(h.n) FILTER (h.canonical = 'e2e_seconds') AS e2e_n
    FROM known k
    LEFT JOIN histograms h ON h.campaign = k.campaign AND h.cell = k.cell
    GROUP BY ALL
), checks AS (
    SELECT k.campaign, k.arm, k.cell, k.attempt, unnest([
        {'place': 1, 'name': 'inference_is_prefill_and_decode', 'unit': 's', 'observed': s.inference, 'expected': s.prefill + s.decode,
            'holds': abs(s.inference - s.prefill - s.decode) <= 1e-6 * greatest(1, s.inference), 'why': NULL::VARCHAR},
        {'place': 2, 'name': 'e2e_covers_queue_and_inference', 'unit': 's', 'observed': s.e2e, 'expected': s.queue + s.inference,
            'holds': s.e2e >= s.queue + s.inference - 1e-6 * greatest(1, s.e2e), 'why': NULL},
        {'place': 3, 'name': 'finished_histograms_agree', 'unit': 'requests', 'observed': CASE WHEN k.histograms_known > 1 THEN k.fewest END,
            'expected': CASE WHEN k.histograms_known > 1 THEN k.most END, 'holds': k.fewest = k.most,
            'why': CASE WHEN k.most - k.fewest <= k.aborted THEN format('aborted: {} requests ended by an abort or an error; {}', k.aborted::BIGINT, k.said) END},
        {'place': 4, 'name': 'finished_counter_agrees', 'unit': 'requests', 'observed': k.finished, 'expected': s.e2e_n, 'holds': k.finished = s.e2e_n,
            'why': CASE WHEN abs(k.finished - s.e2e_n) <= k.aborted THEN format('aborted: {} requests ended by an abort or an error', k.aborted::BIGINT) END},
        {'place': 5, 'name': 'requests_are_ours', 'unit': 'requests', 'observed': k.finished, 'expected': k.sent::DOUBLE,
            'holds': k.finished BETWEEN k.ended AND k.sent,
            'why': CASE WHEN k.finished > k.sent THEN format('foreign_traffic: {} foreign or unaccounted requests', (k.finished - k.sent)::BIGINT)
                WHEN k.finished < k.ended THEN format('not_yet_counted: {} of {} requests the client saw end', (k.ended - k.finished)::BIGINT, k.ended) END},
        {'place': 6, 'name': 'prompt_tokens_are_ours', 'unit': 'tokens', 'observed': k.engine_prompt, 'expected': k.prompt_tokens,
            'holds': k.engine_prompt = k.prompt_tokens, 'why': 'tokens'},
        {'place': 7, 'name': 'generation_tokens_are_ours', 'unit': 'tokens', 'observed': k.engine_generation, 'expected': k.completion_tokens,
            'holds': k.engine_generation = k.completion_tokens, 'why': 'tokens'},
        {'place': 8, 'name': 'prompt_is_computed_and_cached', 'unit': 'tokens', 'observed': k.engine_prompt, 'expected': k.computed + k.cached,
            'holds': k.engine_prompt = k.computed + k.cached,
            'why': CASE WHEN k.preemptions > 0 THEN format('preemption_recompute: {} preemptions', k.preemptions::BIGINT) END},
        {'place': 9, 'name': 'accepted_is_the_sum_of_positions', 'unit': 'tokens', 'observed': k.accepted, 'expected': k.accepted_by_position,
            'holds': k.accepted = k.accepted_by_position, 'why': NULL},
        {'place': 10, 'name': 'accepted_is_within_drafted', 'unit': 'tokens', 'observed': k.accepted, 'expected': k.drafted,
            'holds': k.accepted <= k.drafted, 'why': NULL}
        ], recursive := true),
        k.without_usage, k.sent, k.ended, k.finished, k.preemptions
    FROM known k
    JOIN sums s ON s.campaign = k.campaign AND s.cell = k.cell
), judged AS (
    SELECT *, CASE
            WHEN why <> 'tokens' OR holds THEN why
            WHEN observed < expected AND finished < ended THEN format('not_yet_counted: {} of {} requests the client saw end', (ended - finished)::BIGINT, ended)
            WHEN observed < expected THEN NULL
            WHEN finished > sent THEN format('foreign_traffic: {} foreign or unaccounted requests', (finished - sent)::BIGINT)
            WHEN preemptions > 0 THEN format('preemption_recompute: {} preemptions; the engine''s count holds tokens computed again', preemptions::BIGINT)
            WHEN preemptions = 0 THEN format('foreign_traffic: {} tokens that no request of the client accounts for', (observed - expected)::BIGINT)
        END AS explanation,
        CASE WHEN why = 'tokens' AND without_usage > 0 THEN format('{} of {} requests have no usage', without_usage, sent)
            WHEN observed IS NULL OR expected IS NULL THEN 'a side of it is not exposed, or has no delta'
            WHEN why = 'tokens' AND observed > expected AND preemptions IS NULL AND coalesce(finished <= sent, true) THEN 'the engine does not say whether it preempted'
        END AS unknown
    FROM checks
)
SELECT campaign, arm, cell, attempt, name AS check_name, unit, observed, expected,
    CASE WHEN unknown IS NOT NULL THEN 'not_evaluable' WHEN holds THEN 'holds' WHEN explanation IS NOT NULL THEN 'explained' ELSE 'broken' END AS verdict,
    CASE WHEN unknown IS NOT NULL THEN unknown WHEN NOT holds THEN explanation END AS explanation
FROM judged
ORDER BY campaign, cell, place;
COMMENT ON VIEW engine_checks IS 'One row per counted attempt with a whole page and identity that the engine''s numbers must satisfy, among themselves or with the client''s.';
COMMENT ON COLUMN engine_checks.campaign IS 'Campaign.';
COMMENT ON COLUMN engine_checks.arm IS 'Arm.';
COMMENT ON COLUMN engine_checks.cell IS 'Cell.';
COMMENT ON COLUMN engine_checks.attempt IS 'Counted attempt.';
COMMENT ON COLUMN engine_checks.check_name IS 'What must hold.';
COMMENT ON COLUMN engine_checks.unit IS 'Unit of observed and expected.';
COMMENT ON COLUMN engine_checks.observed IS 'The engine''s own number over the attempt; null when it has none.';
COMMENT ON COLUMN engine_checks.expected IS 'What it is held against; null when unknown.';
COMMENT ON COLUMN engine_checks.verdict IS 'holds, explained, broken or not_evaluable.';
COMMENT ON COLUMN engine_checks.explanation IS 'Why it does not hold: foreign_traffic, preemption_recompute, not_yet_counted or aborted, with the evidence; or why it cannot be judged; null when it holds, or when nothing explains it.';
