package record

// The tables of an attempt folder, in the order they are written.
var (
	Requests  = newTable[Request]("requests", 1, "One row per planned request of an attempt, dispatched or not.")
	Events    = newTable[Event]("events", 2, "One row per server-sent event, payload as received.")
	Pages     = newTable[Page]("pages", 3, "One row per scrape of the engine's metrics page, bytes as received.")
	Answers   = newTable[Answer]("answers", 4, "One row per identity question put to the engine before or after a cell, answer as received.")
	GPU       = newTable[GPUSample]("gpu", 5, "One row per GPU and reading; without a driver one row that says so.")
	Cgroup    = newTable[CgroupSample]("cgroup", 6, "One row per reading of the engine's memory and CPU control group.")
	Host      = newTable[HostSample]("host", 7, "One row per reading of the load host, the collector's own process included.")
	Problems  = newTable[Problem]("problems", 8, "One row per thing found wrong while collecting.")
	AllTables = []Described{Requests, Events, Pages, Answers, GPU, Cgroup, Host, Problems}
)

// Request is the raw record of one planned request: what was sent, how the
// exchange ended, and every clock reading around it. Durations count from t0.
type Request struct {
	Index             int64  `col:"request_index" kind:"key" doc:"Position of the request in its cell, from 0."`
	Worker            *int64 `col:"worker" kind:"setting" doc:"Closed-loop worker that ran it, from 0; null when not dispatched."`
	Marker            string `col:"marker" kind:"setting" doc:"The request's own canary, which the visible answer must begin with."`
	TemplateVersion   string `col:"template_version" kind:"setting" doc:"Version of the prompt template."`
	PromptSHA256      string `col:"prompt_sha256" kind:"digest" doc:"SHA-256 of the prompt text, hex."`
	PromptChars       int64  `col:"prompt_chars" kind:"count" unit:"characters" doc:"Length of the prompt; all ASCII, so also its bytes."`
	BodyBytes         int64  `col:"body_bytes" kind:"count" unit:"bytes" doc:"Length of the request body."`
	T0Ns              *int64 `col:"t0_ns" kind:"clock" unit:"ns" doc:"Monotonic time immediately before the dial, since the run's clock anchor; null when not dispatched."`
	T0UnixNs          *int64 `col:"t0_unix_ns" kind:"clock" unit:"ns since 1970 UTC" doc:"Wall clock at t0."`
	IdleGapNs         *int64 `col:"idle_gap_ns" kind:"clock" unit:"ns" doc:"Time the worker was idle between its previous request's end and this t0; null for its first."`
	DNSNs             *int64 `col:"dns_ns" kind:"clock" unit:"ns" doc:"Host name resolved, after t0; null for a literal address."`
	ConnectNs         *int64 `col:"connect_ns" kind:"clock" unit:"ns" doc:"TCP connection established, after t0."`
	TLSNs             *int64 `col:"tls_ns" kind:"clock" unit:"ns" doc:"TLS handshake finished, after t0; null without TLS."`
	WroteNs           *int64 `col:"wrote_ns" kind:"clock" unit:"ns" doc:"Last request byte handed to the kernel, after t0."`
	FirstByteNs       *int64 `col:"first_byte_ns" kind:"clock" unit:"ns" doc:"First response byte read, after t0."`
	HeadNs            *int64 `col:"head_ns" kind:"clock" unit:"ns" doc:"Response head complete, after t0."`
	LastByteNs        *int64 `col:"last_byte_ns" kind:"clock" unit:"ns" doc:"Last response byte read, after t0."`
	CloseNs           *int64 `col:"close_ns" kind:"clock" unit:"ns" doc:"End of the body seen, after t0; null when the peer did not end it."`
	EndNs             *int64 `col:"end_ns" kind:"clock" unit:"ns" doc:"Exchange over and connection closed, after t0."`
	HTTPStatus        *int64 `col:"http_status" kind:"bytes" doc:"Status code of the response head; null without one."`
	HTTPVersion       string `col:"http_version" kind:"bytes" doc:"Protocol of the response head, such as HTTP/1.1; empty without one."`
	ContentType       string `col:"content_type" kind:"bytes" doc:"Content-Type of the response head."`
	ResponseHead      []byte `col:"response_head" kind:"bytes" doc:"Response head as received; private, never published."`
	End               string `col:"end_kind" kind:"code" doc:"How the exchange ended: done, eof, short_body, connection_reset, connect_failed, tls_failed, idle_timeout, outer_timeout, interrupted, protocol, not_dispatched."`
	EndDetail         string `col:"end_detail" kind:"code" doc:"Short reason beside end_kind."`
	Framing           string `col:"framing" kind:"bytes" doc:"How the end of the body was known: chunked, length, close or none; empty without a head."`
	BytesSent         int64  `col:"bytes_sent" kind:"count" unit:"bytes" doc:"Request bytes given to the connection."`
	BytesReceived     int64  `col:"bytes_received" kind:"count" unit:"bytes" doc:"Bytes read from the connection, head included."`
	Reads             int64  `col:"reads" kind:"count" doc:"Socket reads that returned bytes."`
	StampedReads      int64  `col:"stamped_reads" kind:"count" doc:"Reads that carried a kernel receive stamp."`
	EventsSeen        int64  `col:"events_seen" kind:"count" doc:"Server-sent events the reader completed; the events table must hold as many rows."`
	Body              []byte `col:"body" kind:"bytes" doc:"Body of an answer that is not an event stream, up to 1 MiB; private."`
	BodyTruncated     bool   `col:"body_truncated" kind:"count" doc:"More body came than was kept."`
	Tail              []byte `col:"tail" kind:"bytes" doc:"Unterminated last event, raw; private."`
	Trailing          []byte `col:"trailing" kind:"bytes" doc:"Bytes after [DONE], raw; private."`
	TrailingTruncated bool   `col:"trailing_truncated" kind:"count" doc:"More bytes came after [DONE] than were kept."`
	WriteError        string `col:"write_error" kind:"code" doc:"Why the request body could not be written whole; empty when it was."`
}

// Event is one server-sent event with the clock readings of the socket read
// that completed it. The event's time is computed from them later.
type Event struct {
	Request      int64  `col:"request_index" kind:"key" doc:"Request the event belongs to."`
	Seq          int64  `col:"seq" kind:"key" doc:"Position in the stream, from 0."`
	ReadSeq      int64  `col:"read_seq" kind:"count" doc:"Number of the read that brought the last byte of the event's blank line."`
	ReadNs       int64  `col:"read_ns" kind:"clock" unit:"ns" doc:"Monotonic time at which that read returned, after t0."`
	ReadUnixNs   int64  `col:"read_unix_ns" kind:"clock" unit:"ns since 1970 UTC" doc:"Wall clock at which that read returned."`
	KernelUnixNs *int64 `col:"kernel_unix_ns" kind:"clock" unit:"ns since 1970 UTC" doc:"Kernel's receive time of the read's last packet; null where the kernel gave none."`
	ReadBytes    int64  `col:"read_bytes" kind:"count" unit:"bytes" doc:"Size of that read."`
	Name         string `col:"event_name" kind:"bytes" doc:"The event field; empty for the default."`
	Payload      []byte `col:"payload" kind:"bytes" doc:"The data field, bytes as received; private, never published."`
}

// Page is one scrape of the engine's metrics page.
type Page struct {
	Seq         int64  `col:"page_seq" kind:"key" doc:"Position in the attempt, from 0."`
	Phase       string `col:"phase" kind:"setting" doc:"before, during or after the cell's requests."`
	StartNs     int64  `col:"start_ns" kind:"clock" unit:"ns" doc:"Scrape sent, monotonic since the run's clock anchor."`
	EndNs       int64  `col:"end_ns" kind:"clock" unit:"ns" doc:"Scrape answered or given up, same clock."`
	StartUnixNs int64  `col:"start_unix_ns" kind:"clock" unit:"ns since 1970 UTC" doc:"Wall clock at start_ns."`
	HTTPStatus  *int64 `col:"http_status" kind:"bytes" doc:"Status of the answer; null without one."`
	ContentType string `col:"content_type" kind:"bytes" doc:"Content-Type of the answer."`
	Error       string `col:"error" kind:"code" doc:"Why there is no whole page; empty when there is one."`
	BodySHA256  string `col:"body_sha256" kind:"digest" doc:"SHA-256 of the page, hex; empty without one."`
	Body        []byte `col:"body" kind:"bytes" doc:"The page as received."`
}

// Answer is one reply of the engine to an identity question.
type Answer struct {
	Phase      string `col:"phase" kind:"setting" doc:"before or after the cell."`
	Path       string `col:"path" kind:"setting" doc:"Path asked, such as /v1/models; or argv, the command line of the engine's container, or engine log."`
	AtNs       int64  `col:"at_ns" kind:"clock" unit:"ns" doc:"Answer complete, monotonic since the run's clock anchor."`
	AtUnixNs   int64  `col:"at_unix_ns" kind:"clock" unit:"ns since 1970 UTC" doc:"Wall clock at at_ns."`
	HTTPStatus *int64 `col:"http_status" kind:"bytes" doc:"Status of the answer; null without one."`
	Error      string `col:"error" kind:"code" doc:"Why there is no answer; empty when there is one."`
	Body       []byte `col:"body" kind:"bytes" doc:"Body as received, up to 1 MiB. Of /server_info and argv only the settings that state a capacity, because the rest may hold keys; of an engine log the matched lines."`
}

// GPUSample is one reading of one GPU. A field the driver does not give is
// null; Status says why there is no reading at all.
type GPUSample struct {
	Seq                int64  `col:"sample_seq" kind:"key" doc:"Position in the attempt, from 0; the GPUs of one reading share it."`
	Phase              string `col:"phase" kind:"setting" doc:"before, during or after the cell's requests."`
	AtNs               int64  `col:"at_ns" kind:"clock" unit:"ns" doc:"Monotonic time of the reading, since the run's clock anchor."`
	AtUnixNs           int64  `col:"at_unix_ns" kind:"clock" unit:"ns since 1970 UTC" doc:"Wall clock at at_ns."`
	Status             string `col:"status" kind:"code" doc:"ok, or why there is no reading."`
	GPUIndex           *int64 `col:"gpu_index" kind:"reading" doc:"Driver's index of the GPU."`
	UUID               string `col:"gpu_uuid" kind:"reading" doc:"Driver's unique id; private, replaced by a stable alias on publication."`
	Name               string `col:"gpu_name" kind:"reading" doc:"Product name."`
	MemoryTotalBytes   *int64 `col:"memory_total_bytes" kind:"reading" unit:"bytes" doc:"Installed memory."`
	MemoryUsedBytes    *int64 `col:"memory_used_bytes" kind:"reading" unit:"bytes" doc:"Memory in use."`
	MemoryFreeBytes    *int64 `col:"memory_free_bytes" kind:"reading" unit:"bytes" doc:"Memory free."`
	UtilizationPercent *int64 `col:"utilization_percent" kind:"reading" unit:"percent" doc:"Share of time a kernel ran in the driver's last window; not occupancy."`
	MemoryBusyPercent  *int64 `col:"memory_busy_percent" kind:"reading" unit:"percent" doc:"Share of time memory was read or written in the driver's last window."`
	PowerMilliwatts    *int64 `col:"power_mw" kind:"reading" unit:"mW" doc:"Board power."`
	EnergyMillijoules  *int64 `col:"energy_mj" kind:"reading" unit:"mJ" doc:"Energy counter since the driver was loaded."`
	SMClockMHz         *int64 `col:"sm_clock_mhz" kind:"reading" unit:"MHz" doc:"Clock of the multiprocessors."`
	MemoryClockMHz     *int64 `col:"memory_clock_mhz" kind:"reading" unit:"MHz" doc:"Memory clock."`
	TemperatureC       *int64 `col:"temperature_c" kind:"reading" unit:"°C" doc:"GPU temperature."`
	ThrottleReasons    *int64 `col:"throttle_reasons" kind:"reading" doc:"Driver's bit mask of reasons for reduced clocks."`

	Source                 *string `col:"gpu_source" kind:"setting" doc:"What gave the reading: nvml, nvidia-smi or simulated."`
	DriverVersion          *string `col:"driver_version" kind:"reading" doc:"Version of the driver."`
	MemoryAPI              *string `col:"memory_api" kind:"setting" doc:"How the memory was asked for. v2: used leaves out what the driver reserves. v1: used includes it, and reserved is null. nvidia-smi: as that program prints it."`
	MemoryReservedBytes    *int64  `col:"memory_reserved_bytes" kind:"reading" unit:"bytes" doc:"Memory the driver keeps for itself; used, free and reserved add up to the total."`
	PowerAverageMilliwatts *int64  `col:"power_average_mw" kind:"reading" unit:"mW" doc:"Board power averaged over the driver's window of about one second."`
	PowerInstantMilliwatts *int64  `col:"power_instant_mw" kind:"reading" unit:"mW" doc:"Board power at one instant."`
	PowerLimitMilliwatts   *int64  `col:"power_limit_mw" kind:"reading" unit:"mW" doc:"Power limit in force."`
	GraphicsClockMHz       *int64  `col:"graphics_clock_mhz" kind:"reading" unit:"MHz" doc:"Graphics clock."`
	PerformanceState       *int64  `col:"performance_state" kind:"reading" doc:"P-state, 0 is the fastest."`
	PCIeTxKB               *int64  `col:"pcie_tx_kb_s" kind:"reading" unit:"KB/s" doc:"Sent over PCIe, over the driver's window of about 20 ms; asked every ten seconds, since the call blocks that long."`
	PCIeRxKB               *int64  `col:"pcie_rx_kb_s" kind:"reading" unit:"KB/s" doc:"Received over PCIe, likewise."`
	PCIeGen                *int64  `col:"pcie_gen" kind:"reading" doc:"Present PCIe link generation; an idle link may fall back."`
	PCIeWidth              *int64  `col:"pcie_width" kind:"reading" unit:"lanes" doc:"Present PCIe link width."`
	PCIeReplays            *int64  `col:"pcie_replays" kind:"reading" doc:"PCIe replays since the driver was loaded."`
	ECCCorrected           *int64  `col:"ecc_corrected_errors" kind:"reading" doc:"Corrected memory errors since the driver was loaded; null where ECC is off."`
	ECCUncorrected         *int64  `col:"ecc_uncorrected_errors" kind:"reading" doc:"Uncorrected memory errors since the driver was loaded; null where ECC is off."`
	Processes              *int64  `col:"compute_processes" kind:"reading" doc:"Processes that compute on the GPU; their ids are not kept."`
	ProcessMemoryBytes     *int64  `col:"process_memory_bytes" kind:"reading" unit:"bytes" doc:"Memory of these processes together; null when the driver does not say it of each."`
	Missing                *string `col:"missing" kind:"code" doc:"Why columns are null, as a JSON object with sorted keys: column, reason. Null when none is."`
}

// CgroupSample is one reading of the engine's control group.
type CgroupSample struct {
	Seq                int64  `col:"sample_seq" kind:"key" doc:"Position in the attempt, from 0."`
	Phase              string `col:"phase" kind:"setting" doc:"before, during or after the cell's requests."`
	AtNs               int64  `col:"at_ns" kind:"clock" unit:"ns" doc:"Monotonic time of the reading, since the run's clock anchor."`
	AtUnixNs           int64  `col:"at_unix_ns" kind:"clock" unit:"ns since 1970 UTC" doc:"Wall clock at at_ns."`
	Status             string `col:"status" kind:"code" doc:"ok, or why there is no reading."`
	Inode              *int64 `col:"cgroup_inode" kind:"reading" doc:"Inode of the group's folder: another number is another group."`
	MemoryCurrentBytes *int64 `col:"memory_current_bytes" kind:"reading" unit:"bytes" doc:"Memory charged to the group."`
	MemoryPeakBytes    *int64 `col:"memory_peak_bytes" kind:"reading" unit:"bytes" doc:"Highest memory.current since the group was made."`
	MemoryMaxBytes     *int64 `col:"memory_max_bytes" kind:"reading" unit:"bytes" doc:"Hard limit; null when there is none."`
	AnonBytes          *int64 `col:"anon_bytes" kind:"reading" unit:"bytes" doc:"Anonymous memory."`
	FileBytes          *int64 `col:"file_bytes" kind:"reading" unit:"bytes" doc:"Page cache, mapped weights included."`
	ShmemBytes         *int64 `col:"shmem_bytes" kind:"reading" unit:"bytes" doc:"Shared memory."`
	OOMEvents          *int64 `col:"oom_events" kind:"reading" doc:"Times the group hit its limit and could not reclaim."`
	OOMKillEvents      *int64 `col:"oom_kill_events" kind:"reading" doc:"Processes of the group killed for memory."`
	CPUUsageUs         *int64 `col:"cpu_usage_us" kind:"reading" unit:"µs" doc:"CPU time of the group."`
	ThrottledUs        *int64 `col:"throttled_us" kind:"reading" unit:"µs" doc:"Time the group was throttled."`

	Version            *int64  `col:"cgroup_version" kind:"reading" doc:"1 or 2; null without a group."`
	MemoryHighBytes    *int64  `col:"memory_high_bytes" kind:"reading" unit:"bytes" doc:"Soft limit above which the group is slowed down; null when there is none."`
	SwapCurrentBytes   *int64  `col:"swap_current_bytes" kind:"reading" unit:"bytes" doc:"Swap charged to the group."`
	SwapMaxBytes       *int64  `col:"swap_max_bytes" kind:"reading" unit:"bytes" doc:"Hard limit of swap; null when there is none."`
	InactiveFileBytes  *int64  `col:"inactive_file_bytes" kind:"reading" unit:"bytes" doc:"Page cache that was not used lately and can be taken back first."`
	KernelBytes        *int64  `col:"kernel_bytes" kind:"reading" unit:"bytes" doc:"Kernel memory of the group."`
	MaxEvents          *int64  `col:"max_events" kind:"reading" doc:"Times the group was about to go over its hard limit."`
	OOMGroupKillEvents *int64  `col:"oom_group_kill_events" kind:"reading" doc:"Times the group was killed as a whole for memory."`
	ThrottledPeriods   *int64  `col:"throttled_periods" kind:"reading" doc:"Periods in which the group was throttled."`
	CPUQuotaUs         *int64  `col:"cpu_quota_us" kind:"reading" unit:"µs" doc:"CPU time the group may use in a period; null when there is no limit."`
	CPUPeriodUs        *int64  `col:"cpu_period_us" kind:"reading" unit:"µs" doc:"Length of that period."`
	PIDs               *int64  `col:"pids" kind:"reading" doc:"Processes and threads of the group."`
	MemoryPressureUs   *int64  `col:"memory_pressure_us" kind:"reading" unit:"µs" doc:"Time some task of the group waited for memory, since the group was made."`
	MemoryStalledUs    *int64  `col:"memory_stalled_us" kind:"reading" unit:"µs" doc:"Time all its tasks waited for memory."`
	CPUPressureUs      *int64  `col:"cpu_pressure_us" kind:"reading" unit:"µs" doc:"Time some task of the group waited for a CPU."`
	IOPressureUs       *int64  `col:"io_pressure_us" kind:"reading" unit:"µs" doc:"Time some task of the group waited for storage."`
	Missing            *string `col:"missing" kind:"code" doc:"Why columns are null, as a JSON object with sorted keys: column, reason. Null when none is."`
}

// HostSample is one reading of the load host and of the collector itself.
type HostSample struct {
	Seq               int64    `col:"sample_seq" kind:"key" doc:"Position in the attempt, from 0."`
	Phase             string   `col:"phase" kind:"setting" doc:"before, during or after the cell's requests."`
	AtNs              int64    `col:"at_ns" kind:"clock" unit:"ns" doc:"Monotonic time of the reading, since the run's clock anchor."`
	AtUnixNs          int64    `col:"at_unix_ns" kind:"clock" unit:"ns since 1970 UTC" doc:"Wall clock at at_ns."`
	Status            string   `col:"status" kind:"code" doc:"ok, or why there is no reading."`
	MemTotalBytes     *int64   `col:"mem_total_bytes" kind:"reading" unit:"bytes" doc:"Host memory."`
	MemAvailableBytes *int64   `col:"mem_available_bytes" kind:"reading" unit:"bytes" doc:"Memory the kernel thinks can be had without swapping."`
	SwapFreeBytes     *int64   `col:"swap_free_bytes" kind:"reading" unit:"bytes" doc:"Free swap."`
	Load1             *float64 `col:"load_1m" kind:"reading" doc:"Load average over one minute."`
	OOMKills          *int64   `col:"oom_kills" kind:"reading" doc:"Processes the kernel killed for memory since boot."`
	BootID            string   `col:"boot_id" kind:"reading" doc:"Kernel's boot id; private, never published."`
	UptimeSeconds     *float64 `col:"uptime_s" kind:"reading" unit:"s" doc:"Time since boot."`
	Load5             *float64 `col:"load_5m" kind:"reading" doc:"Load average over five minutes."`
	SwapTotalBytes    *int64   `col:"swap_total_bytes" kind:"reading" unit:"bytes" doc:"Configured swap."`
	MajorFaults       *int64   `col:"major_faults" kind:"reading" doc:"Page faults that read from storage, since boot."`
	MemoryPressureUs  *int64   `col:"memory_pressure_us" kind:"reading" unit:"µs" doc:"Time some task waited for memory, since boot."`
	MemoryStalledUs   *int64   `col:"memory_stalled_us" kind:"reading" unit:"µs" doc:"Time all tasks waited for memory, since boot."`
	CPUPressureUs     *int64   `col:"cpu_pressure_us" kind:"reading" unit:"µs" doc:"Time some task waited for a CPU, since boot."`
	IOPressureUs      *int64   `col:"io_pressure_us" kind:"reading" unit:"µs" doc:"Time some task waited for storage, since boot."`
	Missing           *string  `col:"missing" kind:"code" doc:"Why columns are null, as a JSON object with sorted keys: column, reason. Null when none is."`
	ClientCPUNs       *int64   `col:"client_cpu_ns" kind:"reading" unit:"ns" doc:"CPU time of the collector's process since it started."`
	ClientRSSBytes    *int64   `col:"client_rss_bytes" kind:"reading" unit:"bytes" doc:"Resident memory of the collector."`
	ClientGoroutines  *int64   `col:"client_goroutines" kind:"reading" doc:"Goroutines of the collector."`
	ClientGCPauseNs   *int64   `col:"client_gc_pause_ns" kind:"reading" unit:"ns" doc:"Total stop-the-world time of the collector since it started."`
}

// Problem is one thing found wrong. It is data: the stage that found it went
// on, and the finding lists it.
type Problem struct {
	AtNs     int64  `col:"at_ns" kind:"clock" unit:"ns" doc:"Monotonic time, since the run's clock anchor."`
	AtUnixNs int64  `col:"at_unix_ns" kind:"clock" unit:"ns since 1970 UTC" doc:"Wall clock at at_ns."`
	Code     string `col:"code" kind:"code" doc:"Word of a closed list."`
	Source   string `col:"source" kind:"code" doc:"What was being read or done, such as pages or gpu."`
	Position string `col:"position" kind:"code" doc:"Where in the source: a line, an offset, a request."`
	Detail   string `col:"detail" kind:"code" doc:"One sentence without private data."`
}
