-- The other tables of one attempt: copied, minus what is private (page and
-- answer bodies, GPU ids, boot ids). Reads raw_gpu, raw_cgroup, raw_host,
-- raw_problems and gpu_aliases; the attempt is named by the variables
-- campaign, arm, cell and attempt.
INSERT INTO gpu_samples
SELECT getvariable('campaign'), getvariable('arm'), getvariable('cell'), getvariable('attempt'), sample_seq, phase, at_ns, status,
    gpu_index, alias, nullif(gpu_name, ''), memory_total_bytes, memory_used_bytes, memory_free_bytes, utilization_percent,
    memory_busy_percent, power_mw, energy_mj, sm_clock_mhz, memory_clock_mhz, temperature_c, throttle_reasons
FROM raw_gpu LEFT JOIN gpu_aliases USING (gpu_uuid)
ORDER BY sample_seq, gpu_index;

INSERT INTO cgroup_samples
SELECT getvariable('campaign'), getvariable('arm'), getvariable('cell'), getvariable('attempt'), sample_seq, phase, at_ns, status,
    memory_current_bytes, memory_peak_bytes, memory_max_bytes, anon_bytes, file_bytes, shmem_bytes,
    oom_events, oom_kill_events, cpu_usage_us, throttled_us
FROM raw_cgroup ORDER BY sample_seq;

INSERT INTO host_samples
SELECT getvariable('campaign'), getvariable('arm'), getvariable('cell'), getvariable('attempt'), sample_seq, phase, at_ns, status,
    mem_total_bytes, mem_available_bytes, swap_free_bytes, load_1m, oom_kills,
    client_cpu_ns, client_rss_bytes, client_goroutines, client_gc_pause_ns
FROM raw_host ORDER BY sample_seq;

INSERT INTO problems
SELECT getvariable('campaign'), getvariable('arm'), getvariable('cell'), getvariable('attempt'), 'collect', code, source, position, detail
FROM raw_problems;
