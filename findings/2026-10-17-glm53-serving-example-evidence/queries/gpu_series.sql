-- Highest memory and utilisation over the GPUs of each reading, for the plots.
-- key: cell, attempt, sample_seq
-- plain
-- rows: readings where source = 'gpu'
SELECT arm, cell, attempt, sample_seq, min(at_ns) AS at_ns, max(memory_used_bytes) AS memory_used_bytes,
    max(utilization_percent) AS utilization_percent
FROM gpu_samples WHERE status = 'ok' GROUP BY arm, cell, attempt, sample_seq ORDER BY arm, cell, attempt, sample_seq;
