package engine

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// logPattern is one line of an engine's log that says something about its
// capacity or its work (engines.md section 2).
type logPattern struct {
	text *regexp.Regexp
	// boot lines are written once when the engine starts, and are kept with every
	// attempt; the others are kept with the attempt in which they were written.
	boot  bool
	facts []logFact
	// perBuffer tells lines of one process apart by their first group.
	perBuffer bool
}

// logFact is one number of a line.
type logFact struct {
	fact  string
	group int
	unit  string // tokens, requests, GiB, MiB or GB
	// add adds the processes of the engine up: a pool over data-parallel ranks,
	// memory over workers. Otherwise the largest stands.
	add        bool
	confidence string
	place      int64
}

func logged(fact string, group int, unit string, add bool) logFact {
	return logFact{fact, group, unit, add, Logged, placeLog}
}

// logPatterns are not anchored: engines put several of these on one line, and
// write what they like before them.
var logPatterns = []logPattern{
	{text: re(`GPU KV cache size: ([\d,]+) tokens`), boot: true, facts: []logFact{logged(ReportKVPool, 1, "tokens", true)}},
	{text: re(`Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x`), boot: true, facts: []logFact{logged(ReportModelLen, 1, "tokens", false)}},
	{text: re(`Model loading took ([\d.]+) GiB(?: memory)? and ([\d.]+) seconds`), boot: true, facts: []logFact{logged(ReportWeightBytes, 1, "GiB", true)}},
	{text: re(`Model loading took ([\d.]+) GB(?: memory)? and ([\d.]+) seconds`), boot: true, facts: []logFact{logged(ReportWeightBytes, 1, "GB", true)}},
	{text: re(`Available KV cache memory: (-?[\d.]+) GiB`), boot: true, facts: []logFact{logged(ReportKVBytes, 1, "GiB", true)}},
	{text: re(`# GPU blocks: (\d+), # CPU blocks: (\d+)`), boot: true},
	{text: re(`Using max model len (\d+)`), boot: true, facts: []logFact{logged(ReportModelLen, 1, "tokens", false)}},
	{text: re(`Initializing a V1 LLM engine \(v([^)]+)\) with config: `), boot: true, facts: []logFact{logged(ReportBuild, 1, "", false)}},
	{text: re(`non-default args: \{.*'max_num_seqs': (\d+)`), boot: true, facts: []logFact{{ReportMaxSeqs, 1, "requests", false, Configured, placeLogArgs}}},
	{text: re(`non-default args: \{`), boot: true},
	{text: re(`Free memory on device(?: \S+)? \(([\d.]+)/([\d.]+) GiB\) on startup`), boot: true},
	{text: re(`Actual usage is ([\d.]+) GiB for `), boot: true},
	{text: re(`Graph capturing finished in (\d+) secs, took ([\d.]+) GiB`), boot: true},
	{text: re(`Engine (\d+): Avg prompt throughput: `)},
	{text: re(`SpecDecoding metrics: `)},

	{text: re(`max_total_num_tokens=(\d+).*max_running_requests=(\d+)`), boot: true, facts: []logFact{
		logged(ReportKVPool, 1, "tokens", true), {ReportMaxSeqs, 2, "requests", true, Logged, placeEffective}}},
	{text: re(`max_total_num_tokens=\d+.*context_len=(\d+)`), boot: true, facts: []logFact{logged(ReportModelLen, 1, "tokens", false)}},
	{text: re(`max_running_requests is capped to (\d+) by`), boot: true, facts: []logFact{{ReportMaxSeqs, 1, "requests", true, Logged, placeEffective - 1}}},
	{text: re(`KV Cache is allocated\..*#tokens: (\d+)`), boot: true},
	{text: re(`Load weight end\..*mem usage=([\d.]+) GB`), boot: true, facts: []logFact{logged(ReportWeightBytes, 1, "GB", true)}},
	{text: re(`(?:Prefill|Decode) batch[,.] .*#running-req: `)},
	{text: re(`KV cache pool is full\. Retract requests\.`)},

	{text: re(`llama_kv_cache: size = +([\d.]+) MiB \( *(\d+) cells`), boot: true, facts: []logFact{logged(ReportKVBytes, 1, "MiB", true)}, perBuffer: true},
	{text: re(`load_tensors: +(\S+) model buffer size = +([\d.]+) MiB`), boot: true, facts: []logFact{logged(ReportWeightBytes, 2, "MiB", true)}, perBuffer: true},
	{text: re(`n_ctx_slot = (\d+)`), boot: true, facts: []logFact{logged(ReportModelLen, 1, "tokens", false)}},

	{text: re(`Allocated ([\d.]+) GiB for max tokens in paged KV cache \((\d+)\)`), boot: true, facts: []logFact{logged(ReportKVBytes, 1, "GiB", true), logged(ReportKVPool, 2, "tokens", true)}},
	{text: re(`(?:Setting max batch total tokens to|Inferred max batch total tokens:) (\d+)`), boot: true, facts: []logFact{logged(ReportKVPool, 1, "tokens", true)}},
	{text: re(`Object cache budget: `), boot: true},
}

// secretMember is a member of logged launch arguments that is a secret.
var secretMember = re(`('[a-z_]*(?:key|token|password|secret)[a-z_]*': )(\[[^\]]*\]|'[^']*')`)

// MatchLog says whether a line of an engine's log is one to keep, and returns it
// without the values of keys among logged launch arguments. boot is true for a
// line of the engine's start.
func MatchLog(line []byte) (kept []byte, boot, ok bool) {
	for _, p := range logPatterns {
		if p.text.Match(line) {
			boot, ok = boot || p.boot, true
		}
	}
	if !ok {
		return nil, false, false
	}
	return secretMember.ReplaceAll(line, []byte("$1[REDACTED]")), boot, true
}

// processOf names the process that wrote a line, the same after a restart: vLLM
// puts it in parentheses, SGLang writes its ranks. Tensor-parallel ranks of SGLang
// repeat what their scheduler holds, so only memory counts them apart.
func processOf(line string, memory bool) string {
	if m := vllmProcess.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	ranks := rankOf.FindAllString(line, -1)
	if !memory {
		ranks = slices.DeleteFunc(ranks, func(r string) bool { return !strings.HasPrefix(r, "DP") })
	}
	return strings.Join(ranks, " ")
}

var (
	vllmProcess = re(`\(([A-Za-z]+(?:_[A-Za-z0-9]+)*) pid=\d+\)`)
	rankOf      = re(`\b(?:DP|TP|PP)\d+\b`)
)

// logKey is one fact of one process of the engine.
type logKey struct {
	logFact
	process string
}

// loggedValues are the facts of kept lines: of a process that says a thing twice,
// the last, since it was started again.
type loggedValues struct {
	values map[logKey]string
	order  []logKey
	cells  map[string]bool // sizes of llama.cpp's caches, in tokens
}

func (l *loggedValues) take(line string) {
	for _, p := range logPatterns {
		groups := p.text.FindStringSubmatch(line)
		if groups == nil {
			continue
		}
		if strings.HasPrefix(groups[0], "llama_kv_cache: ") {
			l.cells[groups[2]] = true
		}
		for _, f := range p.facts {
			k := logKey{f, processOf(line, f.fact == ReportKVBytes || f.fact == ReportWeightBytes)}
			if p.perBuffer {
				k.process += " " + groups[1]
			}
			if _, seen := l.values[k]; !seen {
				l.order = append(l.order, k)
			}
			l.values[k] = groups[f.group]
		}
	}
}

// LogReports reads the facts of kept lines. The processes of an engine add up, or
// the largest stands, as the fact has it. What a line rounds is rounded here.
func LogReports(lines []byte) []Report {
	found := loggedValues{values: map[logKey]string{}, cells: map[string]bool{}}
	for line := range bytes.Lines(lines) {
		found.take(string(bytes.TrimRight(line, "\r\n")))
	}
	var facts []logFact
	parts := map[logFact][]string{}
	for _, k := range found.order {
		if parts[k.logFact] == nil {
			facts = append(facts, k.logFact)
		}
		parts[k.logFact] = append(parts[k.logFact], found.values[k])
	}
	var all []Report
	for _, f := range facts {
		all = append(all, f.reports(parts[f])...)
	}
	// Several caches (sliding windows, a draft model) have no one size in tokens.
	if len(found.cells) == 1 {
		for n := range found.cells {
			all = append(all, Report{Fact: ReportKVPool, Value: n, Unit: "tokens", Source: SourceLog, Confidence: Logged, Place: placeLog})
		}
	}
	return all
}

// reports makes one report of the values the processes gave.
func (f logFact) reports(parts []string) []Report {
	r := Report{Fact: f.fact, Unit: f.unit, Source: SourceLog, Confidence: f.confidence, Place: f.place}
	if f.unit == "" {
		r.Value = parts[len(parts)-1]
		return []Report{r}
	}
	total := 0.0
	for _, p := range parts {
		v, err := strconv.ParseFloat(strings.ReplaceAll(p, ",", ""), 64)
		if err != nil || v < 0 { // a negative pool is a failed start
			return nil
		}
		if f.add {
			total += v
		} else {
			total = max(total, v)
		}
	}
	switch f.unit {
	case "GiB":
		total, r.Unit = math.Round(total*(1<<30)), "bytes"
	case "MiB":
		total, r.Unit = math.Round(total*(1<<20)), "bytes"
	}
	r.Value = strconv.FormatFloat(total, 'f', -1, 64)
	return []Report{r}
}
