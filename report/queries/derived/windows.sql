-- Shared pool / configured context, in full windows. Arithmetic, not a claim of fit.
-- key: subject
-- rows: none: computed from the facts SUBJECT.pool_tokens and SUBJECT.context_tokens
SELECT c.subject, 'arithmetic' AS basis, p.basis AS pool_basis, p.whole AS pool_tokens, c.whole AS context_tokens,
    p.whole / c.whole AS full_windows, concat_ws(' ', least(p.source_sha256, c.source_sha256), nullif(greatest(p.source_sha256, c.source_sha256), least(p.source_sha256, c.source_sha256))) AS source_sha256
FROM facts c JOIN facts p ON p.subject = c.subject AND p.attribute = 'pool_tokens'
WHERE c.attribute = 'context_tokens' AND c.whole > 0 AND p.whole IS NOT NULL
ORDER BY c.subject;
