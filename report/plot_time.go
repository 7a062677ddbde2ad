package report

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// span is one bar of a timeline, in seconds since the first request of its cell.
type span struct {
	row      int
	from, to float64
	color    color.Color
}

// timelinePlot draws the requests of one cell of each arm: of the natural cells
// that have output the one with the most requests in flight and, of those, the
// smallest context.
func (r *renderer) timelinePlot() ([]plotFile, error) {
	spans, names, subtitle := r.timeline()
	if len(spans) == 0 {
		return nil, nil
	}
	p := newPlot("s since the first request of the cell", "")
	latest := 0.0
	for _, s := range spans {
		latest = max(latest, s.to)
	}
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, max(latest*1.02, 1e-9), niceTicks{10}
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4
	var ticks []plot.Tick
	for i, n := range names {
		ticks = append(ticks, plot.Tick{Value: float64(len(names) - 1 - i), Label: n})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.LineStyle.Width = 0
	p.Add(spanPlotter{spans, len(names)})
	f, _, err := r.finishPlot(picture{
		title: "Requests of one cell of each arm over time", subtitle: fmt.Sprintf("%s n = %d.", subtitle, len(names)), plot: p,
		legend: []legendEntry{
			{text: "sent, waiting for the first output", color: waitInk}, {text: "reasoning", color: phaseInk},
			{text: "visible text, until the last output", color: answerInk},
		},
	}, plotFile{file: "timeline.svg", section: "results", alt: "One bar is one request of each arm, from the first request of its cell: waiting, reasoning, visible text."})
	if err != nil {
		return nil, fmt.Errorf("plot timeline: %w", err)
	}
	return []plotFile{f}, nil
}

// timeline returns the bars, the name of each row, and which cells they are of.
func (r *renderer) timeline() (spans []span, names []string, subtitle string) {
	cells := r.b.result("cells")
	var which []string
	for _, arm := range r.armOrder() {
		row, ok := r.timelineCell(arm)
		if !ok {
			continue
		}
		context, _ := cells.whole(row, "context_tokens")
		concurrency, _ := cells.whole(row, "concurrency")
		cell := fmt.Sprintf("%s, context label %s, concurrency %d", clean(cells.text(row, "workload")), formatValue(context, ""), concurrency)
		if !slices.Contains(which, cell) { // arms may have to show different cells
			which = append(which, cell)
		}
		spans, names = r.requestSpans(cells.text(row, "cell"), arm, spans, names)
	}
	return spans, names, strings.Join(which, "; ") + ". One bar is one request; time counts from the first request of its cell."
}

// timelineCell chooses a cell that has requests; natural ones come first.
func (r *renderer) timelineCell(arm string) (int, bool) {
	cells, seen := r.b.result("cells"), r.b.result("observations")
	rows := slices.DeleteFunc(cells.find("arm", arm), func(i int) bool {
		return cells.flag(i, "excluded_warmup") || !slices.ContainsFunc(seen.find("arm", arm, "cell", cells.text(i, "cell")), func(k int) bool {
			_, ok := seen.whole(k, "ttfo_ns")
			return ok
		})
	})
	if len(rows) == 0 {
		return 0, false
	}
	number := func(i int, column string) int64 { n, _ := cells.whole(i, column); return n }
	natural := func(i int) int {
		if cells.text(i, "workload") == "natural" {
			return 0
		}
		return 1
	}
	return slices.MinFunc(rows, func(a, b int) int {
		return cmp.Or(cmp.Compare(natural(a), natural(b)), cmp.Compare(number(b, "concurrency"), number(a, "concurrency")),
			cmp.Compare(number(a, "context_tokens"), number(b, "context_tokens")), cmp.Compare(number(a, "cell_order"), number(b, "cell_order")))
	}), true
}

func (r *renderer) requestSpans(cell, arm string, spans []span, names []string) ([]span, []string) {
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
		index, _ := o.whole(i, "request_index")
		at := func(column string) (float64, bool) {
			ns, ok := o.whole(i, column)
			return float64(start-origin+ns) / 1e9, ok
		}
		row, from := len(names), float64(start-origin)/1e9
		names = append(names, fmt.Sprintf("%s %d  ", clean(arm), index)) // room for a wider font
		if end, ok := o.whole(i, "end_ns"); ok {                         // the end of a request without output
			if _, has := at("ttfo_ns"); !has {
				spans = append(spans, span{row, from, float64(end-origin) / 1e9, waitInk})
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
			c := phase.color
			if _, visible := at("ttft_ns"); phase.column == "last_output_ns" && !visible {
				c = phaseInk // reasoning only
			}
			spans, from = append(spans, span{row, from, to, c}), to
		}
	}
	return spans, names
}

// spanPlotter draws bars; row 0 is the top one.
type spanPlotter struct {
	spans []span
	rows  int
}

// Plot implements plot.Plotter.
func (s spanPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	for _, b := range s.spans {
		y := float64(s.rows - 1 - b.row)
		c.FillPolygon(b.color, []vg.Point{
			{X: toX(b.from), Y: toY(y - 0.36)}, {X: toX(b.to), Y: toY(y - 0.36)}, {X: toX(b.to), Y: toY(y + 0.36)}, {X: toX(b.from), Y: toY(y + 0.36)},
		})
	}
}

// series is one plot of sampled values over time, all arms in one frame.
type series struct {
	file, title, axis, section string
	query, column              string
	factor                     float64
	floor                      float64 // the axis reaches at least this far up
	// lines are the values of the selector column that are drawn, the second dashed.
	selector string
	lines    []string
}

var allSeries = []series{
	{"kv-use.svg", "KV cache in use over time", "KV use, % of the pool", "resources", "gauge_series", "value", 100, 1, "canonical", []string{"kv_usage_ratio"}},
	{"engine-load.svg", "Requests in the engine over time", "requests", "resources", "gauge_series", "value", 1, 1, "canonical", []string{"requests_running", "requests_waiting"}},
	{"gpu-memory.svg", "GPU memory in use over time, highest of the GPUs", "memory used, GiB", "resources", "gpu_series", "memory_used_bytes", 1.0 / (1 << 30), 1, "", []string{""}},
	{"gpu-utilisation.svg", "GPU utilisation over time, highest of the GPUs", "utilisation, %", "resources", "gpu_series", "utilization_percent", 1, 100, "", []string{""}},
}

// stroke is a connected piece of a line: samples of one attempt.
type stroke struct {
	points []vg.Point // in data units: minutes, value
	arm    int
	dashed bool
}

func (r *renderer) seriesPlots() ([]plotFile, error) {
	var out []plotFile
	for _, s := range allSeries {
		strokes, legend := r.strokes(s)
		if len(strokes) == 0 {
			continue
		}
		p := newPlot("minutes since the first sample of the arm", s.axis)
		right, top := 0.0, s.floor
		for _, k := range strokes {
			for _, pt := range k.points {
				right, top = max(right, float64(pt.X)), max(top, float64(pt.Y))
			}
		}
		p.X.Min, p.X.Max, p.X.Tick.Marker = 0, max(right*1.01, 1e-9), niceTicks{10}
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, top*1.06, niceTicks{7}
		p.Add(gridLines{}, strokePlotter{strokes})
		f, _, err := r.finishPlot(picture{title: s.title, subtitle: "Sampled; lines connect the samples of one attempt. The true extremes lie outside the samples or on them.", legend: legend, plot: p},
			plotFile{file: s.file, section: s.section, alt: "Sampled values of each arm over time."})
		if err != nil {
			return nil, fmt.Errorf("plot %s: %w", s.file, err)
		}
		out = append(out, f)
	}
	return out, nil
}

func (r *renderer) strokes(s series) ([]stroke, []legendEntry) {
	res := r.b.result(s.query)
	var strokes []stroke
	var legend []legendEntry
	for arm, name := range r.armOrder() {
		origin, known := r.armStart(res, name)
		if !known {
			continue
		}
		for nth, line := range s.lines {
			where := []any{"arm", name}
			text := clean(name)
			if s.selector != "" {
				where = append(where, s.selector, line)
				text += ", " + map[string]string{"requests_running": "running", "requests_waiting": "waiting", "kv_usage_ratio": "KV use"}[line]
			}
			count := 0
			strokes, count = r.lineStrokes(s, strokes, res.find(where...), stroke{arm: arm, dashed: nth > 0}, origin)
			if count > 0 {
				legend = append(legend, legendEntry{text: fmt.Sprintf("%s, n = %d", text, count), color: armColor(arm), line: true, dashed: nth > 0})
			}
		}
	}
	return strokes, legend
}

func (r *renderer) armStart(res *result, arm string) (origin int64, known bool) {
	for _, i := range res.find("arm", arm) {
		if at, ok := res.whole(i, "at_ns"); ok && (!known || at < origin) {
			origin, known = at, true
		}
	}
	return origin, known
}

// lineStrokes adds one stroke for each attempt. Rows are in order of attempts and
// samples.
func (r *renderer) lineStrokes(s series, strokes []stroke, rows []int, like stroke, origin int64) ([]stroke, int) {
	res := r.b.result(s.query)
	last, count := "", 0
	for _, i := range rows {
		at, ok := res.whole(i, "at_ns")
		v, has := res.number(i, s.column)
		if !ok || !has || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		attempt := res.text(i, "cell") + "/" + rawText(res.value(i, "attempt"))
		if attempt != last || count == 0 {
			strokes = append(strokes, stroke{arm: like.arm, dashed: like.dashed})
			last = attempt
		}
		k := &strokes[len(strokes)-1]
		k.points = append(k.points, vg.Point{X: vg.Length(float64(at-origin) / 60e9), Y: vg.Length(v * s.factor)})
		count++
	}
	return strokes, count
}

// strokePlotter draws lines; a stroke of one sample is a dot.
type strokePlotter struct{ strokes []stroke }

// Plot implements plot.Plotter.
func (s strokePlotter) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	for _, k := range s.strokes {
		points := make([]vg.Point, len(k.points))
		for i, pt := range k.points {
			points[i] = vg.Point{X: toX(float64(pt.X)), Y: toY(float64(pt.Y))}
		}
		if len(points) == 1 {
			c.DrawGlyph(draw.GlyphStyle{Color: armColor(k.arm), Radius: vg.Points(1), Shape: draw.CircleGlyph{}}, points[0])
			continue
		}
		style := draw.LineStyle{Color: armColor(k.arm), Width: vg.Points(1)}
		if k.dashed {
			style.Dashes = []vg.Length{vg.Points(3), vg.Points(2)}
		}
		c.StrokeLines(style, points)
	}
}
