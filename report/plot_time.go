package report

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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
