-- Fills repeat_medians, once the views are made. A cell of the repeat stands when
-- it is eligible there and its requests had the same prompts, by digest and by the
-- engine's own count, as this campaign's under every index both sent.
INSERT INTO repeat_medians
WITH repeats AS (
    SELECT c.campaign, o.campaign AS repeat, o.plan_sha256, o.locked_at_unix_ns
    FROM campaigns c
    JOIN plan_settings s ON s.campaign = c.campaign
    JOIN plan_settings t ON t.measured_sha256 = s.measured_sha256 AND t.campaign <> s.campaign
    JOIN campaigns o ON o.campaign = t.campaign AND o.kind = c.kind
    WHERE s.measured_sha256 <> ''
), prompts AS (
    SELECT f.campaign, f.cell, f.request_index, f.prompt_sha256, f.prompt_tokens
    FROM counted_attempts k
    JOIN request_facts f ON f.campaign = k.campaign AND f.cell = k.cell AND f.attempt = k.attempt
    WHERE f.dispatched
), differing AS (
    SELECT DISTINCT r.campaign, r.repeat, a.cell
    FROM repeats r
    JOIN prompts a ON a.campaign = r.campaign
    JOIN prompts b ON b.campaign = r.repeat AND b.cell = a.cell AND b.request_index = a.request_index
    WHERE a.prompt_sha256 <> b.prompt_sha256 OR a.prompt_tokens <> b.prompt_tokens
), judged AS (
    SELECT r.*, d.arm, d.cell, d.metric, d.unit, d.n, d.p50,
        CASE WHEN d.population <> 'eligible' THEN 'not eligible'
            WHEN x.cell IS NOT NULL THEN 'prompts differ'
            WHEN d.metric = 'effective_prefill_tok_s' AND contains(d.note, 'cache_assisted') THEN 'cache_assisted'
            WHEN d.p50 IS NULL THEN 'no value'
            ELSE '' END AS reason
    FROM repeats r
    JOIN cell_distributions d ON d.campaign = r.repeat
    LEFT JOIN differing x ON x.campaign = r.campaign AND x.repeat = r.repeat AND x.cell = d.cell
    WHERE d.metric <> 'gap_p50_ns'
)
SELECT campaign, repeat, plan_sha256, locked_at_unix_ns, arm, cell, metric, unit, n, CASE WHEN reason = '' THEN p50 END, reason
FROM judged
ORDER BY campaign, repeat, cell, metric;
