-- Decode rates, with the output lengths and end-to-end times a reader needs beside
-- them: null where no source has them.
-- key: subject
-- n: n
-- rows: none: the facts of SUBJECT
SELECT d.subject, d.basis, n.words AS name, d.fact, coalesce(d.words, d.whole::VARCHAR) AS decode_tok_s, o.whole AS output_tokens, e.whole AS e2e_ns, d.n,
    d.source, d.source_sha256
FROM facts d
LEFT JOIN facts n ON n.subject = d.subject AND n.attribute = 'name'
LEFT JOIN facts o ON o.subject = d.subject AND o.attribute = 'output_tokens'
LEFT JOIN facts e ON e.subject = d.subject AND e.attribute = 'e2e_ns'
WHERE d.attribute = 'decode_tok_s'
ORDER BY d.subject;
