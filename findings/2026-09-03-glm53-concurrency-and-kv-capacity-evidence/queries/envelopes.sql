-- Planned concurrency x (prompt + output) against a pool, and what remains of it:
-- negative where it does not fit. Without an output allowance prompts alone count.
-- key: subject
-- rows: none: computed from the planned_ facts of SUBJECT and the pool of the profile it names
SELECT c.subject, 'arithmetic' AS basis, c.whole AS concurrency, p.whole AS prompt_tokens, o.whole AS output_tokens,
    c.whole * (p.whole + coalesce(o.whole, 0)) AS combined_tokens, k.words AS pool_of, t.whole AS pool_tokens,
    t.whole - c.whole * (p.whole + coalesce(o.whole, 0)) AS remaining_tokens,
    array_to_string(list_sort(list_distinct([c.source_sha256, p.source_sha256, o.source_sha256, k.source_sha256, t.source_sha256])), ' ') AS source_sha256
FROM facts c
JOIN facts p ON p.subject = c.subject AND p.attribute = 'planned_prompt_tokens'
JOIN facts k ON k.subject = c.subject AND k.attribute = 'planned_pool_of'
JOIN facts t ON t.subject = k.words AND t.attribute = 'pool_tokens'
LEFT JOIN facts o ON o.subject = c.subject AND o.attribute = 'planned_output_tokens'
WHERE c.attribute = 'planned_concurrency' AND c.whole IS NOT NULL AND p.whole IS NOT NULL AND t.whole IS NOT NULL
ORDER BY c.subject;
