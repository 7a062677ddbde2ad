-- The tables an ingest fills. Views live in analyze/sql. A request is keyed by
-- (campaign, arm, cell, attempt, request_index). Every *_ns is int64
-- nanoseconds; unless a comment says otherwise it counts from the run's clock
-- anchor, and the *_ns of a request count from its own t0.

CREATE TABLE IF NOT EXISTS sources (
    sha256 VARCHAR NOT NULL, path VARCHAR NOT NULL, kind VARCHAR NOT NULL, bytes BIGINT NOT NULL,
    campaign VARCHAR, arm VARCHAR, cell VARCHAR, attempt BIGINT);
COMMENT ON TABLE sources IS 'One row per file that was read. A file is known by its content and its path, never by a run id.';
COMMENT ON COLUMN sources.sha256 IS 'SHA-256 of the file, hex.';
COMMENT ON COLUMN sources.path IS 'Path inside its run directory; the directory itself is not kept.';
COMMENT ON COLUMN sources.kind IS 'plan, lock, run, journal, the name of the table the file holds, or unknown for a file that is only noted.';
COMMENT ON COLUMN sources.bytes IS 'Size in bytes.';
COMMENT ON COLUMN sources.campaign IS 'Campaign the file belongs to.';
COMMENT ON COLUMN sources.arm IS 'Arm of the attempt the file belongs to; null for files of the whole run.';
COMMENT ON COLUMN sources.cell IS 'Cell of the attempt the file belongs to; null for files of the whole run.';
COMMENT ON COLUMN sources.attempt IS 'Attempt the file belongs to; null for files of the whole run.';

CREATE TABLE IF NOT EXISTS campaigns (
    campaign VARCHAR NOT NULL PRIMARY KEY, kind VARCHAR NOT NULL,
    plan_sha256 VARCHAR NOT NULL, redacted_plan_sha256 VARCHAR, locked_at_unix_ns BIGINT,
    collector VARCHAR, anchor_unix_ns BIGINT, clock_restarted BOOLEAN,
    dispatch_unix_ns BIGINT, cutoff_unix_ns BIGINT, deadline_unix_ns BIGINT,
    deviations VARCHAR NOT NULL, settings VARCHAR NOT NULL, plan VARCHAR NOT NULL);
COMMENT ON TABLE campaigns IS 'One row per campaign: its plan, lock and clock.';
COMMENT ON COLUMN campaigns.campaign IS 'campaign_id of the plan.';
COMMENT ON COLUMN campaigns.kind IS 'simulated when an engine''s version says so, measured when engines answered and none does, else unknown.';
COMMENT ON COLUMN campaigns.plan_sha256 IS 'Digest of the plan in canonical JSON, hex.';
COMMENT ON COLUMN campaigns.redacted_plan_sha256 IS 'Digest of the redacted plan in canonical JSON, hex, as locked before the first request.';
COMMENT ON COLUMN campaigns.locked_at_unix_ns IS 'Wall clock of the lock, ns since 1970 UTC.';
COMMENT ON COLUMN campaigns.collector IS 'Version of the program that collected.';
COMMENT ON COLUMN campaigns.anchor_unix_ns IS 'Wall clock at the run''s clock anchor, ns since 1970 UTC.';
COMMENT ON COLUMN campaigns.clock_restarted IS 'The dispatch clock was restarted at the lock, beside the frozen one.';
COMMENT ON COLUMN campaigns.dispatch_unix_ns IS 'Start of the dispatch clock, ns since 1970 UTC.';
COMMENT ON COLUMN campaigns.cutoff_unix_ns IS 'No request starts at or after this, ns since 1970 UTC.';
COMMENT ON COLUMN campaigns.deadline_unix_ns IS 'End of the campaign''s time, ns since 1970 UTC.';
COMMENT ON COLUMN campaigns.deviations IS 'JSON list of what was set otherwise than the plan says.';
COMMENT ON COLUMN campaigns.settings IS 'JSON object of the collector''s settings.';
COMMENT ON COLUMN campaigns.plan IS 'The plan as JSON text.';

CREATE TABLE IF NOT EXISTS arms (
    campaign VARCHAR NOT NULL, arm VARCHAR NOT NULL, arm_order BIGINT NOT NULL,
    model VARCHAR, engine VARCHAR, repository VARCHAR, revision VARCHAR, endpoint VARCHAR, loopback BOOLEAN,
    PRIMARY KEY (campaign, arm));
COMMENT ON TABLE arms IS 'One row per arm, as configured in the plan.';
COMMENT ON COLUMN arms.campaign IS 'Campaign.';
COMMENT ON COLUMN arms.arm IS 'Arm, such as baseline.';
COMMENT ON COLUMN arms.arm_order IS 'Position of the arm in the plan, from 0.';
COMMENT ON COLUMN arms.model IS 'Model id the arm''s requests name, and the id it must serve.';
COMMENT ON COLUMN arms.engine IS 'Engine label of the plan; configured, not observed.';
COMMENT ON COLUMN arms.repository IS 'Model repository of the plan.';
COMMENT ON COLUMN arms.revision IS 'Model revision of the plan.';
COMMENT ON COLUMN arms.endpoint IS 'Alias of the endpoint; its address is not kept.';
COMMENT ON COLUMN arms.loopback IS 'The endpoint is on the load host.';

CREATE TABLE IF NOT EXISTS cells (
    campaign VARCHAR NOT NULL, arm VARCHAR NOT NULL, cell VARCHAR NOT NULL, cell_order BIGINT NOT NULL,
    workload VARCHAR NOT NULL, context_tokens BIGINT NOT NULL, concurrency BIGINT NOT NULL, requests BIGINT NOT NULL,
    seed BIGINT NOT NULL, excluded_warmup BOOLEAN NOT NULL, outer_timeout_s BIGINT NOT NULL, idle_timeout_s BIGINT NOT NULL,
    max_tokens BIGINT, max_model_len BIGINT, response_words BIGINT NOT NULL, output_policy VARCHAR,
    reasoning_effort VARCHAR, temperature VARCHAR, top_p VARCHAR, prompt_cache_mode VARCHAR, request_canaries BOOLEAN NOT NULL,
    PRIMARY KEY (campaign, cell));
COMMENT ON TABLE cells IS 'One row per planned cell, in plan order, whether it ran or not.';
COMMENT ON COLUMN cells.campaign IS 'Campaign.';
COMMENT ON COLUMN cells.arm IS 'Arm.';
COMMENT ON COLUMN cells.cell IS 'Cell id of the plan, unique in the campaign.';
COMMENT ON COLUMN cells.cell_order IS 'Position in the plan''s matrix, from 0.';
COMMENT ON COLUMN cells.workload IS 'warmup, natural, controlled or capacity-edge.';
COMMENT ON COLUMN cells.context_tokens IS 'Nominal context label; a target, not a token count.';
COMMENT ON COLUMN cells.concurrency IS 'Requests kept in flight.';
COMMENT ON COLUMN cells.requests IS 'Planned requests.';
COMMENT ON COLUMN cells.seed IS 'Seed of the workload.';
COMMENT ON COLUMN cells.excluded_warmup IS 'Warm-up: listed, never part of a statistic.';
COMMENT ON COLUMN cells.outer_timeout_s IS 'Bound of the whole cell, seconds.';
COMMENT ON COLUMN cells.idle_timeout_s IS 'Longest silence of one request, seconds.';
COMMENT ON COLUMN cells.max_tokens IS 'Output limit sent with each request; null when none is sent.';
COMMENT ON COLUMN cells.max_model_len IS 'Context limit of the model as configured, tokens.';
COMMENT ON COLUMN cells.response_words IS 'Controlled output: how often the word is asked for; 0 for natural output.';
COMMENT ON COLUMN cells.output_policy IS 'strict: controlled output must be exact; observe: it is only recorded; null when not given.';
COMMENT ON COLUMN cells.reasoning_effort IS 'Sent with each request; null when not sent.';
COMMENT ON COLUMN cells.temperature IS 'Sent with each request, as written in the plan; null when not sent.';
COMMENT ON COLUMN cells.top_p IS 'Sent with each request, as written in the plan; null when not sent.';
COMMENT ON COLUMN cells.prompt_cache_mode IS 'unique: each prompt starts with its own marker.';
COMMENT ON COLUMN cells.request_canaries IS 'Each request asks for its own marker first.';

CREATE TABLE IF NOT EXISTS attempts (
    campaign VARCHAR NOT NULL, arm VARCHAR NOT NULL, cell VARCHAR NOT NULL, attempt BIGINT NOT NULL,
    run_state VARCHAR NOT NULL, counted BOOLEAN NOT NULL, start_ns BIGINT, end_ns BIGINT, start_unix_ns BIGINT, end_unix_ns BIGINT,
    drain_before_ns BIGINT, drain_after_ns BIGINT, drain_verified BOOLEAN, clock_drift_ns BIGINT,
    PRIMARY KEY (campaign, cell, attempt));
COMMENT ON TABLE attempts IS 'One row per attempt at a cell; a cell that never ran has one row with attempt 0.';
COMMENT ON COLUMN attempts.campaign IS 'Campaign.';
COMMENT ON COLUMN attempts.arm IS 'Arm.';
COMMENT ON COLUMN attempts.cell IS 'Cell.';
COMMENT ON COLUMN attempts.attempt IS 'Attempt, from 1; 0 when the cell was never started.';
COMMENT ON COLUMN attempts.run_state IS 'complete, partial, outer_timeout, blocked_by_stop, not_run_deadline or not_run.';
COMMENT ON COLUMN attempts.counted IS 'The attempt that stands for its cell: the first complete one, else the last.';
COMMENT ON COLUMN attempts.start_ns IS 'Attempt started, ns since the run''s clock anchor.';
COMMENT ON COLUMN attempts.end_ns IS 'Attempt ended, ns since the run''s clock anchor.';
COMMENT ON COLUMN attempts.start_unix_ns IS 'Wall clock at start_ns, ns since 1970 UTC.';
COMMENT ON COLUMN attempts.end_unix_ns IS 'Wall clock at end_ns, ns since 1970 UTC.';
COMMENT ON COLUMN attempts.drain_before_ns IS 'Wait until the engine was idle before the cell, ns.';
COMMENT ON COLUMN attempts.drain_after_ns IS 'Wait until the engine was idle after the cell, ns.';
COMMENT ON COLUMN attempts.drain_verified IS 'Two fresh pages showed nothing running or waiting on both sides; false when the engine does not say.';
COMMENT ON COLUMN attempts.clock_drift_ns IS 'Wall clock minus monotonic clock over the cell, ns; a step of the wall clock shows here.';

CREATE TABLE IF NOT EXISTS request_facts (
    campaign VARCHAR NOT NULL, arm VARCHAR NOT NULL, cell VARCHAR NOT NULL, attempt BIGINT NOT NULL, request_index BIGINT NOT NULL,
    dispatched BOOLEAN NOT NULL, worker BIGINT, marker VARCHAR NOT NULL, template_version VARCHAR, prompt_sha256 VARCHAR, prompt_chars BIGINT,
    t0_ns BIGINT, t0_unix_ns BIGINT, idle_gap_ns BIGINT,
    dns_ns BIGINT, connect_ns BIGINT, tls_ns BIGINT, wrote_ns BIGINT, first_byte_ns BIGINT, head_ns BIGINT,
    first_event_ns BIGINT, ttfo_ns BIGINT, ttft_ns BIGINT, ttft_nonblank_ns BIGINT, last_output_ns BIGINT,
    finish_ns BIGINT, usage_ns BIGINT, done_ns BIGINT, close_ns BIGINT, end_ns BIGINT,
    http_status BIGINT, http_version VARCHAR, event_stream BOOLEAN, end_kind VARCHAR NOT NULL, end_detail VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL, fault_class VARCHAR, error_pattern VARCHAR,
    error_limit_of VARCHAR, error_limit_tokens BIGINT, error_asked_tokens BIGINT, error_prompt_tokens BIGINT, error_output_tokens BIGINT,
    error_at_least BOOLEAN,
    events BIGINT NOT NULL, events_seen BIGINT NOT NULL, bad_events BIGINT NOT NULL, output_events BIGINT NOT NULL,
    reasoning_events BIGINT NOT NULL, content_events BIGINT NOT NULL, tool_events BIGINT NOT NULL,
    kernel_stamped_events BIGINT NOT NULL, raised_stamps BIGINT NOT NULL, output_read_stamped BIGINT NOT NULL, lag_p99_ns BIGINT,
    gaps BIGINT NOT NULL, same_read_gaps BIGINT NOT NULL, short_gaps BIGINT NOT NULL, gap_min_ns BIGINT, gap_p50_ns BIGINT, gap_p95_ns BIGINT, gap_max_ns BIGINT,
    prompt_tokens BIGINT, completion_tokens BIGINT, reasoning_tokens BIGINT, cached_tokens BIGINT,
    usage_chunks BIGINT NOT NULL, usage_fault VARCHAR,
    finish_reasons VARCHAR NOT NULL, reasoning_field VARCHAR, alias_conflicts BIGINT NOT NULL,
    visible_chars BIGINT NOT NULL, reasoning_chars BIGINT NOT NULL, visible_sha256 VARCHAR, leading_white_chars BIGINT,
    canary_state VARCHAR, foreign_markers VARCHAR NOT NULL, words_observed BIGINT, words_exact BOOLEAN,
    trailing_bytes BIGINT NOT NULL, tail_bytes BIGINT NOT NULL,
    PRIMARY KEY (campaign, cell, attempt, request_index));
COMMENT ON TABLE request_facts IS 'One row per planned request and attempt, reduced from its events at ingest: numbers and flags only, no text of a prompt or an answer. This is the requests table of a published bundle.';
COMMENT ON COLUMN request_facts.campaign IS 'Campaign.';
COMMENT ON COLUMN request_facts.arm IS 'Arm.';
COMMENT ON COLUMN request_facts.cell IS 'Cell.';
COMMENT ON COLUMN request_facts.attempt IS 'Attempt, from 1; 0 for requests of a cell that was never started.';
COMMENT ON COLUMN request_facts.request_index IS 'Position of the request in its cell, from 0.';
COMMENT ON COLUMN request_facts.dispatched IS 'The request was sent.';
COMMENT ON COLUMN request_facts.worker IS 'Closed-loop worker that ran it, from 0.';
COMMENT ON COLUMN request_facts.marker IS 'The request''s own canary.';
COMMENT ON COLUMN request_facts.template_version IS 'Version of the prompt template; null when there is no record of the request.';
COMMENT ON COLUMN request_facts.prompt_sha256 IS 'SHA-256 of the prompt, hex; null when there is no record of the request.';
COMMENT ON COLUMN request_facts.prompt_chars IS 'Length of the prompt, characters; null when there is no record of the request.';
COMMENT ON COLUMN request_facts.t0_ns IS 'Immediately before the dial, ns since the run''s clock anchor.';
COMMENT ON COLUMN request_facts.t0_unix_ns IS 'Wall clock at t0, ns since 1970 UTC.';
COMMENT ON COLUMN request_facts.idle_gap_ns IS 'Time its worker was idle before t0, ns; null for a worker''s first.';
COMMENT ON COLUMN request_facts.dns_ns IS 'Name resolved, ns after t0; null for a literal address.';
COMMENT ON COLUMN request_facts.connect_ns IS 'Connected, ns after t0.';
COMMENT ON COLUMN request_facts.tls_ns IS 'TLS handshake done, ns after t0; null without TLS.';
COMMENT ON COLUMN request_facts.wrote_ns IS 'Last request byte handed to the kernel, ns after t0; says nothing about the server having read it.';
COMMENT ON COLUMN request_facts.first_byte_ns IS 'First response byte, ns after t0.';
COMMENT ON COLUMN request_facts.head_ns IS 'Response head complete, ns after t0.';
COMMENT ON COLUMN request_facts.first_event_ns IS 'First event of any kind, the role chunk included, ns after t0.';
COMMENT ON COLUMN request_facts.ttfo_ns IS 'First output, reasoning or visible, ns after t0.';
COMMENT ON COLUMN request_facts.ttft_ns IS 'First non-empty visible content, ns after t0.';
COMMENT ON COLUMN request_facts.ttft_nonblank_ns IS 'First visible content with a character that is not white space, ns after t0.';
COMMENT ON COLUMN request_facts.last_output_ns IS 'Last event that carries output, ns after t0.';
COMMENT ON COLUMN request_facts.finish_ns IS 'First event with a finish reason, ns after t0.';
COMMENT ON COLUMN request_facts.usage_ns IS 'Event whose usage counts, ns after t0.';
COMMENT ON COLUMN request_facts.done_ns IS 'The [DONE] event, ns after t0: the end-to-end time.';
COMMENT ON COLUMN request_facts.close_ns IS 'End of the body, ns after t0.';
COMMENT ON COLUMN request_facts.end_ns IS 'Exchange over, ns after t0.';
COMMENT ON COLUMN request_facts.http_status IS 'HTTP status; null without a response head.';
COMMENT ON COLUMN request_facts.http_version IS 'HTTP version of the answer.';
COMMENT ON COLUMN request_facts.event_stream IS 'The answer declared itself an event stream; null without a head.';
COMMENT ON COLUMN request_facts.end_kind IS 'How the exchange ended, as the collector saw it; not_recorded when the run directory has no row for the request.';
COMMENT ON COLUMN request_facts.end_detail IS 'Short reason beside end_kind.';
COMMENT ON COLUMN request_facts.outcome IS 'One of the closed list of outcomes: complete, truncated, missing_done, no_output, in_band_error, protocol, refused_*, not_ready, connect_failed, connection_reset, idle_timeout, outer_timeout, interrupted, not_dispatched.';
COMMENT ON COLUMN request_facts.fault_class IS 'Engine fault recognised in the answer; null when none.';
COMMENT ON COLUMN request_facts.error_pattern IS 'Id of the pattern that matched the error text; null when none.';
COMMENT ON COLUMN request_facts.error_limit_of IS 'What the limit is of that the refusal names: model_length, input_length or batch_tokens (settings of the engine), kv_pool; null when it names none.';
COMMENT ON COLUMN request_facts.error_limit_tokens IS 'The limit as the refusal states it, tokens; null when it does not.';
COMMENT ON COLUMN request_facts.error_asked_tokens IS 'Prompt and output together as the refusal states them, tokens; null when it does not.';
COMMENT ON COLUMN request_facts.error_prompt_tokens IS 'Prompt as the refusal states it, tokens; null when it does not.';
COMMENT ON COLUMN request_facts.error_output_tokens IS 'Output asked for as the refusal states it, tokens; null when it does not.';
COMMENT ON COLUMN request_facts.error_at_least IS 'The refusal says "at least": error_asked_tokens and error_prompt_tokens are lower bounds; null when it names no limit.';
COMMENT ON COLUMN request_facts.events IS 'Events stored.';
COMMENT ON COLUMN request_facts.events_seen IS 'Events the reader completed; another number than events means some were lost or are not this request''s.';
COMMENT ON COLUMN request_facts.bad_events IS 'Events up to [DONE] whose payload is neither a JSON object nor [DONE].';
COMMENT ON COLUMN request_facts.output_events IS 'Events that carry output: reasoning, content or tool-call text.';
COMMENT ON COLUMN request_facts.reasoning_events IS 'Events with non-empty reasoning.';
COMMENT ON COLUMN request_facts.content_events IS 'Events with non-empty visible content.';
COMMENT ON COLUMN request_facts.tool_events IS 'Events with tool-call text.';
COMMENT ON COLUMN request_facts.kernel_stamped_events IS 'Events whose time is the kernel''s receive stamp.';
COMMENT ON COLUMN request_facts.raised_stamps IS 'Events whose time was raised to that of the event before, since times of a stream never fall.';
COMMENT ON COLUMN request_facts.output_read_stamped IS 'Output events whose time is the read stamp.';
COMMENT ON COLUMN request_facts.lag_p99_ns IS 'Nearest-rank p99 of the reader''s lag behind the kernel over this request''s events, ns; the client''s own error bar.';
COMMENT ON COLUMN request_facts.gaps IS 'Gaps between consecutive output events.';
COMMENT ON COLUMN request_facts.same_read_gaps IS 'Gaps inside one read; 0 by construction.';
COMMENT ON COLUMN request_facts.short_gaps IS 'Gaps in the same read or below 1 ms.';
COMMENT ON COLUMN request_facts.gap_min_ns IS 'Smallest inter-chunk gap, ns.';
COMMENT ON COLUMN request_facts.gap_p50_ns IS 'Nearest-rank median inter-chunk gap, ns.';
COMMENT ON COLUMN request_facts.gap_p95_ns IS 'Nearest-rank p95 inter-chunk gap, ns.';
COMMENT ON COLUMN request_facts.gap_max_ns IS 'Largest inter-chunk gap, ns.';
COMMENT ON COLUMN request_facts.prompt_tokens IS 'Prompt tokens from usage; null when absent or not a non-negative integer.';
COMMENT ON COLUMN request_facts.completion_tokens IS 'Completion tokens from usage, reasoning included; null when absent or not a non-negative integer.';
COMMENT ON COLUMN request_facts.reasoning_tokens IS 'Reasoning tokens from usage; null when absent.';
COMMENT ON COLUMN request_facts.cached_tokens IS 'Prompt tokens served from a cache, from usage; null when absent, which is not 0.';
COMMENT ON COLUMN request_facts.usage_chunks IS 'Events with a non-null usage before [DONE].';
COMMENT ON COLUMN request_facts.usage_fault IS 'Why usage cannot be used, the first of: absent (no usage, or a total missing), not_integer, falling, below_output_events, reasoning_exceeds_completion; null when sound.';
COMMENT ON COLUMN request_facts.finish_reasons IS 'JSON list of the finish reasons in stream order; null and empty ones are left out.';
COMMENT ON COLUMN request_facts.reasoning_field IS 'Name of the reasoning field on the wire: reasoning, reasoning_content or both; null without reasoning.';
COMMENT ON COLUMN request_facts.alias_conflicts IS 'Events that carried unequal texts under both reasoning names; both texts are kept and counted.';
COMMENT ON COLUMN request_facts.visible_chars IS 'Characters of visible content.';
COMMENT ON COLUMN request_facts.reasoning_chars IS 'Characters of reasoning.';
COMMENT ON COLUMN request_facts.visible_sha256 IS 'SHA-256 of the visible text, hex; null without visible text.';
COMMENT ON COLUMN request_facts.leading_white_chars IS 'White-space characters before the first other one of the visible text; null without visible text.';
COMMENT ON COLUMN request_facts.canary_state IS 'own_first; else own_late when the own marker stands anywhere in the visible text, foreign when another one does, absent; null without visible text or without canaries.';
COMMENT ON COLUMN request_facts.foreign_markers IS 'JSON list of other requests'' markers found in visible or reasoning text, sorted.';
COMMENT ON COLUMN request_facts.words_observed IS 'Controlled output: words after the own marker at the start, or in the whole visible text without it; null in other cells.';
COMMENT ON COLUMN request_facts.words_exact IS 'Controlled output: exactly the asked-for words and nothing else; null in other cells.';
COMMENT ON COLUMN request_facts.trailing_bytes IS 'Bytes after [DONE].';
COMMENT ON COLUMN request_facts.tail_bytes IS 'Bytes of an unterminated last event.';

CREATE OR REPLACE VIEW requests AS SELECT * FROM request_facts;
COMMENT ON VIEW requests IS 'request_facts under its short name: one row per planned request and attempt.';

CREATE TABLE IF NOT EXISTS events (
    campaign VARCHAR NOT NULL, arm VARCHAR NOT NULL, cell VARCHAR NOT NULL, attempt BIGINT NOT NULL, request_index BIGINT NOT NULL,
    seq BIGINT NOT NULL, read_seq BIGINT NOT NULL, at_ns BIGINT NOT NULL, stamp_source VARCHAR NOT NULL, lag_ns BIGINT,
    kind VARCHAR NOT NULL, output BOOLEAN NOT NULL, reasoning_chars BIGINT NOT NULL, content_chars BIGINT NOT NULL, tool_chars BIGINT NOT NULL,
    finish_reason VARCHAR, prompt_tokens BIGINT, completion_tokens BIGINT);
COMMENT ON TABLE events IS 'One row per server-sent event, decoded; payloads stay in the run directory.';
COMMENT ON COLUMN events.campaign IS 'Campaign.';
COMMENT ON COLUMN events.arm IS 'Arm.';
COMMENT ON COLUMN events.cell IS 'Cell.';
COMMENT ON COLUMN events.attempt IS 'Attempt.';
COMMENT ON COLUMN events.request_index IS 'Request.';
COMMENT ON COLUMN events.seq IS 'Position in the stream, from 0.';
COMMENT ON COLUMN events.read_seq IS 'Socket read that completed the event.';
COMMENT ON COLUMN events.at_ns IS 'Time of the event, ns after the request''s t0.';
COMMENT ON COLUMN events.stamp_source IS 'kernel or read: which stamp at_ns comes from.';
COMMENT ON COLUMN events.lag_ns IS 'Reader''s lag behind the kernel''s stamp, ns; null when the time is not the kernel''s.';
COMMENT ON COLUMN events.kind IS 'chunk, done, error, empty (no data), named (a named event that is no chunk), bad (neither a JSON object nor [DONE]), or after_done.';
COMMENT ON COLUMN events.output IS 'Carries reasoning, content or tool-call text.';
COMMENT ON COLUMN events.reasoning_chars IS 'Characters of reasoning.';
COMMENT ON COLUMN events.content_chars IS 'Characters of visible content.';
COMMENT ON COLUMN events.tool_chars IS 'Characters of tool-call names and arguments.';
COMMENT ON COLUMN events.finish_reason IS 'Finish reason of the first choice that has one; null without one.';
COMMENT ON COLUMN events.prompt_tokens IS 'Prompt tokens of the usage on this event; null without one.';
COMMENT ON COLUMN events.completion_tokens IS 'Completion tokens of the usage on this event; null without one.';

CREATE TABLE IF NOT EXISTS pages (
    campaign VARCHAR NOT NULL, arm VARCHAR NOT NULL, cell VARCHAR NOT NULL, attempt BIGINT NOT NULL, page_seq BIGINT NOT NULL,
    phase VARCHAR NOT NULL, start_ns BIGINT NOT NULL, end_ns BIGINT NOT NULL, start_unix_ns BIGINT NOT NULL,
    http_status BIGINT, content_type VARCHAR, error VARCHAR NOT NULL, body_sha256 VARCHAR NOT NULL, body_bytes BIGINT, series BIGINT);
COMMENT ON TABLE pages IS 'One row per scrape of an engine''s metrics page.';
COMMENT ON COLUMN pages.campaign IS 'Campaign.';
COMMENT ON COLUMN pages.arm IS 'Arm.';
COMMENT ON COLUMN pages.cell IS 'Cell.';
COMMENT ON COLUMN pages.attempt IS 'Attempt.';
COMMENT ON COLUMN pages.page_seq IS 'Position in the attempt, from 0.';
COMMENT ON COLUMN pages.phase IS 'before, during or after the cell''s requests.';
COMMENT ON COLUMN pages.start_ns IS 'Scrape sent, ns since the run''s clock anchor.';
COMMENT ON COLUMN pages.end_ns IS 'Scrape answered, ns since the run''s clock anchor.';
COMMENT ON COLUMN pages.start_unix_ns IS 'Wall clock at start_ns, ns since 1970 UTC.';
COMMENT ON COLUMN pages.http_status IS 'HTTP status; null without an answer.';
COMMENT ON COLUMN pages.content_type IS 'Content-Type of the answer, as received; null in a published bundle.';
COMMENT ON COLUMN pages.error IS 'Why there is no whole page; empty when there is one. Beside what the collector saw: not_metrics, empty_page, hash_mismatch (the stored bytes are not those that were scraped), short_page (more than half of the families of the page before are missing).';
COMMENT ON COLUMN pages.body_sha256 IS 'SHA-256 of the page, hex.';
COMMENT ON COLUMN pages.body_bytes IS 'Size of the page, bytes; null without one.';
COMMENT ON COLUMN pages.series IS 'Series read from the page; null when there is no page to read.';

CREATE TABLE IF NOT EXISTS engine_samples (
    campaign VARCHAR NOT NULL, arm VARCHAR NOT NULL, cell VARCHAR NOT NULL, attempt BIGINT NOT NULL, page_seq BIGINT NOT NULL,
    phase VARCHAR NOT NULL, at_ns BIGINT NOT NULL, series VARCHAR NOT NULL, labels VARCHAR NOT NULL, le DOUBLE, value DOUBLE, declared BOOLEAN NOT NULL);
COMMENT ON TABLE engine_samples IS 'One row per series of an engine page. Histogram series are kept for the pages before and after a cell; scalars for every page.';
COMMENT ON COLUMN engine_samples.campaign IS 'Campaign.';
COMMENT ON COLUMN engine_samples.arm IS 'Arm.';
COMMENT ON COLUMN engine_samples.cell IS 'Cell.';
COMMENT ON COLUMN engine_samples.attempt IS 'Attempt.';
COMMENT ON COLUMN engine_samples.page_seq IS 'Page the value was read from.';
COMMENT ON COLUMN engine_samples.phase IS 'before, during or after the cell''s requests.';
COMMENT ON COLUMN engine_samples.at_ns IS 'End of the scrape, ns since the run''s clock anchor.';
COMMENT ON COLUMN engine_samples.series IS 'Series name as scraped, with _bucket, _sum or _count for histograms. A family that is declared but has no series has a row with a null value.';
COMMENT ON COLUMN engine_samples.labels IS 'Labels as JSON with sorted keys, le left out.';
COMMENT ON COLUMN engine_samples.le IS 'Upper edge of a histogram bucket; null for other series.';
COMMENT ON COLUMN engine_samples.value IS 'Value as scraped; may be NaN.';
COMMENT ON COLUMN engine_samples.declared IS 'The page declares the family with a TYPE or HELP line.';

CREATE TABLE IF NOT EXISTS gpu_samples (
    campaign VARCHAR NOT NULL, arm VARCHAR NOT NULL, cell VARCHAR NOT NULL, attempt BIGINT NOT NULL,
    sample_seq BIGINT NOT NULL, phase VARCHAR NOT NULL, at_ns BIGINT NOT NULL, status VARCHAR NOT NULL,
    gpu_index BIGINT, gpu VARCHAR, gpu_name VARCHAR, memory_total_bytes BIGINT, memory_used_bytes BIGINT, memory_free_bytes BIGINT,
    utilization_percent BIGINT, memory_busy_percent BIGINT, power_mw BIGINT, energy_mj BIGINT, sm_clock_mhz BIGINT, memory_clock_mhz BIGINT, temperature_c BIGINT, throttle_reasons BIGINT,
    gpu_source VARCHAR, driver_version VARCHAR, memory_api VARCHAR, memory_reserved_bytes BIGINT, power_average_mw BIGINT,
    power_instant_mw BIGINT, power_limit_mw BIGINT, graphics_clock_mhz BIGINT, performance_state BIGINT, pcie_tx_kb_s BIGINT,
    pcie_rx_kb_s BIGINT, pcie_gen BIGINT, pcie_width BIGINT, pcie_replays BIGINT, ecc_corrected_errors BIGINT,
    ecc_uncorrected_errors BIGINT, compute_processes BIGINT, process_memory_bytes BIGINT, missing VARCHAR);
COMMENT ON TABLE gpu_samples IS 'One row per GPU and reading.';
COMMENT ON COLUMN gpu_samples.campaign IS 'Campaign.';
COMMENT ON COLUMN gpu_samples.arm IS 'Arm.';
COMMENT ON COLUMN gpu_samples.cell IS 'Cell.';
COMMENT ON COLUMN gpu_samples.attempt IS 'Attempt.';
COMMENT ON COLUMN gpu_samples.sample_seq IS 'Position in the attempt, from 0; the GPUs of one reading share it.';
COMMENT ON COLUMN gpu_samples.phase IS 'before, during or after the cell''s requests.';
COMMENT ON COLUMN gpu_samples.at_ns IS 'Time of the reading, ns since the run''s clock anchor.';
COMMENT ON COLUMN gpu_samples.status IS 'ok, or why there is no reading.';
COMMENT ON COLUMN gpu_samples.gpu_index IS 'Driver''s index of the GPU.';
COMMENT ON COLUMN gpu_samples.gpu IS 'Alias of the GPU, stable within the campaign, such as gpu-1.';
COMMENT ON COLUMN gpu_samples.gpu_name IS 'Product name.';
COMMENT ON COLUMN gpu_samples.memory_total_bytes IS 'Installed memory, bytes.';
COMMENT ON COLUMN gpu_samples.memory_used_bytes IS 'Memory in use, bytes.';
COMMENT ON COLUMN gpu_samples.memory_free_bytes IS 'Free memory, bytes.';
COMMENT ON COLUMN gpu_samples.utilization_percent IS 'Share of time a kernel ran in the driver''s last window, percent; not occupancy.';
COMMENT ON COLUMN gpu_samples.memory_busy_percent IS 'Share of time memory was read or written in the driver''s last window, percent.';
COMMENT ON COLUMN gpu_samples.power_mw IS 'Board power, mW.';
COMMENT ON COLUMN gpu_samples.energy_mj IS 'Energy counter, mJ.';
COMMENT ON COLUMN gpu_samples.sm_clock_mhz IS 'Clock of the multiprocessors, MHz.';
COMMENT ON COLUMN gpu_samples.memory_clock_mhz IS 'Memory clock, MHz.';
COMMENT ON COLUMN gpu_samples.temperature_c IS 'Temperature, °C.';
COMMENT ON COLUMN gpu_samples.throttle_reasons IS 'Bit mask of reasons for reduced clocks.';
COMMENT ON COLUMN gpu_samples.gpu_source IS 'What gave the reading: nvml, nvidia-smi or simulated.';
COMMENT ON COLUMN gpu_samples.driver_version IS 'Version of the driver.';
COMMENT ON COLUMN gpu_samples.memory_api IS 'How the memory was asked for. v2: used leaves out what the driver reserves. v1: used includes it, and reserved is null.';
COMMENT ON COLUMN gpu_samples.memory_reserved_bytes IS 'Memory the driver keeps for itself, bytes; used, free and reserved add up to the total.';
COMMENT ON COLUMN gpu_samples.power_average_mw IS 'Board power averaged over the driver''s window of about one second, mW.';
COMMENT ON COLUMN gpu_samples.power_instant_mw IS 'Board power at one instant, mW.';
COMMENT ON COLUMN gpu_samples.power_limit_mw IS 'Power limit in force, mW.';
COMMENT ON COLUMN gpu_samples.graphics_clock_mhz IS 'Graphics clock, MHz.';
COMMENT ON COLUMN gpu_samples.performance_state IS 'P-state, 0 is the fastest.';
COMMENT ON COLUMN gpu_samples.pcie_tx_kb_s IS 'Sent over PCIe in a window of about 20 ms, KB/s; asked every ten seconds.';
COMMENT ON COLUMN gpu_samples.pcie_rx_kb_s IS 'Received over PCIe in a window of about 20 ms, KB/s; asked every ten seconds.';
COMMENT ON COLUMN gpu_samples.pcie_gen IS 'Present PCIe link generation.';
COMMENT ON COLUMN gpu_samples.pcie_width IS 'Present PCIe link width, lanes.';
COMMENT ON COLUMN gpu_samples.pcie_replays IS 'PCIe replays since the driver was loaded.';
COMMENT ON COLUMN gpu_samples.ecc_corrected_errors IS 'Corrected memory errors since the driver was loaded; null where ECC is off.';
COMMENT ON COLUMN gpu_samples.ecc_uncorrected_errors IS 'Uncorrected memory errors since the driver was loaded; null where ECC is off.';
COMMENT ON COLUMN gpu_samples.compute_processes IS 'Processes that compute on the GPU.';
COMMENT ON COLUMN gpu_samples.process_memory_bytes IS 'Memory of these processes together, bytes.';
COMMENT ON COLUMN gpu_samples.missing IS 'Why columns are null, as a JSON object: column, reason; null when none is.';

CREATE TABLE IF NOT EXISTS cgroup_samples (
    campaign VARCHAR NOT NULL, arm VARCHAR NOT NULL, cell VARCHAR NOT NULL, attempt BIGINT NOT NULL,
    sample_seq BIGINT NOT NULL, phase VARCHAR NOT NULL, at_ns BIGINT NOT NULL, status VARCHAR NOT NULL,
    memory_current_bytes BIGINT, memory_peak_bytes BIGINT, memory_max_bytes BIGINT, anon_bytes BIGINT, file_bytes BIGINT, shmem_bytes BIGINT,
    oom_events BIGINT, oom_kill_events BIGINT, cpu_usage_us BIGINT, throttled_us BIGINT,
    cgroup_version BIGINT, group_number BIGINT, memory_high_bytes BIGINT, swap_current_bytes BIGINT, swap_max_bytes BIGINT,
    inactive_file_bytes BIGINT, kernel_bytes BIGINT, max_events BIGINT, oom_group_kill_events BIGINT, throttled_periods BIGINT,
    cpu_quota_us BIGINT, cpu_period_us BIGINT, pids BIGINT, memory_pressure_us BIGINT, memory_stalled_us BIGINT,
    cpu_pressure_us BIGINT, io_pressure_us BIGINT, missing VARCHAR);
COMMENT ON TABLE cgroup_samples IS 'One row per reading of the engine''s control group.';
COMMENT ON COLUMN cgroup_samples.campaign IS 'Campaign.';
COMMENT ON COLUMN cgroup_samples.arm IS 'Arm.';
COMMENT ON COLUMN cgroup_samples.cell IS 'Cell.';
COMMENT ON COLUMN cgroup_samples.attempt IS 'Attempt.';
COMMENT ON COLUMN cgroup_samples.sample_seq IS 'Position in the attempt, from 0.';
COMMENT ON COLUMN cgroup_samples.phase IS 'before, during or after the cell''s requests.';
COMMENT ON COLUMN cgroup_samples.at_ns IS 'Time of the reading, ns since the run''s clock anchor.';
COMMENT ON COLUMN cgroup_samples.status IS 'ok, or why there is no reading.';
COMMENT ON COLUMN cgroup_samples.memory_current_bytes IS 'Memory charged to the group, bytes.';
COMMENT ON COLUMN cgroup_samples.memory_peak_bytes IS 'Highest charge since the group was made, bytes.';
COMMENT ON COLUMN cgroup_samples.memory_max_bytes IS 'Hard limit, bytes; null when there is none.';
COMMENT ON COLUMN cgroup_samples.anon_bytes IS 'Anonymous memory, bytes.';
COMMENT ON COLUMN cgroup_samples.file_bytes IS 'Page cache, bytes.';
COMMENT ON COLUMN cgroup_samples.shmem_bytes IS 'Shared memory, bytes.';
COMMENT ON COLUMN cgroup_samples.oom_events IS 'Times the group ran out of memory.';
COMMENT ON COLUMN cgroup_samples.oom_kill_events IS 'Processes of the group killed for memory.';
COMMENT ON COLUMN cgroup_samples.cpu_usage_us IS 'CPU time, µs.';
COMMENT ON COLUMN cgroup_samples.throttled_us IS 'Throttled time, µs.';
COMMENT ON COLUMN cgroup_samples.cgroup_version IS '1 or 2; null without a group.';
COMMENT ON COLUMN cgroup_samples.group_number IS 'Number of the group within the attempt, from 1: a higher one is another group under the same name. Null without a reading.';
COMMENT ON COLUMN cgroup_samples.memory_high_bytes IS 'Soft limit, bytes; null when there is none.';
COMMENT ON COLUMN cgroup_samples.swap_current_bytes IS 'Swap charged to the group, bytes.';
COMMENT ON COLUMN cgroup_samples.swap_max_bytes IS 'Hard limit of swap, bytes; null when there is none.';
COMMENT ON COLUMN cgroup_samples.inactive_file_bytes IS 'Page cache not used lately, bytes.';
COMMENT ON COLUMN cgroup_samples.kernel_bytes IS 'Kernel memory, bytes.';
COMMENT ON COLUMN cgroup_samples.max_events IS 'Times the group was about to go over its hard limit.';
COMMENT ON COLUMN cgroup_samples.oom_group_kill_events IS 'Times the group was killed as a whole for memory.';
COMMENT ON COLUMN cgroup_samples.throttled_periods IS 'Periods in which the group was throttled.';
COMMENT ON COLUMN cgroup_samples.cpu_quota_us IS 'CPU time the group may use in a period, µs; null when there is no limit.';
COMMENT ON COLUMN cgroup_samples.cpu_period_us IS 'Length of that period, µs.';
COMMENT ON COLUMN cgroup_samples.pids IS 'Processes and threads.';
COMMENT ON COLUMN cgroup_samples.memory_pressure_us IS 'Time some task waited for memory since the group was made, µs.';
COMMENT ON COLUMN cgroup_samples.memory_stalled_us IS 'Time all tasks waited for memory, µs.';
COMMENT ON COLUMN cgroup_samples.cpu_pressure_us IS 'Time some task waited for a CPU, µs.';
COMMENT ON COLUMN cgroup_samples.io_pressure_us IS 'Time some task waited for storage, µs.';
COMMENT ON COLUMN cgroup_samples.missing IS 'Why columns are null, as a JSON object: column, reason; null when none is.';

CREATE TABLE IF NOT EXISTS host_samples (
    campaign VARCHAR NOT NULL, arm VARCHAR NOT NULL, cell VARCHAR NOT NULL, attempt BIGINT NOT NULL,
    sample_seq BIGINT NOT NULL, phase VARCHAR NOT NULL, at_ns BIGINT NOT NULL, status VARCHAR NOT NULL,
    mem_total_bytes BIGINT, mem_available_bytes BIGINT, swap_free_bytes BIGINT, load_1m DOUBLE, oom_kills BIGINT,
    client_cpu_ns BIGINT, client_rss_bytes BIGINT, client_goroutines BIGINT, client_gc_pause_ns BIGINT,
    uptime_s DOUBLE, load_5m DOUBLE, swap_total_bytes BIGINT, major_faults BIGINT, memory_pressure_us BIGINT, memory_stalled_us BIGINT, cpu_pressure_us BIGINT, io_pressure_us BIGINT, boot BIGINT, missing VARCHAR);
COMMENT ON TABLE host_samples IS 'One row per reading of the load host and of the collector itself.';
COMMENT ON COLUMN host_samples.campaign IS 'Campaign.';
COMMENT ON COLUMN host_samples.arm IS 'Arm.';
COMMENT ON COLUMN host_samples.cell IS 'Cell.';
COMMENT ON COLUMN host_samples.attempt IS 'Attempt.';
COMMENT ON COLUMN host_samples.sample_seq IS 'Position in the attempt, from 0.';
COMMENT ON COLUMN host_samples.phase IS 'before, during or after the cell''s requests.';
COMMENT ON COLUMN host_samples.at_ns IS 'Time of the reading, ns since the run''s clock anchor.';
COMMENT ON COLUMN host_samples.status IS 'ok, or why there is no reading.';
COMMENT ON COLUMN host_samples.mem_total_bytes IS 'Host memory, bytes.';
COMMENT ON COLUMN host_samples.mem_available_bytes IS 'Available memory, bytes.';
COMMENT ON COLUMN host_samples.swap_free_bytes IS 'Free swap, bytes.';
COMMENT ON COLUMN host_samples.load_1m IS 'Load average over one minute.';
COMMENT ON COLUMN host_samples.oom_kills IS 'Processes killed for memory since boot.';
COMMENT ON COLUMN host_samples.client_cpu_ns IS 'CPU time of the collector, ns.';
COMMENT ON COLUMN host_samples.client_rss_bytes IS 'Resident memory of the collector, bytes.';
COMMENT ON COLUMN host_samples.client_goroutines IS 'Goroutines of the collector.';
COMMENT ON COLUMN host_samples.client_gc_pause_ns IS 'Stop-the-world time of the collector, ns.';
COMMENT ON COLUMN host_samples.uptime_s IS 'Time since boot, seconds.';
COMMENT ON COLUMN host_samples.load_5m IS 'Load average over five minutes.';
COMMENT ON COLUMN host_samples.swap_total_bytes IS 'Configured swap, bytes.';
COMMENT ON COLUMN host_samples.major_faults IS 'Page faults that read from storage, since boot.';
COMMENT ON COLUMN host_samples.memory_pressure_us IS 'Time some task waited for memory since boot, µs.';
COMMENT ON COLUMN host_samples.memory_stalled_us IS 'Time all tasks waited for memory, µs.';
COMMENT ON COLUMN host_samples.cpu_pressure_us IS 'Time some task waited for a CPU, µs.';
COMMENT ON COLUMN host_samples.io_pressure_us IS 'Time some task waited for storage, µs.';
COMMENT ON COLUMN host_samples.boot IS 'Number of the boot within the attempt, from 1: a higher one is a host that was started anew. Null when the host does not name its boots.';
COMMENT ON COLUMN host_samples.missing IS 'Why columns are null, as a JSON object: column, reason; null when none is.';

CREATE TABLE IF NOT EXISTS identities (
    campaign VARCHAR NOT NULL, arm VARCHAR NOT NULL, cell VARCHAR NOT NULL, attempt BIGINT NOT NULL, phase VARCHAR NOT NULL,
    fact VARCHAR NOT NULL, value VARCHAR, source VARCHAR NOT NULL, reason VARCHAR);
CREATE TABLE IF NOT EXISTS engine_facts (
    campaign VARCHAR NOT NULL, arm VARCHAR NOT NULL, cell VARCHAR NOT NULL, attempt BIGINT NOT NULL, phase VARCHAR NOT NULL,
    fact VARCHAR NOT NULL, value VARCHAR NOT NULL, unit VARCHAR NOT NULL, source VARCHAR NOT NULL, confidence VARCHAR NOT NULL, place BIGINT NOT NULL);
COMMENT ON TABLE engine_facts IS 'One row per thing an engine says, beside its pages, about what it is and what it can hold; and per source what it answered.';
COMMENT ON COLUMN engine_facts.campaign IS 'Campaign.';
COMMENT ON COLUMN engine_facts.arm IS 'Arm.';
COMMENT ON COLUMN engine_facts.cell IS 'Cell.';
COMMENT ON COLUMN engine_facts.attempt IS 'Attempt.';
COMMENT ON COLUMN engine_facts.phase IS 'before or after.';
COMMENT ON COLUMN engine_facts.fact IS 'engine (the family), answer (what the source answered), engine_build, kv_pool_tokens, max_model_len, max_num_seqs, kv_bytes or weights_bytes.';
COMMENT ON COLUMN engine_facts.value IS 'Value as stated; of an answer its HTTP status, an error code, or read for a source that is no question over HTTP.';
COMMENT ON COLUMN engine_facts.unit IS 'tokens, requests, bytes, or GB where the engine prints GB and may mean GiB; empty for text.';
COMMENT ON COLUMN engine_facts.source IS 'Path and member, flag of the command line (argv), or engine log.';
COMMENT ON COLUMN engine_facts.confidence IS 'reported; logged (the same, rounded as printed); configured (what the engine was told); derived (a product of reported parts); empty for an answer.';
COMMENT ON COLUMN engine_facts.place IS 'Preference among the sources of a fact: the lowest stands. A label of a page stands at 10, a gauge at 20.';

COMMENT ON TABLE identities IS 'One row per identity fact of an engine, before and after each attempt.';
COMMENT ON COLUMN identities.campaign IS 'Campaign.';
COMMENT ON COLUMN identities.arm IS 'Arm.';
COMMENT ON COLUMN identities.cell IS 'Cell.';
COMMENT ON COLUMN identities.attempt IS 'Attempt.';
COMMENT ON COLUMN identities.phase IS 'before or after.';
COMMENT ON COLUMN identities.fact IS 'served_id, max_model_len, max_num_seqs, engine_version or process_start.';
COMMENT ON COLUMN identities.value IS 'Value as the engine states it; null when it does not.';
COMMENT ON COLUMN identities.source IS 'Where the value comes from, such as /v1/models.';
COMMENT ON COLUMN identities.reason IS 'Why the value is null.';

CREATE TABLE IF NOT EXISTS stops (
    campaign VARCHAR NOT NULL, stop_seq BIGINT NOT NULL, at_ns BIGINT NOT NULL, at_unix_ns BIGINT NOT NULL,
    rule VARCHAR NOT NULL, arm VARCHAR, cell VARCHAR, attempt BIGINT, detail VARCHAR NOT NULL, blocks VARCHAR NOT NULL);
COMMENT ON TABLE stops IS 'One row per stop rule that fired, from the journal.';
COMMENT ON COLUMN stops.campaign IS 'Campaign.';
COMMENT ON COLUMN stops.stop_seq IS 'Order in the journal, from 0.';
COMMENT ON COLUMN stops.at_ns IS 'When, ns since the run''s clock anchor.';
COMMENT ON COLUMN stops.at_unix_ns IS 'When, ns since 1970 UTC.';
COMMENT ON COLUMN stops.rule IS 'Stop rule.';
COMMENT ON COLUMN stops.arm IS 'Arm it fired on; null for the whole campaign.';
COMMENT ON COLUMN stops.cell IS 'Cell it fired in; null between cells.';
COMMENT ON COLUMN stops.attempt IS 'Attempt it fired in; null between cells.';
COMMENT ON COLUMN stops.detail IS 'Evidence in one sentence.';
COMMENT ON COLUMN stops.blocks IS 'JSON list of the cells it blocks.';

CREATE TABLE IF NOT EXISTS smoke_checks (
    campaign VARCHAR NOT NULL, smoke_seq BIGINT NOT NULL, at_ns BIGINT NOT NULL, at_unix_ns BIGINT NOT NULL,
    arm VARCHAR NOT NULL, question VARCHAR NOT NULL, outcome VARCHAR NOT NULL, detail VARCHAR NOT NULL,
    http_status BIGINT, end_kind VARCHAR, took_ns BIGINT, answer_sha256 VARCHAR);
COMMENT ON TABLE smoke_checks IS 'One row per question put to an arm before its first cell, from the journal. Only a failed plain answer ends an arm.';
COMMENT ON COLUMN smoke_checks.campaign IS 'Campaign.';
COMMENT ON COLUMN smoke_checks.smoke_seq IS 'Order in the journal, from 0.';
COMMENT ON COLUMN smoke_checks.at_ns IS 'Answer over, ns since the run''s clock anchor.';
COMMENT ON COLUMN smoke_checks.at_unix_ns IS 'Answer over, ns since 1970 UTC.';
COMMENT ON COLUMN smoke_checks.arm IS 'Arm.';
COMMENT ON COLUMN smoke_checks.question IS 'plain, json or tool.';
COMMENT ON COLUMN smoke_checks.outcome IS 'pass or fail.';
COMMENT ON COLUMN smoke_checks.detail IS 'Why it failed; empty when it passed.';
COMMENT ON COLUMN smoke_checks.http_status IS 'Status of the answer; null without one.';
COMMENT ON COLUMN smoke_checks.end_kind IS 'How the exchange ended.';
COMMENT ON COLUMN smoke_checks.took_ns IS 'Duration of the exchange, ns.';
COMMENT ON COLUMN smoke_checks.answer_sha256 IS 'SHA-256 of the visible text and the tool call, hex; null without either. The text is not kept.';

CREATE TABLE IF NOT EXISTS restoration_checks (
    campaign VARCHAR NOT NULL, check_seq BIGINT NOT NULL, at_ns BIGINT NOT NULL, at_unix_ns BIGINT NOT NULL,
    name VARCHAR NOT NULL, outcome VARCHAR NOT NULL, detail VARCHAR NOT NULL, postcondition VARCHAR);
COMMENT ON TABLE restoration_checks IS 'One row per check after a restoration of the original service, from the journal.';
COMMENT ON COLUMN restoration_checks.campaign IS 'Campaign.';
COMMENT ON COLUMN restoration_checks.check_seq IS 'Order in the journal, from 0; a later restoration adds rows.';
COMMENT ON COLUMN restoration_checks.at_ns IS 'Checked, ns since the run''s clock anchor.';
COMMENT ON COLUMN restoration_checks.at_unix_ns IS 'Checked, ns since 1970 UTC.';
COMMENT ON COLUMN restoration_checks.name IS 'candidate_absent, same_container, health_and_identity, direct_and_primary_requests, primary_readmitted or files_unchanged.';
COMMENT ON COLUMN restoration_checks.outcome IS 'pass, fail or not_evaluable.';
COMMENT ON COLUMN restoration_checks.detail IS 'What was seen, in one sentence.';
COMMENT ON COLUMN restoration_checks.postcondition IS 'The plan''s own words for it; null when the plan has none.';

CREATE TABLE IF NOT EXISTS problems (
    campaign VARCHAR, arm VARCHAR, cell VARCHAR, attempt BIGINT,
    stage VARCHAR NOT NULL, code VARCHAR NOT NULL, source VARCHAR NOT NULL, position VARCHAR NOT NULL, detail VARCHAR NOT NULL);
COMMENT ON TABLE problems IS 'One row per thing found wrong while collecting or loading. Nothing is left out without a row here.';
COMMENT ON COLUMN problems.campaign IS 'Campaign; null for a source that belongs to none.';
COMMENT ON COLUMN problems.arm IS 'Arm; null when it concerns no single one.';
COMMENT ON COLUMN problems.cell IS 'Cell; null when it concerns no single one.';
COMMENT ON COLUMN problems.attempt IS 'Attempt; null when it concerns no single one.';
COMMENT ON COLUMN problems.stage IS 'collect or ingest.';
COMMENT ON COLUMN problems.code IS 'Word of a closed list.';
COMMENT ON COLUMN problems.source IS 'What was being read or done, such as events.parquet.';
COMMENT ON COLUMN problems.position IS 'Where in the source.';
COMMENT ON COLUMN problems.detail IS 'One sentence without private data.';

CREATE TABLE IF NOT EXISTS artifacts (
    artifact VARCHAR NOT NULL PRIMARY KEY, sha256 VARCHAR NOT NULL, path VARCHAR NOT NULL, part BIGINT NOT NULL, bytes BIGINT NOT NULL,
    kind VARCHAR NOT NULL, state VARCHAR NOT NULL, schema_label VARCHAR, tool VARCHAR, tool_version VARCHAR,
    protocol VARCHAR, label_protocol VARCHAR, protocol_basis VARCHAR, shape VARCHAR, percentile_rule VARCHAR, first_output_boundary VARCHAR,
    raw_available BOOLEAN NOT NULL, summary_only BOOLEAN,
    run_id VARCHAR, model VARCHAR, engine VARCHAR, gpu VARCHAR,
    started_unix_ns BIGINT, finished_unix_ns BIGINT, time_precision_ns BIGINT, wall_ms DOUBLE,
    requests BIGINT, completed BIGINT, failed BIGINT, responses_received BIGINT, performance_eligible BOOLEAN,
    concurrency BIGINT, request_rate VARCHAR, context_tokens BIGINT, context_distribution VARCHAR, max_context_tokens BIGINT, max_tokens BIGINT,
    context_seed BIGINT, prompt_cache_mode VARCHAR, shared_prefix_tokens BIGINT, shared_prefix_burst BOOLEAN, request_canaries BOOLEAN,
    response_words BIGINT, output_policy VARCHAR, thinking_mode VARCHAR, reasoning_effort VARCHAR, temperature VARCHAR, top_p VARCHAR,
    extra VARCHAR NOT NULL, missing VARCHAR NOT NULL);
COMMENT ON TABLE artifacts IS 'One row per run in a retained result file of another tool, and one per file that holds no run. A null means that the file does not say; missing has the reason where there is a special one. Files that could not be read at all have only a row in problems.';
COMMENT ON COLUMN artifacts.artifact IS 'Key: a digest of sha256, path and part.';
COMMENT ON COLUMN artifacts.sha256 IS 'SHA-256 of the file, hex.';
COMMENT ON COLUMN artifacts.path IS 'Path below the source that was named; its file name when the file itself was named.';
COMMENT ON COLUMN artifacts.part IS 'Position of the run in its file (its line, or its place in a list), from 0.';
COMMENT ON COLUMN artifacts.bytes IS 'Size of the file, bytes.';
COMMENT ON COLUMN artifacts.kind IS 'benchmark, aggregate (runs combined by their tool), comparison, counters, hardware_samples, quality, summary, unknown (JSON that no importer knows) or other (not JSON).';
COMMENT ON COLUMN artifacts.state IS 'loaded: an importer read it; named: only its kind is noted; refused: it cannot be used, and problems says why.';
COMMENT ON COLUMN artifacts.schema_label IS 'Schema or version as the file states it.';
COMMENT ON COLUMN artifacts.tool IS 'Tool that wrote the file.';
COMMENT ON COLUMN artifacts.tool_version IS 'Version of the tool as the file states it.';
COMMENT ON COLUMN artifacts.protocol IS 'Definitions its figures follow, such as anvil/capacity-v3 or vllm-bench/detailed. Figures of different protocols are never compared.';
COMMENT ON COLUMN artifacts.label_protocol IS 'Protocol as the file labels itself; may differ from protocol, which is taken from the streams where they show it.';
COMMENT ON COLUMN artifacts.protocol_basis IS 'What protocol is taken from: streams (what all requests showed), label, or fields (the members the file has).';
COMMENT ON COLUMN artifacts.shape IS 'Which of a format''s shapes the file has, by its fields.';
COMMENT ON COLUMN artifacts.percentile_rule IS 'How its percentiles are defined: nearest_rank, round_half_even, linear or cumulative_share; null when it states none.';
COMMENT ON COLUMN artifacts.first_output_boundary IS 'Event that ends prefill and starts generation: first_any (reasoning or visible), first_visible or first_chunk (which may be empty).';
COMMENT ON COLUMN artifacts.raw_available IS 'The raw streams are retained. False for every format read so far.';
COMMENT ON COLUMN artifacts.summary_only IS 'The file holds aggregates and no requests, so nothing in it can be recomputed.';
COMMENT ON COLUMN artifacts.run_id IS 'Run id as stated. Not unique, and redacted in published copies: never a key.';
COMMENT ON COLUMN artifacts.model IS 'Model as stated.';
COMMENT ON COLUMN artifacts.engine IS 'Engine or backend as stated.';
COMMENT ON COLUMN artifacts.gpu IS 'GPU as stated: free text, several spellings of one set-up.';
COMMENT ON COLUMN artifacts.started_unix_ns IS 'Start of the run, ns since 1970 UTC, to time_precision_ns.';
COMMENT ON COLUMN artifacts.finished_unix_ns IS 'End of the run, ns since 1970 UTC, to time_precision_ns.';
COMMENT ON COLUMN artifacts.time_precision_ns IS 'Resolution of the two times, ns.';
COMMENT ON COLUMN artifacts.wall_ms IS 'Duration of the run by the tool''s own clock, ms; failed requests included.';
COMMENT ON COLUMN artifacts.requests IS 'Planned requests.';
COMMENT ON COLUMN artifacts.completed IS 'Requests that the tool counts as completed.';
COMMENT ON COLUMN artifacts.failed IS 'Requests that failed: as stated, or counted where the file keeps each.';
COMMENT ON COLUMN artifacts.responses_received IS 'Completed requests and failed ones with an answer.';
COMMENT ON COLUMN artifacts.performance_eligible IS 'The tool''s own verdict: all requests completed.';
COMMENT ON COLUMN artifacts.concurrency IS 'Requests kept in flight, as set.';
COMMENT ON COLUMN artifacts.request_rate IS 'Requests per second as set; inf for no pacing, or a word such as trace.';
COMMENT ON COLUMN artifacts.context_tokens IS 'Requested prompt size, tokens; a target that a model''s limit may have lowered.';
COMMENT ON COLUMN artifacts.context_distribution IS 'JSON object: prompt size really aimed at, to number of requests.';
COMMENT ON COLUMN artifacts.max_context_tokens IS 'Context limit of the served model, tokens.';
COMMENT ON COLUMN artifacts.max_tokens IS 'Output limit sent with each request, tokens.';
COMMENT ON COLUMN artifacts.context_seed IS 'Seed of the prompts.';
COMMENT ON COLUMN artifacts.prompt_cache_mode IS 'unique: no shared prefix; else as stated.';
COMMENT ON COLUMN artifacts.shared_prefix_tokens IS 'Prefix the prompts share, tokens, as set.';
COMMENT ON COLUMN artifacts.shared_prefix_burst IS 'All requests share one prefix and start together.';
COMMENT ON COLUMN artifacts.request_canaries IS 'Each request asked for its own marker first.';
COMMENT ON COLUMN artifacts.response_words IS 'Controlled output: how often the word was asked for; 0 for natural output.';
COMMENT ON COLUMN artifacts.output_policy IS 'strict or observe, as stated.';
COMMENT ON COLUMN artifacts.thinking_mode IS 'Thinking mode as stated.';
COMMENT ON COLUMN artifacts.reasoning_effort IS 'Reasoning effort sent; not_sent when the file says none was.';
COMMENT ON COLUMN artifacts.temperature IS 'Temperature in effect, as written; not_sent when the file says none was.';
COMMENT ON COLUMN artifacts.top_p IS 'top_p in effect, as written; not_sent when the file says none was.';
COMMENT ON COLUMN artifacts.extra IS 'JSON object of the file''s top-level scalars that no column holds. Names that suggest an address, a secret or a prompt are left out.';
COMMENT ON COLUMN artifacts.missing IS 'JSON object: what is null, or has no rows, to the reason.';

CREATE TABLE IF NOT EXISTS artifact_requests (
    artifact VARCHAR NOT NULL, request_index BIGINT NOT NULL, request_id VARCHAR, phase VARCHAR NOT NULL, status VARCHAR NOT NULL,
    failure_class VARCHAR, error_type VARCHAR, error_sha256 VARCHAR,
    start_unix_ns BIGINT, end_unix_ns BIGINT, t_first_any_ms DOUBLE, t_first_visible_ms DOUBLE, e2e_ms DOUBLE, e2e_basis VARCHAR, elapsed_ms DOUBLE,
    generation_ms DOUBLE, visible_generation_ms DOUBLE, tpot_ms DOUBLE, decode_tok_s DOUBLE, effective_prefill_tok_s DOUBLE, gap_mean_ms DOUBLE, gaps BIGINT,
    planned_context_tokens BIGINT, prompt_tokens BIGINT, output_tokens BIGINT, visible_tokens BIGINT, reasoning_tokens BIGINT, cached_tokens BIGINT,
    output_token_source VARCHAR, content_chunks BIGINT, reasoning_chunks BIGINT,
    finish_reasons VARCHAR, stream_terminal BOOLEAN, canary_first BOOLEAN, foreign_markers BIGINT, capture_complete BOOLEAN,
    words_requested BIGINT, code_words BIGINT, extra_words BIGINT, words_exact BOOLEAN,
    derived_stated BIGINT NOT NULL, derived_exact BIGINT NOT NULL, derived_close BIGINT NOT NULL, missing VARCHAR NOT NULL);
COMMENT ON TABLE artifact_requests IS 'One row per request that a retained file keeps, failed ones included. Times are the tool''s own figures, under its own protocol, in milliseconds as stated or as its seconds times 1,000.';
COMMENT ON COLUMN artifact_requests.artifact IS 'Artifact the request belongs to.';
COMMENT ON COLUMN artifact_requests.request_index IS 'Index as stated, else position in the file, from 0.';
COMMENT ON COLUMN artifact_requests.request_id IS 'Id as stated.';
COMMENT ON COLUMN artifact_requests.phase IS 'profiling, or warmup: never part of a statistic.';
COMMENT ON COLUMN artifact_requests.status IS 'completed, failed, cancelled or incomplete.';
COMMENT ON COLUMN artifact_requests.failure_class IS 'Class of the failure in the tool''s words, or its error code as code_N.';
COMMENT ON COLUMN artifact_requests.error_type IS 'Type of the error as stated.';
COMMENT ON COLUMN artifact_requests.error_sha256 IS 'SHA-256 of the error''s text, hex: groups equal errors. The text stays in the file.';
COMMENT ON COLUMN artifact_requests.start_unix_ns IS 'Request sent, ns since 1970 UTC.';
COMMENT ON COLUMN artifact_requests.end_unix_ns IS 'Request over, ns since 1970 UTC.';
COMMENT ON COLUMN artifact_requests.t_first_any_ms IS 'First output of any channel after the start, ms: ttfo of assay/v1, time_to_first_token of AIPerf and GuideLLM; of vLLM and SGLang the first chunk, which may be empty.';
COMMENT ON COLUMN artifact_requests.t_first_visible_ms IS 'First visible output after the start, ms: ttft of assay/v1, time_to_first_output_token of AIPerf and GuideLLM.';
COMMENT ON COLUMN artifact_requests.e2e_ms IS 'End of the answer after the start, ms, by the tool''s own definition of the end.';
COMMENT ON COLUMN artifact_requests.e2e_basis IS 'stated, or reconstructed as first output plus the gaps between chunks; null for anvil-serving, which states it.';
COMMENT ON COLUMN artifact_requests.elapsed_ms IS 'Time a failed request took until the tool gave it up, ms.';
COMMENT ON COLUMN artifact_requests.generation_ms IS 'End minus the first output of first_output_boundary, ms.';
COMMENT ON COLUMN artifact_requests.visible_generation_ms IS 'End minus the first visible output, ms.';
COMMENT ON COLUMN artifact_requests.tpot_ms IS 'Time per output token after the first, ms: a per-request mean, whatever the tool calls it.';
COMMENT ON COLUMN artifact_requests.decode_tok_s IS 'Output tokens after the first over generation, reasoning included.';
COMMENT ON COLUMN artifact_requests.effective_prefill_tok_s IS 'Prompt tokens over the first output; includes queueing, and is never kernel prefill.';
COMMENT ON COLUMN artifact_requests.gap_mean_ms IS 'Mean gap between chunks, ms; not a gap between tokens.';
COMMENT ON COLUMN artifact_requests.gaps IS 'Gaps between chunks.';
COMMENT ON COLUMN artifact_requests.planned_context_tokens IS 'Prompt size aimed at, tokens.';
COMMENT ON COLUMN artifact_requests.prompt_tokens IS 'Prompt tokens.';
COMMENT ON COLUMN artifact_requests.output_tokens IS 'Output tokens, reasoning included; null when not exact.';
COMMENT ON COLUMN artifact_requests.visible_tokens IS 'Visible output tokens.';
COMMENT ON COLUMN artifact_requests.reasoning_tokens IS 'Reasoning tokens.';
COMMENT ON COLUMN artifact_requests.cached_tokens IS 'Prompt tokens served from a cache.';
COMMENT ON COLUMN artifact_requests.output_token_source IS 'Where output_tokens comes from: usage, content_chunks, assumed (the length asked for), confirmed_by_retokenizing, or several that the file does not tell apart.';
COMMENT ON COLUMN artifact_requests.content_chunks IS 'Chunks with visible content.';
COMMENT ON COLUMN artifact_requests.reasoning_chunks IS 'Chunks with reasoning.';
COMMENT ON COLUMN artifact_requests.finish_reasons IS 'JSON list of finish reasons; null when not kept.';
COMMENT ON COLUMN artifact_requests.stream_terminal IS 'The stream''s end was seen; null when not kept.';
COMMENT ON COLUMN artifact_requests.canary_first IS 'The answer began with its own marker; null when not kept or not asked for.';
COMMENT ON COLUMN artifact_requests.foreign_markers IS 'Markers of other requests in the answer; null when not kept or not asked for.';
COMMENT ON COLUMN artifact_requests.capture_complete IS 'The answer was captured whole; null when not kept.';
COMMENT ON COLUMN artifact_requests.words_requested IS 'Controlled output: words asked for.';
COMMENT ON COLUMN artifact_requests.code_words IS 'Controlled output: words that are the one asked for.';
COMMENT ON COLUMN artifact_requests.extra_words IS 'Controlled output: other words.';
COMMENT ON COLUMN artifact_requests.words_exact IS 'Controlled output: exactly the words asked for; null when not kept, or when the capture was cut.';
COMMENT ON COLUMN artifact_requests.derived_stated IS 'Fields of the row in the file that follow from its other fields.';
COMMENT ON COLUMN artifact_requests.derived_exact IS 'Of these, the ones that come out bit for bit.';
COMMENT ON COLUMN artifact_requests.derived_close IS 'Of these, the ones within 1e-9 relative. The rest are problems.';
COMMENT ON COLUMN artifact_requests.missing IS 'JSON object: column to why it is null, where the row has a reason of its own.';

CREATE TABLE IF NOT EXISTS artifact_stats (
    artifact VARCHAR NOT NULL, source_key VARCHAR NOT NULL, scope VARCHAR NOT NULL, metric VARCHAR NOT NULL, stat VARCHAR NOT NULL,
    unit VARCHAR NOT NULL, value DOUBLE, n BIGINT, definition VARCHAR NOT NULL,
    recomputed DOUBLE, agreement VARCHAR NOT NULL, reason VARCHAR);
COMMENT ON TABLE artifact_stats IS 'One row per figure that a retained file states, with the same figure recomputed from the file''s rows where it has rows. Never rendered as ours.';
COMMENT ON COLUMN artifact_stats.artifact IS 'Artifact that states the figure.';
COMMENT ON COLUMN artifact_stats.source_key IS 'The tool''s own name of the figure, or its place in the file; unique with scope in an artifact.';
COMMENT ON COLUMN artifact_stats.scope IS 'Requests it is over: completed, failed, incomplete, all, warmup; or the cell and side of a comparison.';
COMMENT ON COLUMN artifact_stats.metric IS 'What is measured: a common name where the meaning is known, such as t_first_any, t_first_visible, e2e; else the tool''s.';
COMMENT ON COLUMN artifact_stats.stat IS 'n, sum, mean, stddev, mean_ci95_low, mean_ci95_high, min, max, p50 and so on, rate, share, or a word of the tool.';
COMMENT ON COLUMN artifact_stats.unit IS 'Unit of value, in the tool''s own scale.';
COMMENT ON COLUMN artifact_stats.value IS 'Value as stated; null when the file says null, NaN or the zero of an empty group.';
COMMENT ON COLUMN artifact_stats.n IS 'How many values stand behind it; null when the file does not say. Of a metric that the tool weighs by tokens these are tokens.';
COMMENT ON COLUMN artifact_stats.definition IS 'Id of the tool''s definition: its protocol and its name of the figure.';
COMMENT ON COLUMN artifact_stats.recomputed IS 'The figure from the file''s rows by the artifact''s percentile rule; null when there is none.';
COMMENT ON COLUMN artifact_stats.agreement IS 'exact: the same number, or both null; close: within 1e-9 relative; different: also a problem; not_evaluable: the file lacks what it would take.';
COMMENT ON COLUMN artifact_stats.reason IS 'Why value is null or agreement is not_evaluable, or what else must be known.';
