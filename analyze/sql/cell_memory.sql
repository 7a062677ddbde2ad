-- One row per counted attempt that ran: memory of the engine's control group. The
-- kernel's peak is since the group was made, so it is of the cell only if it rose
-- during the attempt; else the cell stayed at or below it. Current use includes page
-- cache, which the kernel takes back when it needs to: weights that are mapped from
-- files stand there.
CREATE OR REPLACE VIEW cell_memory AS
WITH unread AS (
    SELECT campaign, arm, min(status) AS reason FROM cgroup_samples WHERE starts_with(status, 'unavailable') GROUP BY ALL
), used AS (
    SELECT campaign, cell, attempt, count(memory_current_bytes) AS n,
        max(memory_current_bytes) AS current_max_bytes, max(anon_bytes) AS anon_max_bytes, max(file_bytes) AS file_max_bytes,
        max(inactive_file_bytes) AS inactive_file_max_bytes, max(shmem_bytes) AS shmem_max_bytes, min(memory_max_bytes) AS limit_bytes,
        arg_min(memory_peak_bytes, sample_seq) AS peak_before_bytes, arg_max(memory_peak_bytes, sample_seq) AS peak_after_bytes,
        count(memory_peak_bytes) AS peaks, max(group_number) AS groups,
        min(json_extract_string(missing, '$.memory_peak_bytes')) AS no_peak, min(status) FILTER (status <> 'ok') AS bad_status
    FROM cgroup_samples GROUP BY ALL
)
SELECT k.campaign, k.arm, k.cell, k.attempt, coalesce(u.n, 0) AS n, u.current_max_bytes, u.anon_max_bytes, u.file_max_bytes,
    u.inactive_file_max_bytes, u.shmem_max_bytes, u.limit_bytes, u.peak_before_bytes, u.peak_after_bytes,
    CASE WHEN u.groups = 1 AND u.peaks >= 2 AND u.peak_after_bytes > u.peak_before_bytes THEN u.peak_after_bytes END AS cell_peak_bytes,
    CASE WHEN coalesce(u.n, 0) = 0 THEN coalesce(u.bad_status, r.reason, 'not read')
        WHEN u.groups > 1 THEN 'the control group was made anew during the attempt'
        WHEN u.peaks = 0 THEN coalesce(u.no_peak, 'no peak was read')
        WHEN u.peaks < 2 THEN 'one reading of the peak only'
        WHEN u.peak_after_bytes <= u.peak_before_bytes THEN 'the peak since the group was made did not rise'
    END AS cell_peak_reason
FROM counted_attempts k
LEFT JOIN used u ON u.campaign = k.campaign AND u.cell = k.cell AND u.attempt = k.attempt
LEFT JOIN unread r ON r.campaign = k.campaign AND r.arm = k.arm
WHERE k.attempt > 0
ORDER BY k.campaign, k.cell_order, k.cell;
COMMENT ON VIEW cell_memory IS 'One row per counted attempt that ran: memory of the engine''s control group, sampled, and the kernel''s peak where it is of the cell.';
COMMENT ON COLUMN cell_memory.campaign IS 'Campaign.';
COMMENT ON COLUMN cell_memory.arm IS 'Arm.';
COMMENT ON COLUMN cell_memory.cell IS 'Cell.';
COMMENT ON COLUMN cell_memory.attempt IS 'Counted attempt.';
COMMENT ON COLUMN cell_memory.n IS 'Readings of the memory in use.';
COMMENT ON COLUMN cell_memory.current_max_bytes IS 'Highest sampled use, page cache included, bytes; a lower bound.';
COMMENT ON COLUMN cell_memory.anon_max_bytes IS 'Highest sampled anonymous memory, bytes.';
COMMENT ON COLUMN cell_memory.file_max_bytes IS 'Highest sampled page cache, bytes.';
COMMENT ON COLUMN cell_memory.inactive_file_max_bytes IS 'Highest sampled page cache not used lately, bytes.';
COMMENT ON COLUMN cell_memory.shmem_max_bytes IS 'Highest sampled shared memory, bytes.';
COMMENT ON COLUMN cell_memory.limit_bytes IS 'Hard limit, bytes; null when there is none.';
COMMENT ON COLUMN cell_memory.peak_before_bytes IS 'Kernel''s peak since the group was made, first reading of the attempt, bytes.';
COMMENT ON COLUMN cell_memory.peak_after_bytes IS 'The same, last reading, bytes.';
COMMENT ON COLUMN cell_memory.cell_peak_bytes IS 'Peak of the cell, bytes: the kernel''s, if it rose during the attempt.';
COMMENT ON COLUMN cell_memory.cell_peak_reason IS 'Why the cell has no peak of its own; null when it has.';
