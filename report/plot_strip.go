package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"assay/report/bundle"
)

// plotFile is one finished picture.
type plotFile struct {
	file    string // in plots/
	alt     string
	caption string
	section string // where the narrative shows it
	svg     []byte
}

// strip is a plot of one value of every request, or of every cell, by workload,
// context and concurrency.
type strip struct {
	file, title, axis string
	query, column     string
	factor            float64 // raw value to axis value
	log               bool
}

// strips are the plots by context. All arms share one frame and one scale.
var strips = []strip{
	{"ttfo-by-context.svg", "Time to first output, by context and concurrency", "TTFO, s (log)", "observations", "ttfo_ns", 1e-9, true},
	{"ttft-by-context.svg", "Time to first visible text, by context and concurrency", "TTFT, s (log)", "observations", "ttft_ns", 1e-9, true},
	{"decode-by-context.svg", "Decode rate, reasoning and visible, by context and concurrency", "Decode, tok/s", "observations", "decode_tok_s", 1, false},
	{"e2e-by-context.svg", "End-to-end time, by context and concurrency", "E2E, s (log)", "observations", "e2e_ns", 1e-9, true},
	{"throughput-by-context.svg", "Completion throughput of each cell, by context and concurrency", "Throughput, tok/s", "cell_points", "throughput_tok_s", 1, false},
	{"prompt-lengths.svg", "Real prompt length, by context label and concurrency", "Prompt, tokens (log)", "observations", "prompt_tokens", 1, true},
	{"output-lengths.svg", "Completion length, by context and concurrency", "Completion, tokens (log)", "observations", "completion_tokens", 1, true},
}

// dot is one observation in a strip plot.
type dot struct {
	x, y   float64
	arm    int
	cell   string
	filled bool
}

// slot is one position on the axis: workload, context and concurrency.
type slot struct {
	workload             string
	context, concurrency int64
}

func (r *renderer) plots() ([]plotFile, error) {
	var out []plotFile
	for _, s := range strips {
		if f, ok, err := r.stripPlot(s); err != nil {
			return nil, fmt.Errorf("plot %s: %w", s.file, err)
		} else if ok {
			out = append(out, f)
		}
	}
	for _, make := range []func() ([]plotFile, error){r.timelinePlots, r.seriesPlots, r.bucketPlots} {
		files, err := make()
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}

// slots lists the measured positions in plan order of workloads, then by context
// and concurrency.
func (r *renderer) slots() []slot {
	var out []slot
	cells := r.b.result("cells")
	workloads := r.workloads()
	for i := range cells.rows {
		if cells.flag(i, "excluded_warmup") {
			continue
		}
		context, _ := cells.whole(i, "context_tokens")
		concurrency, _ := cells.whole(i, "concurrency")
		if s := (slot{cells.text(i, "workload"), context, concurrency}); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b slot) int {
		if w := slices.Index(workloads, a.workload) - slices.Index(workloads, b.workload); w != 0 {
			return w
		}
		if a.context != b.context {
			return int(min(max(a.context-b.context, -1), 1))
		}
		return int(min(max(a.concurrency-b.concurrency, -1), 1))
	})
	return out
}

// leftOut counts the observations of an arm that are not drawn: those without a
// value, and those a log axis has no place for.
type leftOut struct{ missing, offScale int }

func (l leftOut) String() string {
	var parts []string
	if l.missing > 0 {
		parts = append(parts, fmt.Sprintf("%d without a value", l.missing))
	}
	if l.offScale > 0 {
		parts = append(parts, fmt.Sprintf("%d not drawable on a log axis", l.offScale))
	}
	return strings.Join(parts, ", ")
}

// dots reads the observations of a strip, and counts by arm what cannot be drawn.
func (r *renderer) dots(s strip, slots []slot) ([]dot, []leftOut) {
	res := r.b.result(s.query)
	arms := r.armOrder()
	var out []dot
	left := make([]leftOut, len(arms))
	for i := range res.rows {
		if res.flag(i, "excluded_warmup") {
			continue
		}
		v, ok := res.number(i, s.column)
		context, _ := res.whole(i, "context_tokens")
		concurrency, _ := res.whole(i, "concurrency")
		at := slices.Index(slots, slot{res.text(i, "workload"), context, concurrency})
		arm := slices.Index(arms, res.text(i, "arm"))
		if at < 0 || arm < 0 {
			continue
		}
		switch {
		case !ok || math.IsNaN(v) || math.IsInf(v, 0):
			left[arm].missing++
			continue
		case s.log && v <= 0:
			left[arm].offScale++
			continue
		}
		// Arms stand side by side; requests of one arm are spread by their index,
		// so that equal values can be told apart.
		width := 0.8 / float64(len(arms))
		index, _ := res.whole(i, "request_index")
		spread := (float64(index%7) - 3) / 7 * width * 0.95
		out = append(out, dot{
			x: float64(at) - 0.4 + width*(float64(arm)+0.5) + spread, y: v * s.factor,
			arm: arm, cell: res.text(i, "cell"), filled: res.text(i, "eligibility") == "eligible",
		})
	}
	return out, left
}

func (r *renderer) stripPlot(s strip) (plotFile, bool, error) {
	slots := r.slots()
	dots, left := r.dots(s, slots)
	anyLeft := slices.ContainsFunc(left, func(l leftOut) bool { return l != leftOut{} })
	if len(dots) == 0 && (!anyLeft || s.query == "cell_points" || !r.anyDispatched()) {
		return plotFile{}, false, nil
	}
	p := newPlot("", s.axis)
	p.X.Min, p.X.Max = -0.6, float64(len(slots))-0.4
	p.X.Tick.Marker = plot.ConstantTicks(slotTicks(slots))
	p.X.Tick.LineStyle.Width = 0
	p.X.LineStyle.Width = 0
	s.scale(p, dots)
	p.Add(gridLines{}, slotLines{slots}, dotPlotter{dots})
	subtitle := "Every request is one point."
	if slices.ContainsFunc(dots, func(d dot) bool { return !d.filled }) {
		subtitle = "Every request is one point; hollow points are of cells that are not eligible."
	}
	switch {
	case s.query == "cell_points":
		subtitle = "One point for each cell that is eligible; nothing is drawn for the others."
		left = make([]leftOut, len(left))
	case len(dots) == 0:
		subtitle = "No request has a value that can be drawn; the legend counts them."
	case anyLeft:
		subtitle += " Those that cannot be drawn are counted in the legend."
	}
	f := plotFile{file: s.file, section: "results", alt: subtitle}
	if s.file == strips[0].file {
		f.caption = r.hollowCaption(dots) // once is enough
	}
	return r.finishPlot(picture{title: s.title, subtitle: subtitle, legend: r.stripLegend(dots, left), plot: p}, f)
}

// scale sets the axis of values so that every point has its place on it.
func (s strip) scale(p *plot.Plot, dots []dot) {
	low, high := 1.0, 1.0 // an axis to stand empty, where there is no point
	for i, d := range dots {
		if i == 0 {
			low, high = d.y, d.y
		}
		low, high = min(low, d.y), max(high, d.y)
	}
	if s.log {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
		p.Y.Min, p.Y.Max = logRange(low, high)
		return
	}
	p.Y.Tick.Marker = niceTicks{7}
	p.Y.Min, p.Y.Max = 0, max(high*1.08, 1e-9)
}

// anyDispatched reports whether a request was sent at all.
func (r *renderer) anyDispatched() bool {
	n, _ := r.b.result("tally").whole(0, "requests_dispatched")
	return n > 0
}

// finishPlot draws a picture and completes its file.
func (r *renderer) finishPlot(pic picture, f plotFile) (plotFile, bool, error) {
	pic.simulated = r.kind == bundle.KindSimulated
	svg, err := pic.draw()
	if err != nil {
		return plotFile{}, false, err
	}
	f.svg = svg
	f.alt = pic.title + ". " + f.alt
	if pic.simulated {
		f.alt = "SIMULATED. " + f.alt
	}
	return f, true, nil
}

func (r *renderer) stripLegend(dots []dot, left []leftOut) []legendEntry {
	var out []legendEntry
	for arm, name := range r.armOrder() {
		var filled, hollow int
		for _, d := range dots {
			if d.arm == arm && d.filled {
				filled++
			} else if d.arm == arm {
				hollow++
			}
		}
		not := left[arm].String()
		if not != "" {
			not = "; " + not
		}
		if filled > 0 || hollow == 0 && not != "" {
			out = append(out, legendEntry{text: fmt.Sprintf("%s, n = %d%s", clean(name), filled, not), color: armColor(arm), shape: draw.CircleGlyph{}})
			not = ""
		}
		if hollow > 0 {
			out = append(out, legendEntry{text: fmt.Sprintf("%s, not eligible, n = %d%s", clean(name), hollow, not), color: armColor(arm), shape: draw.RingGlyph{}})
		}
	}
	return out
}

// hollowCaption names the cells that are drawn hollow.
func (r *renderer) hollowCaption(dots []dot) string {
	if !slices.ContainsFunc(dots, func(d dot) bool { return !d.filled }) {
		return ""
	}
	cells := r.b.result("cells")
	var names []string
	for _, i := range cells.find("eligibility", "ineligible") {
		if slices.ContainsFunc(dots, func(d dot) bool { return d.cell == cells.text(i, "cell") }) {
			names = append(names, given(code(cells.text(i, "cell"))))
		}
	}
	return "Drawn hollow, because not eligible: " + strings.Join(names, ", ") + "."
}

// slotTicks labels each slot with its concurrency; the middle one of a context
// carries the context's label, and the middle one of a workload its name.
func slotTicks(slots []slot) []plot.Tick {
	labels := make([]string, len(slots))
	for i, s := range slots {
		labels[i] = fmt.Sprintf("C%d", s.concurrency)
	}
	var ticks []plot.Tick
	for i := range slots {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: labels[i]})
	}
	return append(ticks, groupTicks(slots)...)
}

// groupTicks centres the context under its slots, and the workload under its
// contexts, on lines of their own.
func groupTicks(slots []slot) []plot.Tick {
	var ticks []plot.Tick
	run := func(lead string, name func(slot) string, key func(slot) string) {
		for from := 0; from < len(slots); {
			to := from
			for to < len(slots) && key(slots[to]) == key(slots[from]) {
				to++
			}
			// Two ticks on one spot would be one; a hair apart they are two labels.
			ticks = append(ticks, plot.Tick{Value: float64(from+to-1)/2 + 1e-7*float64(len(lead)), Label: lead + name(slots[from])})
			from = to
		}
	}
	run("\n", func(s slot) string { return formatValue(s.context, "") }, func(s slot) string { return fmt.Sprint(s.workload, s.context) })
	run("\n\n", func(s slot) string { return clean(s.workload) }, func(s slot) string { return s.workload })
	return ticks
}

// slotLines separates contexts by pale lines and workloads by darker ones.
type slotLines struct{ slots []slot }

// Plot implements plot.Plotter.
func (l slotLines) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	for i := 1; i < len(l.slots); i++ {
		style := draw.LineStyle{Color: gridInk, Width: vg.Points(0.6)}
		switch {
		case l.slots[i].workload != l.slots[i-1].workload:
			style = draw.LineStyle{Color: paleInk, Width: vg.Points(0.9)}
		case l.slots[i].context == l.slots[i-1].context:
			continue
		}
		x := toX(float64(i) - 0.5)
		c.StrokeLine2(style, x, c.Min.Y, x, c.Max.Y)
	}
}

// dotPlotter draws observations.
type dotPlotter struct{ dots []dot }

// Plot implements plot.Plotter.
func (d dotPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	for _, o := range d.dots {
		at := vg.Point{X: toX(o.x), Y: toY(o.y)}
		style := draw.GlyphStyle{Color: armColor(o.arm), Radius: vg.Points(1.8), Shape: draw.RingGlyph{}}
		if o.filled {
			// A pale rim keeps neighbours apart.
			c.DrawGlyph(draw.GlyphStyle{Color: color.White, Radius: vg.Points(2.1), Shape: draw.CircleGlyph{}}, at)
			style.Shape, style.Radius = draw.CircleGlyph{}, vg.Points(1.6)
		}
		c.DrawGlyph(style, at)
	}
}

// figures puts the plots where the narrative shows them.
func (r *renderer) figures(plots []plotFile) figuresView {
	var v figuresView
	for _, p := range plots {
		f := figure{Path: r.folder + "/plots/" + p.file, Alt: given(literal(p.alt)), Caption: p.caption}
		switch p.section {
		case "engine":
			v.Engine = append(v.Engine, f)
		case "resources":
			v.Resources = append(v.Resources, f)
		default:
			v.Results = append(v.Results, f)
		}
	}
	return v
}
