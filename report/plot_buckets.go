package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bucketCharts are the engine histograms that are drawn, when they are there.
var bucketCharts = []struct{ file, canonical, title string }{
	{"engine-ttft.svg", "ttft_arrival_seconds", "Engine's own time to first output, by bucket"},
	{"engine-e2e.svg", "e2e_seconds", "Engine's own end-to-end time, by bucket"},
	{"engine-queue.svg", "queue_seconds", "Engine's own queue time, by bucket"},
}

// bar is one bucket of one arm.
type bar struct {
	bucket int
	arm    int
	count  float64
}

// bucketPlots draws the deltas as bars: requests between two edges.
func (r *renderer) bucketPlots() ([]plotFile, error) {
	var out []plotFile
	for _, chart := range bucketCharts {
		bars, edges, legend := r.bars(chart.canonical)
		if len(bars) == 0 {
			continue
		}
		p := newPlot("bucket: at or below, s", "requests")
		p.X.Min, p.X.Max = -0.6, float64(len(edges))-0.4
		var ticks []plot.Tick
		for i, e := range edges {
			label := "more"
			if !math.IsInf(e, 1) {
				label = axisNumber(e)
			}
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: label})
		}
		p.X.Tick.Marker = plot.ConstantTicks(ticks)
		p.X.Tick.LineStyle.Width = 0
		top := 1.0
		for _, b := range bars {
			top = max(top, b.count)
		}
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, top*1.06, niceTicks{7}
		arms := len(r.armOrder())
		p.Add(gridLines{}, barPlotter{bars, arms})
		f, _, err := r.finishPlot(picture{title: chart.title, subtitle: "After minus before, summed over the counted attempts, warm-ups included. Empty buckets outside the range are left out.", legend: legend, plot: p},
			plotFile{file: chart.file, section: "engine", alt: "Requests between two edges of the engine's histogram, for each arm."})
		if err != nil {
			return nil, fmt.Errorf("plot %s: %w", chart.file, err)
		}
		out = append(out, f)
	}
	return out, nil
}

// bars turns cumulative counts into counts of each bucket, over the range of
// edges in which any arm has one.
func (r *renderer) bars(canonical string) ([]bar, []float64, []legendEntry) {
	res := r.b.result("histogram_buckets")
	var edges []float64
	for _, i := range res.find("canonical", canonical) {
		if e, ok := res.number(i, "le"); ok && !math.IsNaN(e) && !slices.Contains(edges, e) {
			edges = append(edges, e)
		}
	}
	slices.Sort(edges)
	var all []bar
	var legend []legendEntry
	for arm, name := range r.armOrder() {
		before, total := int64(0), int64(0)
		for _, i := range res.find("arm", name, "canonical", canonical) {
			edge, _ := res.number(i, "le")
			below, _ := res.whole(i, "at_or_below")
			all = append(all, bar{slices.Index(edges, edge), arm, float64(below - before)})
			before, total = below, max(total, below)
		}
		if total > 0 {
			legend = append(legend, legendEntry{text: fmt.Sprintf("%s, n = %d", clean(name), total), color: armColor(arm)})
		}
	}
	all = slices.DeleteFunc(all, func(b bar) bool { return b.count <= 0 || b.bucket < 0 })
	if len(all) == 0 {
		return nil, nil, nil
	}
	low, high := len(edges), 0
	for _, b := range all {
		low, high = min(low, b.bucket), max(high, b.bucket)
	}
	for i := range all {
		all[i].bucket -= low
	}
	return all, edges[low : high+1], legend
}

// barPlotter draws the arms of a bucket side by side.
type barPlotter struct {
	bars []bar
	arms int
}

// Plot implements plot.Plotter.
func (b barPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	width := 0.8 / float64(b.arms)
	for _, k := range b.bars {
		left := float64(k.bucket) - 0.4 + width*float64(k.arm)
		box := []vg.Point{{X: toX(left), Y: toY(0)}, {X: toX(left + width*0.94), Y: toY(0)}, {X: toX(left + width*0.94), Y: toY(k.count)}, {X: toX(left), Y: toY(k.count)}}
		c.FillPolygon(armColor(k.arm), box)
		c.StrokeLines(draw.LineStyle{Color: color.White, Width: vg.Points(0.4)}, append(box, box[0]))
	}
}
