package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Size of every plot. Text stays readable when a page shows it 900 pixels wide.
const (
	plotWidth  = 24 * vg.Centimeter
	plotHeight = 12 * vg.Centimeter
	plotMargin = 0.35 * vg.Centimeter
)

// armColors are from the palette of Okabe and Ito, which readers with any kind
// of colour vision can tell apart.
var armColors = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{204, 121, 167, 255},
}

var (
	ink       = color.RGBA{30, 30, 30, 255}
	paleInk   = color.RGBA{110, 110, 110, 255}
	gridInk   = color.RGBA{225, 225, 225, 255}
	alarmInk  = color.RGBA{176, 0, 32, 255}
	waitInk   = color.RGBA{190, 190, 190, 255}
	phaseInk  = color.RGBA{86, 180, 233, 255}
	answerInk = color.RGBA{0, 114, 178, 255}
)

func armColor(i int) color.Color { return armColors[i%len(armColors)] }

// picture is a plot with the strip above it: title, what is drawn, the legend.
type picture struct {
	title     string
	subtitle  string
	legend    []legendEntry
	plot      *plot.Plot
	simulated bool
}

// legendEntry is one key of a legend. A nil shape is a filled box.
type legendEntry struct {
	text   string
	color  color.Color
	shape  draw.GlyphDrawer
	dashed bool
	line   bool
}

func textStyle(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color: c, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		Handler: plot.DefaultTextHandler, XAlign: draw.XLeft, YAlign: draw.YTop,
	}
}

// newPlot makes an empty plot in the house style.
func newPlot(xLabel, yLabel string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.White
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle = restyle(a.Label.TextStyle, 10, ink)
		a.Tick.Label = restyle(a.Tick.Label, 9, ink)
		a.LineStyle.Color, a.Tick.LineStyle.Color = paleInk, paleInk
		a.Padding = vg.Points(3)
	}
	p.X.Label.Text, p.Y.Label.Text = xLabel, yLabel
	return p
}

// restyle keeps the alignment and rotation that an axis needs.
func restyle(s text.Style, size vg.Length, c color.Color) text.Style {
	s.Font, s.Color = textStyle(size, c).Font, c
	return s
}

// draw renders the picture as SVG. The same picture gives the same bytes.
func (pic picture) draw() ([]byte, error) {
	svg := vgsvg.New(plotWidth, plotHeight)
	canvas := draw.New(svg)
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	inner := draw.Crop(canvas, plotMargin, -plotMargin, plotMargin, -plotMargin)
	top := pic.strip(inner)
	// Room on the right for the last tick's label, which is centred on its tick.
	pic.plot.Draw(draw.Crop(inner, 0, -vg.Points(14), 0, top-inner.Max.Y-vg.Points(6)))
	var buf bytes.Buffer
	if _, err := svg.WriteTo(&buf); err != nil {
		return nil, fmt.Errorf("write svg: %w", err)
	}
	return finishSVG(buf.Bytes(), pic.title+". "+pic.subtitle), nil
}

// finishSVG names fonts of the same widths for viewers without the first one, and
// gives the picture a name for readers that do not see it.
func finishSVG(data []byte, title string) []byte {
	s := string(data)
	for _, family := range []string{"font-family:Liberation Sans;", "font-family:Liberation Sans"} {
		if strings.Contains(s, family) {
			s = strings.ReplaceAll(s, family, strings.TrimSuffix(family, ";")+",Arimo,Arial,Helvetica,sans-serif;")
			break
		}
	}
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	if i := strings.Index(s, "<svg"); i >= 0 {
		if end := strings.IndexByte(s[i:], '>'); end >= 0 {
			at := i + end
			s = s[:at] + ` role="img">` + "\n<title>" + escape.Replace(clean(title)) + "</title>" + s[at+1:]
		}
	}
	return []byte(s)
}

// strip writes title, subtitle and legend, and returns where the plot may begin.
func (pic picture) strip(c draw.Canvas) vg.Length {
	y := c.Max.Y
	title := textStyle(13, ink)
	c.FillText(title, vg.Point{X: c.Min.X, Y: y}, pic.title)
	if pic.simulated {
		mark := textStyle(13, alarmInk)
		mark.XAlign = draw.XRight
		c.FillText(mark, vg.Point{X: c.Max.X, Y: y}, "SIMULATED, not a measurement")
	}
	y -= title.Height(pic.title) + vg.Points(5)
	if pic.subtitle != "" {
		sub := textStyle(9.5, paleInk)
		c.FillText(sub, vg.Point{X: c.Min.X, Y: y}, pic.subtitle)
		y -= sub.Height(pic.subtitle) + vg.Points(5)
	}
	return pic.keys(c, y)
}

// keys writes the legend in rows from left to right, outside the data.
func (pic picture) keys(c draw.Canvas, y vg.Length) vg.Length {
	style := textStyle(9.5, ink)
	x, height := c.Min.X, style.Height("Ag")
	for i, e := range pic.legend {
		// A fifth more than the text needs here: a viewer's own font may be wider.
		width := vg.Points(16) + style.Width(e.text)*1.2 + vg.Points(12)
		if i > 0 && x+width > c.Max.X {
			x, y = c.Min.X, y-height-vg.Points(4)
		}
		e.draw(c, vg.Point{X: x + vg.Points(6), Y: y - height/2})
		c.FillText(style, vg.Point{X: x + vg.Points(16), Y: y}, e.text)
		x += width
	}
	if len(pic.legend) == 0 {
		return y
	}
	return y - height - vg.Points(2)
}

func (e legendEntry) draw(c draw.Canvas, at vg.Point) {
	switch {
	case e.line:
		style := draw.LineStyle{Color: e.color, Width: vg.Points(1.6)}
		if e.dashed {
			style.Dashes = []vg.Length{vg.Points(3), vg.Points(2)}
		}
		c.StrokeLine2(style, at.X-vg.Points(6), at.Y, at.X+vg.Points(6), at.Y)
	case e.shape != nil:
		c.DrawGlyph(draw.GlyphStyle{Color: e.color, Radius: vg.Points(3), Shape: e.shape}, at)
	default:
		r := vg.Points(4)
		c.FillPolygon(e.color, []vg.Point{{X: at.X - r, Y: at.Y - r}, {X: at.X + r, Y: at.Y - r}, {X: at.X + r, Y: at.Y + r}, {X: at.X - r, Y: at.Y + r}})
	}
}

// niceTicks puts a tick at each multiple of 1, 2 or 5 times a power of ten.
type niceTicks struct{ most int }

// Ticks implements plot.Ticker.
func (n niceTicks) Ticks(low, high float64) []plot.Tick {
	if !(high > low) {
		return []plot.Tick{{Value: low, Label: axisNumber(low)}}
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/float64(n.most))))
	for _, m := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*m) <= float64(n.most) {
			step *= m
			break
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high*(1+1e-12); i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: axisNumber(i * step)})
	}
	return ticks
}

// logTicks puts ticks at 1, 2 and 5 of each decade, labelled as far as they fit.
type logTicks struct{}

// Ticks implements plot.Ticker.
func (logTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	wide := math.Log10(high/low) > 3.5
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			if v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			label := axisNumber(v)
			if wide && m > 1 {
				label = ""
			}
			ticks = append(ticks, plot.Tick{Value: v, Label: label})
		}
	}
	return ticks
}

// axisNumber writes a tick without digits that rounding would add.
func axisNumber(v float64) string {
	v, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 10, 64), 64)
	if err != nil || v == 0 {
		return "0" // never "-0"
	}
	return grouped(strconv.FormatFloat(v, 'f', -1, 64))
}

// logRange widens a range so that no point lies on the frame, and so that a
// narrow one still shows two ticks.
func logRange(low, high float64) (float64, float64) {
	low, high = low/1.15, high*1.15
	for high/low < 4 {
		low, high = low/1.2, high*1.2
	}
	return low, high
}

// gridLines draws pale lines at the labelled ticks of the value axis.
type gridLines struct{}

// Plot implements plot.Plotter.
func (gridLines) Plot(c draw.Canvas, p *plot.Plot) {
	_, toY := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		y := toY(t.Value)
		c.StrokeLine2(draw.LineStyle{Color: gridInk, Width: vg.Points(0.6)}, c.Min.X, y, c.Max.X, y)
	}
}
