package sample

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/collect/record"
)

// smiBound is the longest run of the program for one reading. It takes 50 to
// 100 ms where the driver is kept loaded.
const smiBound = 2500 * time.Millisecond

// wslSMI is where WSL2 keeps the program.
const wslSMI = "/usr/lib/wsl/lib/nvidia-smi"

// findSMI is the path of nvidia-smi, "" where there is none.
func findSMI() string {
	if path, err := exec.LookPath("nvidia-smi"); err == nil {
		return path
	}
	if _, err := os.Stat(wslSMI); err == nil {
		return wslSMI
	}
	return ""
}

// smiField is one field of nvidia-smi --query-gpu and the column it fills;
// factor turns its unit into the column's.
type smiField struct {
	name, column string
	factor       float64
}

// Factors of nvidia-smi's units with --format=nounits: MiB and W.
const mebi, milli = 1 << 20, 1000

// smiFields are the fields asked for (nvidia-smi --help-query-gpu). The program
// has no energy counter, no list of processes in this form and no PCIe throughput.
var smiFields = []smiField{
	{"index", "", 0}, {"uuid", "", 0}, {"name", "", 0}, {"driver_version", "", 0},
	{"memory.total", "memory_total_bytes", mebi}, {"memory.reserved", "memory_reserved_bytes", mebi},
	{"memory.used", "memory_used_bytes", mebi}, {"memory.free", "memory_free_bytes", mebi},
	{"utilization.gpu", "utilization_percent", 1}, {"utilization.memory", "memory_busy_percent", 1},
	{"power.draw", "power_mw", milli}, {"power.draw.average", "power_average_mw", milli},
	{"power.draw.instant", "power_instant_mw", milli}, {"enforced.power.limit", "power_limit_mw", milli},
	{"clocks.sm", "sm_clock_mhz", 1}, {"clocks.gr", "graphics_clock_mhz", 1}, {"clocks.mem", "memory_clock_mhz", 1},
	{"pstate", "performance_state", 1}, {"temperature.gpu", "temperature_c", 1},
	{"clocks_event_reasons.active", "throttle_reasons", 1}, {"clocks_throttle_reasons.active", "throttle_reasons", 1},
	{"pcie.link.gen.current", "pcie_gen", 1}, {"pcie.link.width.current", "pcie_width", 1},
	{"ecc.errors.corrected.volatile.total", "ecc_corrected_errors", 1},
	{"ecc.errors.uncorrected.volatile.total", "ecc_uncorrected_errors", 1},
}

// smiGPU reads through the program nvidia-smi, for hosts where NVML cannot be
// loaded. One run is one reading.
type smiGPU struct {
	program string
	fields  []smiField
	bound   time.Duration
	reason  string // why NVML is not used
	worked  bool   // gave a reading before
	said    bool   // said that there is nothing to read
}

func newSMI(program, reason string) GPU {
	return &smiGPU{program: program, fields: slices.Clone(smiFields), bound: smiBound, reason: reason}
}

func (g *smiGPU) Close() error { return nil }

// Read runs the program. Where it never worked, its failure is said once; later
// ones are said each time.
func (g *smiGPU) Read(anchor record.Anchor) []record.GPUSample {
	if g.said {
		return nil
	}
	rows, failure := g.ask(anchor)
	if failure == "" {
		g.worked = true
		return rows
	}
	s := record.GPUSample{Status: failure, Source: nonEmpty(sourceSMI)}
	if !Lost(failure) && !Hung(failure) {
		s.Status = "unavailable: " + failure
		if !g.worked {
			s.Status, g.said = "unavailable: "+g.reason+"; "+failure, true
		}
	}
	s.AtNs, s.AtUnixNs = anchor.Now()
	return []record.GPUSample{s}
}

var unknownField = regexp.MustCompile(`Field "([a-z0-9_.]+)" is not a valid field to query`)

// ask runs the program until it knows every field: an older one names the first
// that it does not know, which is then left out for good.
func (g *smiGPU) ask(anchor record.Anchor) (rows []record.GPUSample, failure string) {
	ctx, cancel := context.WithTimeout(context.Background(), g.bound)
	defer cancel()
	for {
		names := make([]string, len(g.fields))
		for i, f := range g.fields {
			names[i] = f.name
		}
		var stdout bytes.Buffer
		command := exec.CommandContext(ctx, g.program, "--query-gpu="+strings.Join(names, ","), "--format=csv,noheader,nounits")
		command.Stdout, command.Env = &stdout, append(os.Environ(), "LC_ALL=C")
		command.WaitDelay = 100 * time.Millisecond // a child that keeps the pipe must not hold us
		ns, unix := anchor.Now()
		err := command.Run()
		if ctx.Err() != nil {
			return nil, hungWord + " nvidia-smi did not end in time"
		}
		if m := unknownField.FindSubmatch(stdout.Bytes()); err != nil && m != nil && g.leaveOut(string(m[1])) {
			continue
		}
		if err != nil {
			return nil, smiFailure(err)
		}
		rows, failure = g.parse(stdout.Bytes())
		for i := range rows {
			rows[i].AtNs, rows[i].AtUnixNs = ns, unix
		}
		return rows, failure
	}
}

// leaveOut forgets a field and tells whether it was there.
func (g *smiGPU) leaveOut(name string) bool {
	n := len(g.fields)
	g.fields = slices.DeleteFunc(g.fields, func(f smiField) bool { return f.name == name })
	return len(g.fields) < n
}

// smiFailure names an exit status (nvidia-smi manual, RETURN VALUE). What the
// program printed is never read as data then.
func smiFailure(err error) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return "nvidia-smi cannot be run"
	}
	switch exit.ExitCode() {
	case 4:
		return "nvidia-smi has no permission"
	case 6:
		return "no GPU"
	case 9:
		return "NVIDIA driver not loaded"
	case 12:
		return "no NVIDIA driver library"
	case 15:
		return statusLost
	case 18: // not in the manual; what the program exits with after a driver update
		return reasonMismatch
	}
	return "nvidia-smi exits with status " + strconv.Itoa(exit.ExitCode())
}

// parse reads one line per GPU. A line that has another number of cells or no
// index is no reading, and then none of the answer is used.
func (g *smiGPU) parse(answer []byte) (rows []record.GPUSample, failure string) {
	in := csv.NewReader(bytes.NewReader(answer))
	in.TrimLeadingSpace, in.FieldsPerRecord = true, len(g.fields)
	lines, err := in.ReadAll()
	if err != nil {
		return nil, "nvidia-smi answers with something else than readings"
	}
	for _, cells := range lines {
		s := record.GPUSample{Status: statusOK, Source: nonEmpty(sourceSMI), MemoryAPI: nonEmpty("nvidia-smi")}
		missing := gaps{}
		for i, f := range g.fields {
			g.cell(f, strings.TrimSpace(cells[i]), &s, missing)
		}
		if s.GPUIndex == nil {
			return nil, "nvidia-smi answers with something else than readings"
		}
		for column, at := range gpuColumn {
			if *at(&s) == nil {
				missing.note("nvidia-smi does not give it", column)
			} else {
				delete(missing, column) // given under another name of the field
			}
		}
		s.Missing = missing.text()
		rows = append(rows, s)
	}
	if len(rows) == 0 {
		return nil, "no GPU"
	}
	return rows, ""
}

func (g *smiGPU) cell(f smiField, text string, s *record.GPUSample, missing gaps) {
	if reason := smiMark(text); reason != "" {
		if Lost(reason) {
			s.Status = reason
		}
		missing.note(reason, f.column)
		delete(missing, "") // index, uuid, name and version have no column of numbers
		return
	}
	switch f.name {
	case "index":
		s.GPUIndex = smiNumber(text, 1)
	case "uuid":
		s.UUID = text
	case "name":
		s.Name = text
	case "driver_version":
		s.DriverVersion = nonEmpty(text)
	default:
		at := gpuColumn[f.column](s)
		if v := smiNumber(strings.TrimPrefix(text, "P"), f.factor); v != nil {
			*at = v
		} else {
			missing.note("not a number", f.column)
		}
	}
}

// smiMark is the reason a cell has instead of a value; "" for a value.
func smiMark(text string) string {
	switch strings.Trim(text, "[]") {
	case "", "N/A":
		return "not available"
	case "Not Supported":
		return "not supported"
	case "Insufficient Permissions":
		return "no permission"
	case "Unknown Error":
		return "unknown error"
	case "GPU is lost":
		return statusLost
	case "GPU requires reset":
		return statusReset
	}
	return ""
}

// smiNumber reads 12, 12.34 or 0x1f and multiplies; nil for anything else.
func smiNumber(text string, factor float64) *int64 {
	if hex, ok := strings.CutPrefix(text, "0x"); ok {
		v, err := strconv.ParseUint(hex, 16, 64)
		if err != nil {
			return nil
		}
		return signed(&v)
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < 0 || v*factor > 1<<62 || v != v {
		return nil
	}
	n := int64(v*factor + 0.5)
	return &n
}
