-- The other tables of one attempt: copied, minus what is private (page and
-- answer bodies, GPU ids; of inodes and boot ids only the order stays). Reads
-- raw_gpu, raw_cgroup, raw_host, raw_problems and gpu_aliases; the attempt is named
-- by the variables campaign, arm, cell and attempt.
INSERT INTO gpu_samples
SELECT getvariable('campaign'), getvariable('arm'), getvariable('cell'), getvariable('attempt'), sample_seq, phase, at_ns, status,
    gpu_index, alias, nullif(gpu_name, ''), memory_total_bytes, memory_used_bytes, memory_free_bytes, utilization_percent,
    memory_busy_percent, power_mw, energy_mj, sm_clock_mhz, memory_clock_mhz, temperature_c, throttle_reasons,
    gpu_source, driver_version, memory_api, memory_reserved_bytes, power_average_mw, power_instant_mw, power_limit_mw,
    graphics_clock_mhz, performance_state, pcie_tx_kb_s, pcie_rx_kb_s, pcie_gen, pcie_width, pcie_replays, ecc_corrected_errors,
    ecc_uncorrected_errors, compute_processes, process_memory_bytes, missing
FROM raw_gpu LEFT JOIN gpu_aliases USING (gpu_uuid)
ORDER BY sample_seq, gpu_index;

INSERT INTO cgroup_samples
SELECT getvariable('campaign'), getvariable('arm'), getvariable('cell'), getvariable('attempt'), sample_seq, phase, at_ns, status,
    memory_current_bytes, memory_peak_bytes, memory_max_bytes, anon_bytes, file_bytes, shmem_bytes,
    oom_events, oom_kill_events, cpu_usage_us, throttled_us, cgroup_version,
    CASE WHEN cgroup_inode IS NOT NULL THEN 1 + count(*) FILTER (cgroup_inode <> before) OVER (ORDER BY sample_seq) END,
    memory_high_bytes, swap_current_bytes, swap_max_bytes, inactive_file_bytes, kernel_bytes, max_events, oom_group_kill_events,
    throttled_periods, cpu_quota_us, cpu_period_us, pids, memory_pressure_us, memory_stalled_us, cpu_pressure_us, io_pressure_us,
    missing
FROM (SELECT *, lag(cgroup_inode IGNORE NULLS) OVER (ORDER BY sample_seq) AS before FROM raw_cgroup)
ORDER BY sample_seq;

INSERT INTO host_samples
SELECT getvariable('campaign'), getvariable('arm'), getvariable('cell'), getvariable('attempt'), sample_seq, phase, at_ns, status,
    mem_total_bytes, mem_available_bytes, swap_free_bytes, load_1m, oom_kills,
    client_cpu_ns, client_rss_bytes, client_goroutines, client_gc_pause_ns,
    uptime_s, load_5m, swap_total_bytes, major_faults, memory_pressure_us, memory_stalled_us, cpu_pressure_us, io_pressure_us,
    CASE WHEN boot_id <> '' THEN 1 + count(*) FILTER (boot_id <> before) OVER (ORDER BY sample_seq) END, missing
FROM (SELECT *, lag(nullif(boot_id, '') IGNORE NULLS) OVER (ORDER BY sample_seq) AS before FROM raw_host)
ORDER BY sample_seq;

INSERT INTO problems
SELECT getvariable('campaign'), getvariable('arm'), getvariable('cell'), getvariable('attempt'), 'collect', code, source, position, detail
FROM raw_problems;
