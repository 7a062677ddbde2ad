package campaign

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/collect/engine"
	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/sample"
	"assay/collect/stream"
)

// Verdict is what a preflight check came to.
type Verdict string

// Verdicts of a check.
const (
	CheckOK   Verdict = "ok"
	CheckWarn Verdict = "warn" // the campaign can be eligible, something will be missing
	CheckFail Verdict = "fail" // the campaign could not be eligible
)

// Check is one thing known before the clock starts.
type Check struct {
	Name    string  `json:"name"`
	Arm     string  `json:"arm,omitempty"`
	Verdict Verdict `json:"verdict"`
	Found   string  `json:"found"`
	Fix     string  `json:"fix,omitempty"` // what to do; "" when there is nothing to do
}

// preflight gathers checks.
type preflight struct {
	Options
	anchor record.Anchor
	checks []Check
	arm    string
}

func (p *preflight) add(name string, v Verdict, found, fix string) {
	if v == CheckOK {
		fix = ""
	}
	p.checks = append(p.checks, Check{Name: name, Arm: p.arm, Verdict: v, Found: found, Fix: fix})
}

// Preflight finds out everything that can be known before the clock starts. It
// sends no chat request and writes nothing. Every check is made, whatever an
// earlier one came to.
func Preflight(ctx context.Context, o Options) ([]Check, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &preflight{Options: o, anchor: record.NewAnchor()}
	p.clock()
	pageBytes := int64(0)
	for i, arm := range p.arms() {
		p.arm = arm[0].Arm
		pageBytes = max(pageBytes, p.endpoint(ctx, arm, i == 0))
	}
	p.arm = ""
	p.host()
	p.disk(pageBytes)
	return p.checks, nil
}

// arms groups the selected cells by arm, in plan order.
func (p *preflight) arms() [][]plan.Cell {
	var groups [][]plan.Cell
	for _, name := range p.Plan.Arms() {
		if cells := ofArm(p.selected(), name); len(cells) > 0 {
			groups = append(groups, cells)
		}
	}
	return groups
}

func (p *preflight) clock() {
	now := time.Unix(0, p.Clock().UnixNs)
	clock, err := dispatchClock(p.Plan, now, p.RestartClock)
	if err != nil {
		p.add("clock", CheckFail, "the request cutoff has passed", "start a new dispatch clock with --restart-clock, or freeze a new plan")
	} else {
		p.add("clock", CheckOK, "the cutoff is in "+time.Unix(0, clock.CutoffUnixNs).Sub(now).Round(time.Second).String(), "")
	}
	synchronised, known := clockSynchronised()
	switch {
	case !known:
		p.add("clock synchronisation", CheckWarn, "the kernel does not say", "make sure that chrony or another time service runs")
	case !synchronised:
		p.add("clock synchronisation", CheckWarn, "the wall clock is not synchronised", "start chrony or systemd-timesyncd; a step inside a cell withholds its latency")
	default:
		p.add("clock synchronisation", CheckOK, "synchronised", "")
	}
}

// endpoint checks one arm and returns the size of its metrics page. An arm that
// does not answer is a failure for the first one only: the others may share its
// GPU and be loaded later.
func (p *preflight) endpoint(ctx context.Context, cells []plan.Cell, first bool) int64 {
	c := cells[0]
	client, err := p.client(c)
	if err != nil {
		p.add("endpoint", CheckFail, err.Error(), "give a base URL that ends in /v1 with --base-url "+c.Arm+"=URL")
		return 0
	}
	answer := client.Ask(ctx, p.anchor, phaseBefore, "/v1/models")
	switch {
	case answer.HTTPStatus == nil && first:
		p.add("endpoint", CheckFail, "no answer: "+answer.Error, "start the arm's engine, or name another with --base-url "+c.Arm+"=URL")
		return 0
	case answer.HTTPStatus == nil:
		p.add("endpoint", CheckWarn, "no answer: "+answer.Error, "when it is loaded, run preflight again with --arm "+c.Arm)
		return 0
	case *answer.HTTPStatus == 401 || *answer.HTTPStatus == 403:
		p.add("token", CheckFail, fmt.Sprintf("the endpoint answers with status %d", *answer.HTTPStatus), "export the key and name its variable with --api-key-env")
		return 0
	}
	p.add("endpoint", CheckOK, "answers", "")
	p.model(answer, cells)
	p.prompts(ctx, cells)
	return p.metrics(ctx, client)
}

// model compares what is served with what the plan wants.
func (p *preflight) model(answer record.Answer, cells []plan.Cell) {
	want := cells[0].Request.Model
	if ok, others := serves(answer, want); !ok {
		p.add("served id", CheckFail, "serves "+others+", the plan wants "+want, "load the planned model, or correct the endpoint")
		return
	}
	models, reason := engine.Models(answer.Body)
	if answer.Error != "" || reason != "" {
		p.add("served id", CheckWarn, "the model list cannot be read", "check by hand that the endpoint serves "+want)
		return
	}
	p.add("served id", CheckOK, want, "")
	for _, m := range models {
		if m.ID != want {
			continue
		}
		planned := cells[0].Request.MaxModelLen
		switch {
		case m.MaxModelLen == nil:
			p.add("model length", CheckWarn, "not stated", "check by hand that it is "+decimal(planned)+" tokens")
		case *m.MaxModelLen < planned:
			p.add("model length", CheckFail, fmt.Sprintf("%d tokens, the plan counts on %d", *m.MaxModelLen, planned), "start the engine with a context of "+decimal(planned)+" tokens for each request")
		case *m.MaxModelLen > planned:
			p.add("model length", CheckWarn, fmt.Sprintf("%d tokens, the plan says %d", *m.MaxModelLen, planned), "the capacity edge of the plan is not the engine's")
		default:
			p.add("model length", CheckOK, decimal(planned)+" tokens", "")
		}
	}
}

// usefulMetrics are the series a finding is poorer without; any one of a line
// will do.
var usefulMetrics = [][]string{
	{"requests_running"}, {"requests_waiting"}, {"kv_usage_ratio"}, {"prompt_tokens", "prompt_tokens_computed"}, {"generation_tokens"},
}

func (p *preflight) metrics(ctx context.Context, client *engine.Client) int64 {
	page := client.Scrape(ctx, p.anchor, 0, phaseBefore)
	if page.Error != "" {
		p.add("metrics", CheckWarn, "/metrics: "+page.Error, "switch the engine's metrics on: without them an idle engine cannot be verified, and only a refused context can be proven")
		return 0
	}
	parsed, _ := engine.ParsePage(page.Body)
	var lacks []string
	for _, names := range usefulMetrics {
		if !slices.ContainsFunc(names, func(canonical string) bool { _, _, ok := engine.Resolve(parsed, canonical); return ok }) {
			lacks = append(lacks, names[0])
		}
	}
	if len(lacks) > 0 {
		p.add("metrics", CheckWarn, "lacks "+strings.Join(lacks, ", "), "check the engine's version and flags; these will be missing from the finding")
	} else {
		p.add("metrics", CheckOK, strconv.Itoa(len(parsed.Series))+" series", "")
	}
	return int64(len(page.Body))
}

// prompts counts one prompt of each context where the engine has /tokenize.
func (p *preflight) prompts(ctx context.Context, cells []plan.Cell) {
	seen := map[int64]bool{}
	for _, c := range cells {
		if seen[c.PlannedContextTokens] {
			continue
		}
		seen[c.PlannedContextTokens] = true
		name := fmt.Sprintf("prompt of context %d", c.PlannedContextTokens)
		n, how, reason := p.tokenize(ctx, c)
		label := c.Request.PromptCharacters() / 3
		switch room := c.Request.MaxModelLen - or0(c.Request.MaxTokens); {
		case reason != "":
			p.add(name, CheckWarn, "not counted: "+reason, "the first warm-up will show its real length")
		case n > room:
			p.add(name, CheckFail, fmt.Sprintf("%d tokens%s, with %d for the answer more than the model's %d", n, how, or0(c.Request.MaxTokens), c.Request.MaxModelLen), "lower the context or max_tokens of these cells")
		case 10*n < 7*label || 10*n > 9*label:
			p.add(name, CheckWarn, fmt.Sprintf("%d tokens%s for a label of %d, outside 0.7 to 0.9", n, how, label), "expect other prompt lengths than the plan names; both arms must agree")
		default:
			p.add(name, CheckOK, fmt.Sprintf("%d tokens%s", n, how), "")
		}
	}
}

func or0(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// host checks what is sampled beside the engines.
const fixGPU = "run where the driver is visible; without it the finding has no GPU figures"

func (p *preflight) host() {
	gpu := p.openGPU()
	rows := gpu.Read(p.anchor)
	_ = gpu.Close() // nothing was written
	bad := slices.IndexFunc(rows, func(s record.GPUSample) bool { return s.Status != "ok" })
	switch {
	case len(rows) == 0:
		p.add("GPU", CheckWarn, "no reading", fixGPU)
	case bad < 0:
		p.add("GPU", CheckOK, fmt.Sprintf("%d visible", len(rows)), "")
	case sample.Lost(rows[bad].Status):
		p.add("GPU", CheckFail, "the driver says of a GPU: "+rows[bad].Status, "reset it or restart the host: a campaign ends at the first such reading")
	default:
		p.add("GPU", CheckWarn, rows[bad].Status, fixGPU)
	}
	for _, arm := range p.Plan.Arms() {
		p.arm = arm
		p.container()
	}
	p.arm = ""
	if ok, why := stream.KernelStampsAvailable(); ok {
		p.add("kernel stamps", CheckOK, "available", "")
	} else {
		p.add("kernel stamps", CheckWarn, why, "run on Linux with receive stamps: without them times are those of the reader")
	}
}

func (p *preflight) container() {
	name := p.Containers[p.arm]
	if name == "" {
		p.add("control group", CheckWarn, "no container is named", "name it with --docker "+p.arm+"=CONTAINER: without it memory limits and restarts are not visible")
		return
	}
	state, err := (&container{socket: p.DockerSocket, name: name}).inspect()
	if err != nil {
		p.add("container", CheckWarn, err.Error(), "check its name and the right to read the Docker socket")
		return
	}
	p.add("container", CheckOK, state.State.Status, "")
	if group := sample.GroupOf(p.proc, state.State.Pid); group.Reason != "" {
		p.add("control group", CheckWarn, group.Reason, "run the collector on the engine's host, outside a container")
	} else {
		p.add("control group", CheckOK, "visible", "")
	}
}

// Sizes of a run's parts, for the estimate of disk space; all are upper bounds
// of what was seen in simulated runs.
const (
	spoolBytesPerToken = 600 // one event a token, raw
	fileBytesPerToken  = 80  // the same in Parquet
	requestBytes       = 8 << 10
	pagesPerSecond     = 2
)

// disk compares the free space with what the run may need: every request with
// all its tokens, and the largest cell once more as a spool.
func (p *preflight) disk(pageBytes int64) {
	var files, spool int64
	for _, c := range p.selected() {
		tokens := c.Requests * max(or0(c.Request.MaxTokens), 1024)
		pages := c.OuterTimeoutSeconds * pagesPerSecond * pageBytes
		files += tokens*fileBytesPerToken + c.Requests*requestBytes + pages/8
		spool = max(spool, tokens*spoolBytesPerToken+c.Requests*requestBytes+pages)
	}
	need := files + spool
	free, err := freeBytes(existing(p.Dir))
	switch {
	case err != nil:
		p.add("disk", CheckWarn, "the free space cannot be read", "make sure that "+size(need)+" are free")
	case free < need:
		p.add("disk", CheckFail, fmt.Sprintf("%s free, the run may need %s", size(free), size(need)), "make room, or name a folder on another disk with -o")
	default:
		p.add("disk", CheckOK, fmt.Sprintf("%s free, the run may need %s", size(free), size(need)), "")
	}
}

// existing is the nearest folder above a path that is there.
func existing(path string) string {
	if path == "" {
		return "."
	}
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

func size(bytes int64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}
