package report

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// span is one bar of a timeline, in seconds since the first request of its cell.
type span struct {
	row      float64
	from, to float64
	color    color.Color
	hollow   bool // of a cell that is not eligible
}

// lane is the part of a timeline that belongs to one cell.
type lane struct {
	label string
	first float64 // row of its first request
	rows  int
}

// timelinePlots draws the requests of every measured cell over time: one picture
// for each workload and context, in which both arms and all concurrencies share
// one scale.
func (r *renderer) timelinePlots() ([]plotFile, error) {
	var out []plotFile
	var done []slot
	for _, s := range r.slots() {
		group := slot{workload: s.workload, context: s.context}
		if slices.Contains(done, group) {
			continue
		}
		done = append(done, group)
		f, ok, err := r.timelinePlot(group)
		if err != nil {
			return nil, fmt.Errorf("plot timeline: %w", err)
		}
		if ok {
			out = append(out, f)
		}
	}
	return out, nil
}

func (r *renderer) timelinePlot(group slot) (plotFile, bool, error) {
	spans, lanes, rows, requests := r.lanes(group)
	if len(spans) == 0 {
		return plotFile{}, false, nil
	}
	p := newPlot("s since the first request of the cell", "")
	latest := 0.0
	for _, s := range spans {
		latest = max(latest, s.to)
	}
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, max(latest*1.02, 1e-9), niceTicks{10}
	p.Y.Min, p.Y.Max = -rows+0.4, 0.6
	var ticks []plot.Tick
	for _, l := range lanes {
		ticks = append(ticks, plot.Tick{Value: -l.first - float64(l.rows-1)/2, Label: l.label})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.LineStyle.Width = 0
	p.Add(spanPlotter{spans, lanes})
	hollow := ""
	if slices.ContainsFunc(spans, func(s span) bool { return s.hollow }) {
		hollow = " Hollow bars are of cells that are not eligible."
	}
	where := fmt.Sprintf("%s, context label %s", clean(group.workload), formatValue(group.context, ""))
	pic := picture{
		title:    "Requests over time: " + where,
		subtitle: fmt.Sprintf("One bar is one request, n = %d; time counts from the first request of its cell.%s", requests, hollow), plot: p,
		legend: []legendEntry{
			{text: "sent, waiting for the first output", color: waitInk}, {text: "reasoning", color: phaseInk},
			{text: "visible text, until the last output", color: answerInk},
		},
	}
	f, _, err := r.finishPlot(pic, plotFile{
		file: fmt.Sprintf("timeline-%s-%d.svg", slug(group.workload), group.context), section: "results",
		alt: "Every measured cell. One bar is one request, from the first request of its cell: waiting, reasoning, visible text.",
	})
	return f, true, err
}

// slug makes a text part of a file name.
func slug(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + ('a' - 'A')
		}
		return '_'
	}, text)
}

// lanes returns the bars of all cells of a workload and context, by concurrency
// and arm, each cell in a lane of its own.
func (r *renderer) lanes(group slot) (spans []span, lanes []lane, rows float64, requests int) {
	cells := r.b.result("cells")
	for _, s := range r.slots() {
		if s.workload != group.workload || s.context != group.context {
			continue
		}
		for _, arm := range r.armOrder() {
			for _, i := range cells.find("arm", arm, "workload", s.workload, "context_tokens", s.context, "concurrency", s.concurrency) {
				found, n := r.requestSpans(cells.text(i, "cell"), arm, rows, cells.text(i, "eligibility") != "eligible")
				label := fmt.Sprintf("C%d %s, n = %d  ", s.concurrency, clean(arm), n) // room for a wider font
				spans = append(spans, found...)
				lanes = append(lanes, lane{label, rows, max(n, 1)})
				rows += float64(max(n, 1)) + laneGap
				requests += n
			}
		}
	}
	return spans, lanes, rows - laneGap, requests
}

// laneGap is the room between lanes, in rows.
const laneGap = 1.2

// requestSpans returns the bars of a cell's requests from a row on, and how many
// requests have one.
func (r *renderer) requestSpans(cell, arm string, row float64, hollow bool) (spans []span, n int) {
	o := r.b.result("observations")
	rows := o.find("arm", arm, "cell", cell)
	var origin int64
	known := false
	for _, i := range rows {
		if start, ok := o.whole(i, "start_ns"); ok && (!known || start < origin) {
			origin, known = start, true
		}
	}
	for _, i := range rows {
		start, ok := o.whole(i, "start_ns")
		if !ok {
			continue
		}
		at := func(column string) (float64, bool) {
			ns, ok := o.whole(i, column)
			return float64(start-origin+ns) / 1e9, ok
		}
		from := float64(start-origin) / 1e9
		add := func(to float64, c color.Color) {
			spans, from = append(spans, span{row + float64(n), from, to, c, hollow}), to
		}
		if end, ok := o.whole(i, "end_ns"); ok { // the end of a request without output
			if _, has := at("ttfo_ns"); !has {
				add(float64(end-origin)/1e9, waitInk)
			}
		}
		for _, phase := range []struct {
			column string
			color  color.Color
		}{{"ttfo_ns", waitInk}, {"ttft_ns", phaseInk}, {"last_output_ns", answerInk}} {
			to, ok := at(phase.column)
			if !ok || to < from {
				continue
			}
			if _, visible := at("ttft_ns"); phase.column == "last_output_ns" && !visible {
				phase.color = phaseInk // reasoning only
			}
			add(to, phase.color)
		}
		n++
	}
	return spans, n
}

// spanPlotter draws bars; row 0 is the top one.
type spanPlotter struct {
	spans []span
	lanes []lane
}

// Plot implements plot.Plotter.
func (s spanPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	for _, l := range s.lanes[1:] {
		y := toY(-l.first + 0.5 + laneGap/2)
		c.StrokeLine2(draw.LineStyle{Color: gridInk, Width: vg.Points(0.6)}, c.Min.X, y, c.Max.X, y)
	}
	for _, b := range s.spans {
		box := []vg.Point{
			{X: toX(b.from), Y: toY(-b.row - 0.38)}, {X: toX(b.to), Y: toY(-b.row - 0.38)},
			{X: toX(b.to), Y: toY(-b.row + 0.38)}, {X: toX(b.from), Y: toY(-b.row + 0.38)},
		}
		if b.hollow {
			c.StrokeLines(draw.LineStyle{Color: b.color, Width: vg.Points(0.5)}, append(box, box[0]))
			continue
		}
		c.FillPolygon(b.color, box)
	}
}
